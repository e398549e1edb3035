"""Run the command line: words in; exit code, stdout and stderr out."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshwright.cli.main import execute


@dataclass(frozen=True)
class Answer:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line of an error: exit code 2, nothing on stdout, and this on stderr."""
        assert (self.code, self.out) == (2, "")
        assert self.err.startswith("meshwright: error: ")
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        return self.err


def meshwright(*words: str | Path) -> Answer:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = execute([str(word) for word in words])
    return Answer(code, out.getvalue(), _without_compilation(err.getvalue()))


def process(*words: str | Path) -> Answer:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "meshwright", *map(str, words)]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    return Answer(done.returncode, done.stdout, _without_compilation(done.stderr))


def _without_compilation(err: str) -> str:
    """Leave out the line about compilation, which only a first run prints."""
    return "".join(
        line for line in err.splitlines(keepends=True) if not line.startswith("meshwright: compiling")
    )
