"""Whether an action runs on Spark, and where."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from meshwright.errors import InputError
from meshwright.progress import Progress, announce_phase

if TYPE_CHECKING:
    from meshwright.pipeline.session.start import Session


CONNECT_TIMEOUT = "spark.meshwright.connectTimeout"
"""The setting of how many seconds the master may take to answer, once Java runs; 30 by default."""


@dataclass(frozen=True)
class SparkOptions:
    """Where Spark runs, if an action needs it."""

    master: str | None = None
    """`local[*]` by default, `spark://host:7077`, `yarn`, `k8s://…` or `sc://host:15002`."""
    conf: list[str] = field(default_factory=list)
    """Settings as KEY=VALUE; `CONNECT_TIMEOUT` is one of ours."""
    always: bool = False
    """Whether small data are read on Spark, too."""

    @property
    def wanted(self) -> bool:
        """Whether the user asks for Spark: by an option, a variable, or the settings of Spark."""
        if self.always or self.asked or "SPARK_REMOTE" in os.environ:
            return True
        if not {"SPARK_CONF_DIR", "SPARK_HOME"} & os.environ.keys():
            return False
        from meshwright.pipeline.session.start import user_settings

        return "spark.master" in user_settings()

    @property
    def asked(self) -> bool:
        """Whether an option of the command asks for Spark."""
        return self.master is not None or bool(self.conf)

    @property
    def is_service(self) -> bool:
        """Whether Spark is a Connect service, which may see other files than this machine."""
        return bool(self.master and self.master.startswith("sc://")) or "SPARK_REMOTE" in os.environ

    def settings(self) -> dict[str, str]:
        """Return the settings by key.

        Raises
        ------
        InputError
            If one is not KEY=VALUE.
        """
        found = {}
        for given in self.conf:
            key, equals, value = given.partition("=")
            if not equals or not key:
                raise InputError(
                    f"--conf {given} is not KEY=VALUE: give a setting such as spark.executor.memory=4g"
                )
            found[key] = value
        return found

    def open(self, progress: Progress | None = None) -> Session:
        """Return the Spark session of this process, or start one."""
        from meshwright.pipeline.session.start import session

        settings = self.settings()
        given = settings.pop(CONNECT_TIMEOUT, "30")
        try:
            seconds = float(given)
        except ValueError as error:
            raise InputError(f"{CONNECT_TIMEOUT} is {given!r}: give a number of seconds") from error
        announce_phase(progress, "starting Spark")
        return session(self.master, conf=settings, connect_timeout=seconds)

    def open_unless(self, small: bool, progress: Progress | None = None) -> Session | None:
        """Return a session, or None if the work is small and the user does not ask for Spark.

        Java takes longer to start than small data to read.
        """
        return None if small and not self.wanted else self.open(progress)
