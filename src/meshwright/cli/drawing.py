"""Progress on stderr: a bar on a terminal, or now and then a line where somebody asked for it."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Drawing:
    """When to show something, and the bar; what it says is its children's."""

    quiet_seconds: ClassVar[float] = 1.0
    """Work that takes less than this shows nothing."""
    line_seconds: ClassVar[float] = 2.0
    """Without a terminal, this long between two lines."""

    def __init__(self, *, forced: bool = False) -> None:
        self.terminal = sys.stderr.isatty()
        self.shown = self.terminal or forced
        self.began = self.last_line = time.monotonic()
        self._bar: tuple[Progress, TaskID] | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    def due(self) -> bool:
        """Say whether there is anything to show by now."""
        return self.shown and self.elapsed >= self.quiet_seconds

    def line_due(self) -> bool:
        """Say whether a line may be written again; asking counts as writing it."""
        now = time.monotonic()
        if now - self.last_line < self.line_seconds:
            return False
        self.last_line = now
        return True

    def draw(self, title: str, share: float, *, told: str, left: str) -> None:
        """Draw the bar up to a share, with what is told of it and what is left."""
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
            self._bar = bar, bar.add_task(title, total=1.0, told=told, left=left)
            bar.start()
        bar, task = self._bar
        bar.update(task, description=title, completed=share, told=told, left=left)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()
