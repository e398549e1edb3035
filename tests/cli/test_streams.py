"""Closed pipes, and streams that are closed or full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from meshwright.cli.exit_codes import BAD_INPUT, CLOSED_PIPE


@pytest.mark.parametrize("words", [["--help"], ["workload", "unif", "--help"], ["no-such-command"]])
def test_a_closed_pipe_is_not_an_answer(words: list[str]) -> None:
    """A closed pipe ends a command as it ends other programs, and never means "no"; errors stay errors."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = _run(words, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert done.returncode == (BAD_INPUT if words == ["no-such-command"] else CLOSED_PIPE)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("place", ["closed", "full"])
def test_errors_that_cannot_be_printed_keep_their_code(place: str) -> None:
    """Bad input is exit code 2 also where stderr is closed or full."""
    if place == "closed":
        program = f"exec {sys.executable} -m meshwright no-such-command 2>&-"
        assert subprocess.run(["sh", "-c", program], check=False).returncode == BAD_INPUT
        return
    with Path("/dev/full").open("w") as full:
        done = _run(["no-such-command"], stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == BAD_INPUT


def test_a_full_stdout_is_reported() -> None:
    """Where stdout is full, one line says so, with exit code 2."""
    with Path("/dev/full").open("w") as full:
        done = _run(["--version"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == BAD_INPUT
    assert done.stderr.startswith("meshwright: error: No space left on device")
    assert done.stderr.count("\n") == 1


def _run(words: list[str], *, stdout: Any, stderr: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "meshwright", *words],
        stdout=stdout,
        stderr=stderr,
        check=False,
        text=True,
    )
