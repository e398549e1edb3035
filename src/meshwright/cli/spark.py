"""Spark options of commands, the session they run on, and progress of its stages on stderr."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from meshwright.cli.output import SAMPLES, Drawing, note, time_left, working
from meshwright.formatting import percentage

if TYPE_CHECKING:
    from meshwright.pipeline.session.session import Session

Master: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Where Spark runs: local[*] by default, spark://host:7077, yarn, k8s://…, sc://host:15002.",
    ),
]

Conf: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A Spark setting; can be repeated."),
]


ConnectTimeout: TypeAlias = Annotated[
    float,
    typer.Option(
        "--connect-timeout",
        metavar="S",
        min=0.1,
        help="Seconds that the Spark master may take to answer, once Java runs.",
    ),
]


def open_session(master: str | None, conf: Sequence[str] | None, connect_timeout: float = 30.0) -> Session:
    """Return the Spark session that a command runs on."""
    from meshwright.pipeline.session.session import session

    settings = parse_settings(conf)
    with working("starting Spark"):
        return session(master, conf=settings, connect_timeout=connect_timeout)


def parse_settings(conf: Sequence[str] | None) -> dict[str, str]:
    """Return the settings of --conf by key."""
    from meshwright.errors import InputError

    settings = {}
    for given in conf or ():
        key, found, value = given.partition("=")
        if not found or not key:
            raise InputError(
                f"--conf {given} is not KEY=VALUE: give a setting such as spark.executor.memory=4g"
            )
        settings[key] = value
    return settings


def wants_spark(master: str | None, conf: Sequence[str] | None) -> bool:
    """Return whether the user asks for Spark: by an option, a variable, or the settings of Spark."""
    import os

    from meshwright.pipeline.session.session import user_settings

    given = master is not None or bool(conf) or "SPARK_REMOTE" in os.environ
    return given or "spark.master" in user_settings()


class StageDrawing(Drawing):
    """A `Progress` callback that counts rows, megabytes or tasks: a bar, or occasional lines if forced."""

    quiet_seconds, line_seconds = 3.0, 10.0

    def __init__(self, *, unit: str = "tasks", forced: bool = False) -> None:
        super().__init__(forced=forced)
        self.unit, self.phase = unit, ""
        self.samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)

    def __call__(self, done: int, share: float, phase: str) -> None:
        """Draw how much of a phase is done, as a count and as a share, and the time left of this phase."""
        now = time.monotonic()
        if phase != self.phase or (self.samples and share < self.samples[-1][1]):
            self.phase = phase
            self.samples.clear()
        self.samples.append((now, share))
        if not self.due():
            return
        left = time_left(self.samples, now, share)
        count = f"{done:,} {self.unit}, {percentage(share)}"
        if self.terminal:
            self.draw(phase, share, detail=count, left=left)
        elif self.line_due():
            note(f"{phase}: {count}, after {self.elapsed:.0f} s, {left}")
