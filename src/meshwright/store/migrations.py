"""What is left of a migration: its steps, where users are in the end, its figures and a chart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from meshwright.store.atomic import new_folder
from meshwright.store.header import MIGRATION, write_header
from meshwright.store.tables import write_table

if TYPE_CHECKING:
    from meshwright.content.migration import Migration


def write_migration(
    run: Migration,
    path: str | Path,
    *,
    described: dict[str, Any],
    draw: Callable[[Path], object] | None = None,
) -> Path:
    """Write a migration as a folder, whole or not at all; `draw` is called with the place for a chart.

    `steps.parquet` holds `time, user, home, foreign, paid, change, cost`, `samples.parquet` `time, messages,
    delivered`, `assignment.parquet` `user, broker`, and `migration.json` the figures.
    """
    workload = run.workload
    samples = {name: [sample[place] for sample in run.samples] for place, name in enumerate(_SAMPLE)}
    assignment = {
        "user": workload.user_names,
        "broker": workload.broker_names.take(pa.array(run.broker_of)),
    }
    with new_folder(path, MIGRATION) as folder:
        write_table(run.table(), folder / "steps.parquet")
        types = (pa.float64(), pa.int64(), pa.int64())
        schema = pa.schema(list(zip(_SAMPLE, types, strict=True)))
        write_table(pa.table(samples, schema=schema), folder / "samples.parquet")
        write_table(pa.table(assignment), folder / "assignment.parquet")
        if draw is not None:
            draw(folder / "migration.png")
        write_header(
            folder, MIGRATION, {"workload": workload.fingerprint, **described, "figures": run.figures}
        )
    return Path(path)


_SAMPLE = ("time", "messages", "delivered")
