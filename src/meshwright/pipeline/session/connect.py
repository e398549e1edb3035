"""A session of a Spark Connect service: Java and the workers' Python are the service's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from meshwright.errors import ClusterError, InputError, MissingDependencyError
from meshwright.pipeline.session.cluster import REACH_SECONDS, check_reachable, check_workers, unreachable
from meshwright.pipeline.session.failures import told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST = (4, 1)
"""Services of this version of Spark and of newer ones have all that is asked of them."""
ADDRESS = "spark.meshwright.master"
"""The setting of a session that keeps where its service is: `spark.master` is the service's own."""


def connected(master: str, conf: Mapping[str, str], defaults: Mapping[str, str]) -> SparkSession:
    """Open a session of a service; `defaults` are set where neither `conf` nor the service says anything.

    Raises
    ------
    MissingDependencyError
        If the packages that speak with a service are not installed.
    ClusterError
        If the service does not answer in time, is too old, or its workers' Python does not fit.
    InputError
        If the address is no address, or a setting cannot be changed by a session.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        _check_answers(master)
        opened: SparkSession = SparkSession.builder.remote(master).getOrCreate()
        check_version(opened.version)
        given = {key: value for key, value in defaults.items() if opened.conf.get(key, None) is None}
        _set(opened, {**given, **conf, ADDRESS: address(master)})
    except PySparkException as error:
        if error.getCondition() == "INVALID_CONNECT_URL":
            raise InputError(
                f"{address(master)}, with what follows it, is no address of a service: give sc://host:15002, "
                "or sc://host:15002/;token=…"
            ) from error
        raise told(error) from error
    check_workers(opened)
    return opened


def address(master: str) -> str:
    """Return where a service is, without what follows: that may be secret.

    >>> address("sc://host:15002/;token=x")
    'sc://host:15002'
    """
    return master.partition(";")[0].rstrip("/")


def check_version(version: str) -> None:
    """Refuse a service that is too old.

    Raises
    ------
    ClusterError
        If so.
    """
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise ClusterError(f"the service runs Spark {version}, and {wanted} or newer is needed: renew it")


def _check_answers(master: str) -> None:
    """Refuse what takes the call and speaks another language, or none: Spark would ask again for minutes."""
    try:
        import grpc
        from pyspark.sql.connect.client import DefaultChannelBuilder
    except ImportError as error:
        raise MissingDependencyError(
            "Spark Connect needs more packages: pip install 'pyspark[connect]'"
        ) from error
    channel = DefaultChannelBuilder(master).toChannel()
    check_reachable(master, REACH_SECONDS / 2)
    try:
        grpc.channel_ready_future(channel).result(timeout=REACH_SECONDS / 2)
    except grpc.FutureTimeoutError as error:
        raise unreachable(address(master)) from error
    finally:
        channel.close()


def _set(opened: SparkSession, settings: Mapping[str, str]) -> None:
    from pyspark.errors import AnalysisException

    for key, value in settings.items():
        try:
            opened.conf.set(key, value)
        except AnalysisException as error:
            raise InputError(
                f"{key} cannot be set through Spark Connect: leave it out, and set it where the service is "
                "started"
            ) from error
