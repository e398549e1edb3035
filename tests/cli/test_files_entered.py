"""A command passes through few of our files: who follows one in a debugger sees no more than these."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import meshwright

TRACE = """
import json, sys, threading
from inspect import CO_OPTIMIZED
from meshwright.__main__ import run

entered = set()

def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<"):
        entered.add(code.co_filename)

target = sys.argv.pop(1)
threading.setprofile(note)
sys.setprofile(note)
try:
    run()
except SystemExit as end:
    code = end.code
sys.setprofile(None)
with open(target, "w") as file:
    json.dump([code, sorted(entered)], file)
"""
"""Runs a command and writes down the files of all functions that were called. What runs when a file is
imported does not count: bodies of modules and of classes, and comprehensions, which are functions only
before Python 3.12."""

START = ("__init__.py", "__main__.py")
"""The files that every command begins with are not counted."""

MOST = {"ingest": 29, "plan": 36, "export": 36}
"""The most files that a command may enter: lower these when a change allows it, never raise them. Of those of
export, eight check the plan before anything is written."""


@pytest.fixture(scope="module")
def entered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Run the commands of a small network; return the files that each entered, kernels being compiled."""
    folder = tmp_path_factory.mktemp("entered")
    rows = [f"b{broker},t{topic}" for broker in range(6) for topic in range(3) if (broker + topic) % 4]
    (folder / "subscriptions.csv").write_text("\n".join(("node,topic", *rows)) + "\n")
    commands = (
        "ingest subscriptions.csv --out dataset",
        "plan dataset --algorithm gm --out warm",  # compiling enters further files
        "plan dataset --algorithm gm --out plan",
        "route plan dataset",
        "export plan --to mosquitto --out federation",
    )
    return {command.split()[0]: run_traced(folder, command.split()) for command in commands}


def run_traced(folder: Path, words: list[str]) -> list[str]:
    subprocess.run(
        [sys.executable, "-c", TRACE, "files.json", *words], cwd=folder, check=True, capture_output=True
    )
    code, files = json.loads((folder / "files.json").read_text())
    assert not code, words
    root = Path(meshwright.__file__).parent
    ours = {str(Path(file).relative_to(root)) for file in files if Path(file).is_relative_to(root)}
    return sorted(ours.difference(START))


@pytest.mark.parametrize("command", MOST)
def test_a_command_enters_few_files(entered: dict[str, list[str]], command: str) -> None:
    """No command enters more of our files than stated."""
    assert len(entered[command]) <= MOST[command], "\n".join(entered[command])
