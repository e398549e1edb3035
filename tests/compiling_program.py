"""`python compiling_program.py WORDS…` runs a command and prints, as JSON, each kernel taken up unannounced.

Every kernel's first use, whether it is then compiled or loaded, must come between the announcement of its
room, told to the person, and the note that they are kept. Announced is as if nothing was kept.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from numba.core.dispatcher import Dispatcher

from meshwright.cli.main import execute
from meshwright.jit import compiler

announced: list[str] = []
silent: list[str] = []
announce, keep, take_up = compiler.announce, compiler.keep, Dispatcher.compile


def watched_announce(kernels: str, progress: Callable[[int, float, str], None] | None) -> None:
    """Announce, and remember what was told."""
    if progress is not None:
        announced.append(kernels)
    announce(kernels, progress)


def watched_keep(kernels: str) -> None:
    """Forget what was announced: it is done."""
    announced[:] = [other for other in announced if other != kernels]
    keep(kernels)


def watched_compile(self: Any, signature: Any) -> Any:
    """Remember a kernel that nobody announced; those that it calls are its own."""
    place = f"{self.py_func.__module__}.{self.py_func.__name__}"
    if not announced:
        silent.append(place)
    announced.append(place)
    try:
        return take_up(self, signature)
    finally:
        announced.remove(place)


compiler.is_kept = lambda kernels: False
compiler.announce, compiler.keep = watched_announce, watched_keep
Dispatcher.compile = watched_compile  # type: ignore[method-assign, assignment]
code = execute(sys.argv[1:])
print(json.dumps({"code": code, "silent": silent}))
