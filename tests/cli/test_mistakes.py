"""Mistakes on the command line and in Python give one line with the next step, as docs/mistakes.md lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mistakes import answered, listed, prepare

NEXT_STEP = re.compile(
    r"\b(add|allow|ask|call|change|check|choose|correct|create|did you mean|empty it|end its name|fill|give|"
    r"leave|make|mw\.|name|omit|put|read|rename|repair|replace|save|see|set|use|write)\b"
)
FOREIGN = re.compile(
    r"Traceback|pyarrow|Arrow|Errno|Input should|Expecting|pydantic|click|numpy|java\.|Error:"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the mistakes are about."""
    made = tmp_path_factory.mktemp("mistakes")
    prepare(made)
    return made


def test_fifty_are_listed() -> None:
    """The page has at least fifty different mistakes, of the command line and of Python."""
    calls = {call for call, _ in listed()}
    in_python = {call for call in calls if not call.startswith("meshwright ")}
    assert len(calls) == len(listed()) >= 50
    assert len(in_python) >= 12


@pytest.mark.parametrize(("call", "answer"), listed())
def test_a_mistake_gets_the_listed_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str, answer: str
) -> None:
    """Each gives exactly the listed line, which names a next step and has no text of another library."""
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    assert answered(call) == answer
    assert NEXT_STEP.search(answer)
    assert not FOREIGN.search(answer)
    assert sorted(folder.rglob("*")) == before
