"""How much time is left."""

from __future__ import annotations

import time


class Clock:
    """A time limit in seconds, running from now on."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left, never below 0."""
        return max(0.0, self._end - time.monotonic())

    @property
    def struck(self) -> bool:
        """Whether the time is up."""
        return self.left == 0.0
