"""Spark for commands: the session, and its stages drawn on stderr when they take their time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from meshwright.cli.output import note, working
from meshwright.cli.progress import Drawing

if TYPE_CHECKING:
    from meshwright.pipeline.session.session import Session

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


def opened(master: str | None, conf: Sequence[str] | None) -> Session:
    """Open the session that a command runs on."""
    from meshwright.errors import InputError
    from meshwright.pipeline.session.session import session

    settings = {}
    for given in conf or ():
        key, found, value = given.partition("=")
        if not found or not key:
            raise InputError(f"--conf {given} is no setting: give KEY=VALUE, as in spark.executor.memory=4g")
        settings[key] = value
    with working("starting Spark"):
        return session(master, conf=settings)


class StageDrawing(Drawing):
    """The `progress` callback of work on Spark: a bar on a terminal, a line now and then if forced."""

    quiet_seconds, line_seconds = 3.0, 10.0

    def __call__(self, what: str, done: int, tasks: int) -> None:
        """Take what is being done, how many tasks of it are done and how many there are."""
        if not self.due():
            return
        if self.terminal:
            share = done / tasks if tasks else 0.0
            self.draw(what, share, detail=f"{done}/{tasks}", left="tasks")
        elif self.line_due():
            note(f"{what}: {done} of {tasks} tasks, after {self.elapsed:.0f} s")
