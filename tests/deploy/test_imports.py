"""Importing the rooms for deployment is fast: it loads neither compilers nor data frames."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import meshwright

HEAVY = ("numba", "scipy", "pandas", "pyspark", "networkx", "matplotlib", "aiomqtt")


def test_deploy_imports_nothing_heavy() -> None:
    """Every module of `deploy`, `filters` and `cli.deploy` can be imported without a heavy package."""
    root = Path(meshwright.__file__).parent
    names = [
        ".".join(("meshwright", *file.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        for room in ("deploy", "filters")
        for file in sorted((root / room).rglob("*.py"))
    ]
    names.append("meshwright.cli.deploy")
    assert len(names) > 20
    program = (
        f"import sys; {'; '.join(f'import {name}' for name in names)}; "
        f"print(*(heavy for heavy in {HEAVY} if heavy in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
