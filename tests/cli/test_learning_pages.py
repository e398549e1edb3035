"""The tutorial and the recipes: every command and every line of Python runs as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from brokers import PROGRAM
from terminal import meshwright

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.usefixtures("spark")
def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From logs to running brokers, one command after the other; brokers where Mosquitto is installed."""
    monkeypatch.chdir(tmp_path)
    commands = [line for block in blocks("tutorial.md", "sh") for line in block.splitlines()]
    assert [shlex.split(command)[1] for command in commands] == [
        "workload", "ingest", "advise", "verify", "route", "export", "federation",
    ]  # fmt: skip
    for command in commands:
        words = shlex.split(command)[1:]
        if words[0] == "federation" and PROGRAM is None:
            continue
        answer = meshwright(*words)
        assert answer.code == 0, (command, answer.err)


def test_the_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of Python, one after the other."""
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks("recipes.md", "python"))
    assert code.count("mw.") > 10
    exec(compile(code, "recipes.md", "exec"), {})
