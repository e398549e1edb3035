"""What commands print, and their exit codes: answers to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from meshwright.errors import MeshwrightError

if TYPE_CHECKING:
    from rich.console import RenderableType


def check_target(path: Path, kind: str) -> None:
    """Raise an OutputError before long work if a folder of this kind cannot be written to a path."""
    from meshwright.files.folders import check_free
    from meshwright.files.header import KINDS
    from meshwright.files.single import check_place

    check_free(path, next(known for known in KINDS if known.name == kind))
    check_place(path)


WIDTH_WITHOUT_TERMINAL = 100
"""Wide enough for our tables; rich would otherwise assume 80 columns and wrap them."""

SHOWN_REASONS = 5


def answer_json(document: dict[str, Any]) -> None:
    """Print the JSON document of a command."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=not unicode, allow_nan=False) + "\n")


def answer(*lines: RenderableType) -> None:
    """Print lines or tables; text is literal, never markup."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_WITHOUT_TERMINAL)
    for line in lines:
        console.print(line)


def format_reasons(reasons: Mapping[str, int]) -> list[str]:
    """Return lines with the most frequent reasons for quarantine."""
    return [f"  {count:,} × {reason}" for reason, count in list(reasons.items())[:SHOWN_REASONS]]


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner on a terminal while work without a count runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def note(line: str) -> None:
    """Print a line to stderr that is not part of the answer."""
    with suppress(OSError):  # a full or closed stderr must not change the answer
        sys.stderr.write(f"meshwright: {line}\n")
        sys.stderr.flush()


ANSWER_IS_NO = 1
BAD_INPUT = 2
UNEXPECTED = 70
"""EX_SOFTWARE of sysexits.h: a bug of Meshwright."""
INTERRUPTED = 130
CLOSED_PIPE = 141
"""The code that a shell reports for a program ended by SIGPIPE."""

UsageError = typer.BadParameter.__mro__[1]
"""The base class of errors on the command line. Typer exports only this child of it."""


def explain(error: Exception) -> int:
    """Print one line on stderr about what went wrong, and return the exit code."""
    if isinstance(error, UsageError):
        return _say(_usage(error), BAD_INPUT)
    if isinstance(error, MeshwrightError):
        return _say(str(error), BAD_INPUT)
    if isinstance(error, MemoryError):
        return _say("out of memory: use a machine with more, or a sample of the data", UNEXPECTED)
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename!r}" if error.filename else ""
        return _say(f"{error.strerror}{where}: choose another file or path", BAD_INPUT)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _say(
        f"{what}: this is a bug of Meshwright; please report it with the output of --debug", UNEXPECTED
    )


def _usage(error: Exception) -> str:
    """Format a usage error like ours: no capital, no full stop, and the command that helps."""
    message: str = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "meshwright"
    return f"{message[:1].lower()}{message[1:]}; see '{command} --help'"


def _say(message: str, code: int) -> int:
    note(f"error: {' '.join(message.splitlines())}")
    return code
