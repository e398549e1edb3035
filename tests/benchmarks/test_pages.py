"""What the documentation says of benchmarks is there: cases, tasks and tables."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from benchmarks.cases import FULL, QUICK

CHECKOUT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (CHECKOUT / "docs").glob("*.md"))]
NAME = re.compile(r"\b\d+x\d+x\d+(?:-\d+)?-[a-z]+(?:\d[\d.]*\d|\d)?")


def text_of(page: str) -> str:
    return (CHECKOUT / page).read_text(encoding="utf-8")


def every_title() -> list[str]:
    """Return the titles of all tables in the sources of the page; where one goes on, its beginning."""
    titles = []
    for source in sorted((CHECKOUT / "benchmarks").glob("*results.py")):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "table":
                first = node.args[0]
                part = first.values[0] if isinstance(first, ast.JoinedStr) else first
                assert isinstance(part, ast.Constant)
                titles.append(str(part.value))
    return titles


@pytest.mark.parametrize("page", PAGES)
def test_cases_that_pages_name_are_there(page: str) -> None:
    """A case's whole name is one of ours; `--only` and `--task` choose something, together too."""
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
    """What looks for names finds every one that there is."""
    for case in (*FULL, *QUICK):
        assert NAME.findall(f"`{case.name}`.") == [case.name]
    assert NAME.findall(text_of("docs/spark.md"))


def test_the_results_have_every_table() -> None:
    """Each table that a full run makes stands in RESULTS.md."""
    there = re.findall(r"^## (.*)$", text_of("benchmarks/RESULTS.md"), re.MULTILINE)
    titles = every_title()
    assert len(titles) > 20
    assert not {title for title in titles if not any(own.startswith(title) for own in there)}
    assert all(any(own.startswith(title) for title in titles) for own in there)
