"""The notebooks of docs/notebooks run from top to bottom, and keep no output."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def cells(notebook: Path) -> list[dict[str, Any]]:
    """Return the code cells of a notebook."""
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_there_are_three() -> None:
    """Design and compare, churn, content."""
    assert [path.stem for path in NOTEBOOKS] == ["churn", "content", "design-and-compare"]
    for notebook in NOTEBOOKS:
        for cell in cells(notebook):
            assert cell["outputs"] == []
            ast.parse("".join(cell["source"]))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_a_notebook_runs(notebook: Path) -> None:
    """Every cell runs, and the last value of each shows itself as a notebook would show it."""
    names: dict[str, Any] = {}
    for cell in cells(notebook):
        *steps, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(steps, []), notebook.name, "exec"), names)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), notebook.name, "exec"), names)
            continue
        value = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
        shown = getattr(value, "_repr_html_", None)
        assert (shown and shown()) or repr(value)
