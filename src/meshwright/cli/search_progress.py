"""Progress of a search, drawn on stderr: how far it is, and what it has found."""

from __future__ import annotations

from meshwright.cli.drawing import Drawing
from meshwright.cli.output import note


class SearchDrawing(Drawing):
    """The `progress` callback of a search: a bar on a terminal, now and then a line elsewhere if forced."""

    def __init__(self, title: str, *, forced: bool = False) -> None:
        super().__init__(forced=forced)
        self.title = title

    def __call__(self, steps: int, done: float, what: str) -> None:
        """Take the steps so far, the part of the time or steps that is gone, and what is found."""
        if what.startswith("compiling"):
            note(what)
            return
        if not self.due():
            return
        if self.terminal:
            self.draw(self.title, done, told=what, left=f"{steps:,} steps")
        elif self.line_due():
            note(f"{self.title}: {what}, {steps:,} steps")
