"""Progress of a design, drawn on stderr: links so far, support so far, time left."""

from __future__ import annotations

import time
from collections import deque

from meshwright.cli.drawing import Drawing
from meshwright.cli.output import note

SAMPLES = 64


class ProgressDrawing(Drawing):
    """The `progress` callback of one design: a bar on a terminal, now and then a line elsewhere if forced.

    Support rises fast at first and slowly later, so the time left is told from the latest half of the run.
    """

    def __init__(self, title: str, *, forced: bool = False, max_edges: int | None = None) -> None:
        super().__init__(forced=forced)
        self.title, self.max_edges = title, max_edges
        self.samples: deque[tuple[float, float]] = deque([(self.began, 0.0)], maxlen=SAMPLES)
        self.compiling = False

    def __call__(self, edges: int, done: float, what: str) -> None:
        """Take the edges so far, how far it is (while linking: the support) and what is being done."""
        if what.startswith("compiling"):
            self._announce(what)
            return
        if not self.due():
            return
        now = time.monotonic()
        share = max(done, edges / self.max_edges if self.max_edges else 0.0)
        told = f"{edges:,} links, {done:.1%} support" if what == "linking" else f"{edges:,} links, {what}"
        left = time_left(self.samples, now, share)
        self.samples.append((now, share))
        if self.terminal:
            self.draw(self.title, share, told=told, left=left)
        elif self.line_due():
            note(f"{self.title}: {told}, {left}")

    def _announce(self, what: str) -> None:
        if not self.compiling:
            self.compiling = True
            note(what)


def time_left(samples: deque[tuple[float, float]], now: float, share: float) -> str:
    """Tell how long the rest takes at the pace of the latest half of the time.

    >>> time_left(deque([(0.0, 0.0), (5.0, 0.4)]), 10.0, 0.6)
    '10 s left'
    >>> time_left(deque([(0.0, 0.0)]), 10.0, 0.0)
    'time left unknown'
    """
    began = samples[0][0]
    then, share_then = min(samples, key=lambda sample: abs(sample[0] - (began + now) / 2))
    pace = (share - share_then) / (now - then) if now > then else 0.0
    if pace <= 0:
        return "time left unknown"
    seconds = round((1 - share) / pace)
    return f"{seconds // 60} min {seconds % 60:02} s left" if seconds >= 100 else f"{seconds} s left"
