"""An event loop whose clock jumps to the next event: hours pass in seconds, and the same every time."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class _Impatient(selectors.DefaultSelector):
    """Waits for nothing, and tells how long it should have."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """Let the time pass at once."""
        self.passed += timeout or 0.0
        return super().select(0 if timeout is not None else None)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A real asyncio loop in virtual time."""

    def __init__(self) -> None:
        self._clock = _Impatient()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the virtual time: zero at first."""
        return self._clock.passed
