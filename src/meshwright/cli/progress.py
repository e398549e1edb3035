"""Progress of a design, drawn on stderr: links so far, support so far, time left."""

from __future__ import annotations

import sys
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Self

from meshwright.cli.output import note

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

QUIET_SECONDS = 1.0
"""Work that takes less than this shows nothing."""
LINE_SECONDS = 2.0
"""Without a terminal, this long between two lines."""
SAMPLES = 64


class ProgressDrawing:
    """The `progress` callback of one design: a bar on a terminal, now and then a line elsewhere if forced.

    Support rises fast at first and slowly later, so the time left is told from the latest half of the run.
    """

    def __init__(self, title: str, *, forced: bool = False, max_edges: int | None = None) -> None:
        self.title = title
        self.max_edges = max_edges
        self.terminal = sys.stderr.isatty()
        self.shown = self.terminal or forced
        self.began = self.last_line = time.monotonic()
        self.samples: deque[tuple[float, float]] = deque([(self.began, 0.0)], maxlen=SAMPLES)
        self.compiling = False
        self._bar: tuple[Progress, TaskID] | None = None

    def __call__(self, edges: int, done: float, what: str) -> None:
        """Take the edges so far, how far it is (while linking: the support) and what is being done."""
        if what.startswith("compiling"):
            self._announce(what)
            return
        now = time.monotonic()
        if not self.shown or now - self.began < QUIET_SECONDS:
            return
        share = max(done, edges / self.max_edges if self.max_edges else 0.0)
        told = f"{edges:,} links, {done:.1%} support" if what == "linking" else f"{edges:,} links, {what}"
        left = time_left(self.samples, now, share)
        self.samples.append((now, share))
        if self.terminal:
            self._draw(told, share, left)
        elif now - self.last_line >= LINE_SECONDS:
            self.last_line = now
            note(f"{self.title}: {told}, {left}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    def _announce(self, what: str) -> None:
        if not self.compiling:
            self.compiling = True
            note(what)

    def _draw(self, told: str, share: float, left: str) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

            bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[told]}"),
                TextColumn("[dim]{task.fields[left]}"),
                console=Console(stderr=True),
                transient=True,
            )
            task = bar.add_task(self.title, total=1.0, told=told, left=left)
            bar.start()
            self._bar = bar, task
        bar, task = self._bar
        bar.update(task, completed=share, told=told, left=left)


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
