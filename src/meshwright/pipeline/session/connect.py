"""Sessions of a Spark Connect service, which brings its own Java and its own workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from meshwright.errors import ClusterError, InputError, MissingDependencyError
from meshwright.pipeline.session.cluster import (
    REACH_SECONDS,
    check_reachable,
    check_workers,
    unreachable_error,
)
from meshwright.pipeline.session.failures import translate_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST = (4, 1)
"""The oldest Spark version whose service has every feature used here."""
ADDRESS = "spark.meshwright.master"
"""The session setting that holds the address of the service; `spark.master` is the master of the service."""


def connect(master: str, conf: Mapping[str, str], defaults: Mapping[str, str]) -> SparkSession:
    """Open a session of a service; `defaults` apply where neither `conf` nor the service has a value.

    Raises
    ------
    MissingDependencyError
        If the client packages of Spark Connect are not installed.
    ClusterError
        If the service does not answer in time, is too old, or the Python of its workers is unsuitable.
    InputError
        If the address is invalid, or a session cannot change one of the settings.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        _check_answers(master)
        opened: SparkSession = SparkSession.builder.remote(master).getOrCreate()
        check_version(opened.version)
        given = {key: value for key, value in defaults.items() if opened.conf.get(key, None) is None}
        _apply_settings(opened, {**given, **conf, ADDRESS: address(master)})
    except PySparkException as error:
        if error.getCondition() == "INVALID_CONNECT_URL":
            raise InputError(
                f"the address {address(master)}, including its options, is invalid: give sc://host:15002, "
                "or sc://host:15002/;token=…"
            ) from error
        raise translate_error(error) from error
    check_workers(opened)
    return opened


def address(master: str) -> str:
    """Return the address of a service without its options, which may hold a secret token.

    >>> address("sc://host:15002/;token=x")
    'sc://host:15002'
    """
    return master.partition(";")[0].rstrip("/")


def check_version(version: str) -> None:
    """Check that a service is new enough.

    Raises
    ------
    ClusterError
        If it is too old.
    """
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise ClusterError(f"the service runs Spark {version}, and {wanted} or newer is needed: upgrade it")


def _check_answers(master: str) -> None:
    """Check that the server speaks gRPC; Spark would retry any other server for minutes."""
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
        raise unreachable_error(address(master)) from error
    finally:
        channel.close()


def _apply_settings(opened: SparkSession, settings: Mapping[str, str]) -> None:
    """Apply settings to a session, one by one, so that an error names the setting."""
    from pyspark.errors import AnalysisException

    for key, value in settings.items():
        try:
            opened.conf.set(key, value)
        except AnalysisException as error:
            raise InputError(
                f"{key} cannot be set through Spark Connect: leave it out, and set it when you start "
                "the service"
            ) from error
