"""Progress on stderr: a bar on a terminal, or an occasional line if requested."""

from __future__ import annotations

import sys
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self

from meshwright.cli.output import note

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Drawing:
    """A progress display: when to show something, and the bar. Subclasses provide the text."""

    quiet_seconds: ClassVar[float] = 1.0
    """Work that takes less than this shows nothing."""
    line_seconds: ClassVar[float] = 2.0
    """Seconds between two lines without a terminal."""

    def __init__(self, *, forced: bool = False) -> None:
        self.terminal = sys.stderr.isatty()
        self.shown = self.terminal or forced
        self.began = self.last_line = time.monotonic()
        self._bar: tuple[Progress, TaskID] | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    def due(self) -> bool:
        """Return whether progress should be visible now."""
        return self.shown and self.elapsed >= self.quiet_seconds

    def line_due(self) -> bool:
        """Return whether another line may be written; a positive answer counts as written."""
        now = time.monotonic()
        if now - self.last_line < self.line_seconds:
            return False
        self.last_line = now
        return True

    def draw(self, title: str, share: float, *, detail: str, left: str) -> None:
        """Draw the bar up to a share, with a detail and what is left."""
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

            bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[detail]}"),
                TextColumn("[dim]{task.fields[left]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar = bar, bar.add_task(title, total=1.0, detail=detail, left=left)
            bar.start()
        bar, task = self._bar
        bar.update(task, description=title, completed=share, detail=detail, left=left)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()


SAMPLES = 64


class ProgressDrawing(Drawing):
    """The `progress` callback of one design: a bar on a terminal, or an occasional line if forced.

    Support rises fast at first and slowly later, so the latest half of the run predicts the time left.
    """

    def __init__(self, title: str, *, forced: bool = False, max_edges: int | None = None) -> None:
        super().__init__(forced=forced)
        self.title, self.max_edges = title, max_edges
        self.samples: deque[tuple[float, float]] = deque([(self.began, 0.0)], maxlen=SAMPLES)

    def __call__(self, edges: int, done: float, what: str) -> None:
        """Take the edges so far, the share done (while linking: the support) and the phase."""
        if not self.due():
            return
        now = time.monotonic()
        share = max(done, edges / self.max_edges if self.max_edges else 0.0)
        detail = f"{edges:,} links, {done:.1%} support" if what == "linking" else f"{edges:,} links, {what}"
        left = time_left(self.samples, now, share)
        self.samples.append((now, share))
        if self.terminal:
            self.draw(self.title, share, detail=detail, left=left)
        elif self.line_due():
            note(f"{self.title}: {detail}, {left}")


def time_left(samples: deque[tuple[float, float]], now: float, share: float) -> str:
    """Predict the time left from the pace of the latest half of the run.

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


class SearchDrawing(Drawing):
    """The `progress` callback of a search: a bar on a terminal, or an occasional line if forced."""

    def __init__(self, title: str, *, forced: bool = False) -> None:
        super().__init__(forced=forced)
        self.title = title

    def __call__(self, steps: int, done: float, what: str) -> None:
        """Take the steps so far, the share of the budget that is spent, and the result so far."""
        if not self.due():
            return
        if self.terminal:
            self.draw(self.title, done, detail=what, left=f"{steps:,} steps")
        elif self.line_due():
            note(f"{self.title}: {what}, {steps:,} steps")
