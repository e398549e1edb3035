"""How a room gets its kernels ready: announced, compiled or loaded once for each process, noted as kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Protocol


class Prepare(Protocol):
    """What compiles a room's kernels, or loads them where they are kept; it tells `progress` when it does."""

    def __call__(self, progress: Callable[[int, float, str], None] | None = None) -> None:
        """Get the kernels ready."""


def prepares(kernels: str) -> Callable[[Callable[[], None]], Prepare]:
    """Make a function that calls a room's kernels, or `room/some` of them, what gets them ready.

    Compiling is announced if they are not kept yet. The function runs once for each process.
    """

    def decorate(call_all: Callable[[], None]) -> Prepare:
        @cache
        def once() -> None:
            from meshwright.jit import compiler

            call_all()
            compiler.keep(kernels)

        @wraps(call_all)
        def prepare(progress: Callable[[int, float, str], None] | None = None) -> None:
            from meshwright.jit import compiler

            compiler.announce(kernels, progress)
            once()

        return prepare

    return decorate
