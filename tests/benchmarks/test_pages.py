"""The cases, tasks and tables of benchmarks that the documentation names exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from benchmarks.cases_and_floors import FULL, QUICK

CHECKOUT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (CHECKOUT / "docs").glob("*.md"))]
NAME = re.compile(r"\b\d+x\d+x\d+(?:-\d+)?-[a-z]+(?:\d[\d.]*\d|\d)?")


def text_of(page: str) -> str:
    return (CHECKOUT / page).read_text(encoding="utf-8")


def every_title() -> list[str]:
    """Return the titles of all tables in the sources; of a title with a variable part, the beginning."""
    titles = []
    for source in sorted((CHECKOUT / "benchmarks").glob("*.py")):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "table":
                first = node.args[0]
                part = first.values[0] if isinstance(first, ast.JoinedStr) else first
                assert isinstance(part, ast.Constant)
                titles.append(str(part.value))
    return titles


@pytest.mark.parametrize("page", PAGES)
def test_cases_on_pages_exist(page: str) -> None:
    """Every case name on a page exists, and `--only` and `--task` together select something."""
    text = text_of(page)
    known = {case.name: case for case in (*FULL, *QUICK)}
    assert set(NAME.findall(text)) <= set(known)
    for command in re.findall(r"benchmarks\.(?:run|worker)[^`\n]*|meshwright bench [^`\n]*", text):
        tasks = set(re.findall(r"--task (\S+)", command))
        for part in re.findall(r"--only (\S+)", command):
            chosen = [case for name, case in known.items() if part in name]
            assert chosen, command
            assert all(any(task in case.tasks for case in chosen) for task in tasks), command
        worker = re.match(r"benchmarks\.worker (\S+) (\S+)", command)
        assert worker is None or worker[2] in known[worker[1]].tasks, command


def test_names_are_found() -> None:
    """The pattern for case names matches every case."""
    for case in (*FULL, *QUICK):
        assert NAME.findall(f"`{case.name}`.") == [case.name]
    assert NAME.findall(text_of("docs/spark.md"))


def test_results_have_every_table() -> None:
    """RESULTS.md has each table of a full run, and no other."""
    there = re.findall(r"^## (.*)$", text_of("benchmarks/RESULTS.md"), re.MULTILINE)
    titles = every_title()
    assert len(titles) > 20
    assert not {title for title in titles if not any(own.startswith(title) for own in there)}
    assert all(any(own.startswith(title) for title in titles) for own in there)
