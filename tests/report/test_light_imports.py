"""Importing reports and the content-based half is fast: it loads no compiler, charts or data frames."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import meshwright

HEAVY = ("numba", "scipy", "pandas", "pyspark", "matplotlib", "aiomqtt")


def test_reports_and_content_import_nothing_heavy() -> None:
    """Every module of `report` and `content` except kernels can be imported without a heavy package."""
    root = Path(meshwright.__file__).parent
    names = [
        ".".join(("meshwright", *file.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        for room in ("report", "content")
        for file in sorted((root / room).rglob("*.py"))
        if file.parent.name != "kernels"
    ]
    assert len(names) > 30
    program = (
        f"import sys; {'; '.join(f'import {name}' for name in names)}; "
        f"print(*(heavy for heavy in {HEAVY} if heavy in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
