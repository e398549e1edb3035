"""Exit codes, and the one line about an error that comes with each.

0 done, 1 the answer is no, 2 bad input, 70 a bug of Meshwright, 130 interrupted, 141 closed pipe.
"""

from __future__ import annotations

import errno
import re

import typer

from meshwright.cli.output import note
from meshwright.errors import GoesOnError, MeshwrightError

DONE = 0
ANSWER_IS_NO = 1
BAD_INPUT = 2
UNEXPECTED = 70
"""EX_SOFTWARE of sysexits.h: a bug of Meshwright."""
INTERRUPTED = 130
CLOSED_PIPE = 141
"""The code that a shell reports for a program ended by SIGPIPE."""

OUT_OF_MEMORY = "out of memory: use a machine with more, or a sample of the data"

UsageError = typer.BadParameter.__mro__[1]
"""The base class of errors on the command line. Typer exports only this child of it."""


def explain(error: Exception, command: str = "meshwright") -> int:
    """Print one line on stderr about what went wrong in a command, and return the exit code."""
    if isinstance(error, UsageError):
        return _say(_usage(error, command), BAD_INPUT)
    if isinstance(error, GoesOnError):
        note(f"interrupted; {error}")
        return INTERRUPTED
    if isinstance(error, MeshwrightError):
        return _say(str(error), BAD_INPUT)
    if isinstance(error, MemoryError) or _cannot_map(error):
        return _say(OUT_OF_MEMORY, UNEXPECTED)
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return _say("too many open files: raise the limit, with ulimit -n 4096", BAD_INPUT)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EROFS, errno.EDQUOT):
        where = f" for {error.filename!r}" if error.filename else ""
        return _say(f"{error.strerror}{where}: free some space, or choose another path", BAD_INPUT)
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename!r}" if error.filename else ""
        return _say(f"{error.strerror}{where}: choose another file or path", BAD_INPUT)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _say(
        f"{what}: this is a bug of Meshwright; please report it with the output of --debug", UNEXPECTED
    )


def _cannot_map(error: Exception) -> bool:
    """Return whether a library or a thread could not be loaded, most likely because the memory is limited."""
    import resource

    limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    known = (
        "failed to map segment",
        "Could not find/load shared object",
        "cannot allocate memory",
        "start new thread",
    )
    kinds = (OSError, ImportError, RuntimeError, SystemError)
    return limited and isinstance(error, kinds) and any(text in str(error) for text in known)


PLAIN_WORDS = (
    (r"Input should be a valid number.*", "give a number"),
    (r"Input should be a valid integer.*", "give a whole number"),
    (r"Input should be greater than or equal to (\S+)", r"give \1 or more"),
    (r"Input should be less than or equal to (\S+)", r"give \1 or less"),
    (r"No such option: (\S+) \(Possible options: (.*)\)", r"no such option \1: did you mean \2?"),
    (r"No such command ('[^']*')\. Did you mean", r"no such command \1: did you mean"),
)
"""Texts of the option parser, and how we say it."""


def _usage(error: Exception, command: str) -> str:
    """Format a usage error like ours: no capital, no full stop, and the command that helps."""
    message: str = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    for pattern, ours in PLAIN_WORDS:
        message = re.sub(pattern, ours, message)
    context = getattr(error, "ctx", None)
    if context is not None:  # the option parser leaves it out for an option without its value
        command = context.command_path
    see = " See" if message.endswith("?") else "; see"
    return f"{message[:1].lower()}{message[1:]}{see} '{command} --help'"


def _say(message: str, code: int) -> int:
    note(f"error: {' '.join(message.splitlines())}")
    return code
