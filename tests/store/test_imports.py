"""Importing the store or the pipeline is fast: it loads neither compilers, data frames nor Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import meshwright

HEAVY = ("numba", "scipy", "pandas", "pyspark", "networkx", "matplotlib")


def test_store_and_pipeline_import_nothing_heavy() -> None:
    """Modules of `store` and `pipeline`, except planning in parts, import without a heavy package."""
    root = Path(meshwright.__file__).parent
    names = [
        ".".join(("meshwright", *file.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        for room in ("store", "pipeline")
        for file in sorted((root / room).rglob("*.py"))
        if "plans" not in file.parts or file.stem in ("links", "sharded_verify")
    ]
    assert len(names) > 30
    program = (
        f"import sys; {'; '.join(f'import {name}' for name in names)}; "
        f"print(*(heavy for heavy in {HEAVY} if heavy in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
