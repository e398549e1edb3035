"""Spark for commands: the session, and its stages drawn on stderr when they take their time."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self, TypeAlias

import typer

from meshwright.cli.output import note, working

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from meshwright.pipeline.session import Session

Master: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Where Spark runs: local[*] unless told, spark://host:7077, yarn, k8s://…, sc://host:15002.",
    ),
]

Conf: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; may be repeated."),
]

QUIET_SECONDS = 3.0
"""Work that takes less than this shows nothing."""
LINE_SECONDS = 10.0
"""Without a terminal, this long between two lines."""


def opened(master: str | None, conf: Sequence[str] | None) -> Session:
    """Open the session that a command runs on."""
    from meshwright.errors import InputError
    from meshwright.pipeline.session import session

    settings = {}
    for given in conf or ():
        key, found, value = given.partition("=")
        if not found or not key:
            raise InputError(f"--conf {given} is no setting: give KEY=VALUE, as in spark.executor.memory=4g")
        settings[key] = value
    with working("starting Spark"):
        return session(master, conf=settings)


class StageDrawing:
    """The `progress` callback of work on Spark: a bar on a terminal, a line now and then if forced."""

    def __init__(self, *, forced: bool = False) -> None:
        self.terminal = sys.stderr.isatty()
        self.shown = self.terminal or forced
        self.began = self.last_line = time.monotonic()
        self._bar: tuple[Progress, TaskID] | None = None

    def __call__(self, what: str, done: int, tasks: int) -> None:
        """Take what is being done, how many tasks of it are done and how many there are."""
        now = time.monotonic()
        if not self.shown or now - self.began < QUIET_SECONDS:
            return
        if self.terminal:
            self._draw(what, done, tasks)
        elif now - self.last_line >= LINE_SECONDS:
            self.last_line = now
            note(f"{what}: {done} of {tasks} tasks, after {now - self.began:.0f} s")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    def _draw(self, what: str, done: int, tasks: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

            bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("tasks"),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar = bar, bar.add_task(what, total=tasks)
            bar.start()
        bar, task = self._bar
        bar.update(task, description=what, completed=done, total=tasks)
