"""Compilation during a test: a callback that compiles, and the seconds that it takes."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import numba
from numba.core import event

from meshwright.jit.announce import working_seconds


def compile_something(done: int, share: float, phase: str) -> None:
    """Compile a new kernel: a progress callback."""
    decorate: Any = numba.njit
    decorate(lambda x: x + done)(1)


class Seconds:
    """Measures a block by three clocks: whatever a busy machine does, `worked <= took - compiled`."""

    def __enter__(self) -> Self:
        self.compiled = 0.0
        """Seconds that numba compiled, by its own events."""
        self._began = time.perf_counter()
        self._stack = ExitStack()
        self._stack.enter_context(event.install_timer("numba:compile", self._count))
        self._working = working_seconds()
        return self

    def _count(self, seconds: float) -> None:
        self.compiled += seconds

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # In the reverse order, so that each clock measures a part of what the previous one does.
        self.worked = working_seconds() - self._working
        """Working seconds."""
        self._stack.close()
        self.took = time.perf_counter() - self._began
        """All seconds."""
