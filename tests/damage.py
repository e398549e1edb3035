"""Damage to files: what a writer with a bug, a bad disk or a person with an editor may leave."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from meshwright.files.header import table_digests


def mend_digests(plan: Path) -> None:
    """Let a plan state the digests that its tables have now, as a bug of ours would."""
    content = json.loads((plan / "plan.json").read_text())
    content["files"] = table_digests(plan)
    (plan / "plan.json").write_text(json.dumps(content))


def edit_table(file: Path, change: Callable[[pa.Table], pa.Table], *, mended: bool = True) -> None:
    """Rewrite a table of a plan; with `mended`, the plan states its new digest."""
    pq.write_table(change(pq.read_table(file)), file)
    if mended:
        mend_digests(file.parent)


def write_bytes(file: Path, content: bytes, *, mended: bool = True) -> None:
    """Replace a table of a plan by some bytes; with `mended`, the plan states their digest."""
    file.write_bytes(content)
    if mended:
        mend_digests(file.parent)
