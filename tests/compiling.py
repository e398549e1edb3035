"""A callback that compiles, for tests of what counts as working time."""

from __future__ import annotations

import time
from typing import Any

import numba


class Compiling:
    """A progress callback that compiles a new kernel each time, and knows how long that took."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, done: int, share: float, phase: str) -> None:
        """Compile something."""
        began = time.perf_counter()
        decorate: Any = numba.njit
        decorate(lambda x: x + done)(1)
        self.seconds += time.perf_counter() - began
