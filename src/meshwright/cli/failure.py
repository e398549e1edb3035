"""What a command that fails says, and the code it ends with."""

from __future__ import annotations

import typer

from meshwright.cli.output import note
from meshwright.errors import MeshwrightError

ANSWER_IS_NO = 1
BAD_INPUT = 2
UNEXPECTED = 70
"""EX_SOFTWARE of sysexits.h: the fault is ours."""
INTERRUPTED = 130
NOBODY_READS = 141
"""As a shell tells of a program that ended because its reader went away."""

UsageError = typer.BadParameter.__mro__[1]
"""Whatever is wrong with the words on the command line. Typer does not export it, only this child of it."""


def explain(error: Exception) -> int:
    """Print one line on stderr about what went wrong, and return the exit code."""
    if isinstance(error, UsageError):
        return _say(_usage(error), BAD_INPUT)
    if isinstance(error, MeshwrightError):
        return _say(str(error), BAD_INPUT)
    if isinstance(error, MemoryError):
        return _say("out of memory: take a machine with more, or a sample of the data", UNEXPECTED)
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename!r}" if error.filename else ""
        return _say(f"{error.strerror}{where}: choose another file or place", BAD_INPUT)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _say(
        f"{what}: this is a fault of Meshwright; please report it with the output of --debug", UNEXPECTED
    )


def _usage(error: Exception) -> str:
    """Spell a usage error as ours are: no capital, no full stop, and where to read on."""
    message: str = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "meshwright"
    return f"{message[:1].lower()}{message[1:]}; see '{command} --help'"


def _say(message: str, code: int) -> int:
    note(f"error: {' '.join(message.splitlines())}")
    return code
