"""Clusters: checks that one answers and its workers can run Meshwright, and sessions of Spark Connect.

A Spark Connect service brings its own Java and its own workers. All checks run before any work starts.
"""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from meshwright.errors import ClusterError, InputError, MissingDependencyError
from meshwright.pipeline.session.jobs import through_connect, translate_error

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

REACH_SECONDS = 30.0
"""A master that does not answer within this time is unreachable."""
WORK_SECONDS = 120.0
"""A cluster that starts no Python within this time has no free executors."""
UNSUITABLE = re.compile("PYTHON_VERSION_MISMATCH|Cannot run program|No module named|different version")
"""What Spark reports when the Python of a worker is unsuitable."""
MASTERS = re.compile(
    r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn"
    r"|spark://[^\s/]+:\d+|k8s://\S+|sc://\S+"
)
"""The valid master URLs; Spark answers any other with a Java exception."""


def check_master(master: str) -> None:
    """Check that a master URL is valid.

    Raises
    ------
    InputError
        If it is not.
    """
    if MASTERS.fullmatch(master) is None:
        raise InputError(
            f"{master!r} is not a Spark master: give local[*], local[2], spark://host:7077, yarn, "
            "k8s://https://host:443 or sc://host:15002 with --master"
        )


def check_reachable(master: str, seconds: float = REACH_SECONDS) -> None:
    """Check that a master answers at one of its addresses.

    Raises
    ------
    ClusterError
        If no address accepts a connection in time.
    """
    addresses = _addresses(master)
    deadline = time.monotonic() + seconds
    for number, (host, port) in enumerate(addresses):
        share = max((deadline - time.monotonic()) / (len(addresses) - number), 0.1)
        try:
            socket.create_connection((host, port), timeout=share).close()
        except OSError:
            continue
        return
    if addresses:
        raise unreachable_error(master)


def unreachable_error(master: str) -> ClusterError:
    """Return the error for a master that does not answer."""
    return ClusterError(
        f"no Spark master answers at {master}: start it, or correct the address given with --master"
    )


def _addresses(master: str) -> list[tuple[str, int]]:
    """Return the host and port of each address in a master URL; none for `local` and `yarn`."""
    if not re.match(r"(spark|sc|k8s)://", master):
        return []
    secure = "https://" in master
    bare = re.sub(r"^\w+://(https?://)?", "", master).split(";")[0].split("/")[0]
    fallback = {"spark": 7077, "sc": 15002}.get(master.partition(":")[0], 443 if secure else 80)
    found = []
    for place in bare.split(","):
        host, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "")
        found.append((host.strip("[]"), int(port) if port else fallback))
    return found


def check_workers(spark: SparkSession, seconds: float = WORK_SECONDS) -> None:
    """Check that the workers accept tasks and that their Python can run Meshwright.

    Raises
    ------
    ClusterError
        If no worker starts a task in time, or its Python differs from ours or lacks Meshwright.
    """
    answers: list[Any] = []
    probe = threading.Thread(target=_ask_version, args=(spark, answers), daemon=True)
    probe.start()
    probe.join(seconds)
    if not answers:
        raise ClusterError(
            f"no worker of the cluster started a task within {seconds:.0f} s: start workers, free some, or "
            "ask for less with --conf spark.executor.memory=… and spark.executor.cores=…"
        )
    if isinstance(answers[0], Exception):
        why = str(answers[0])
        if UNSUITABLE.search(why) is None:
            raise translate_error(answers[0]) from answers[0]
        ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
        where = ", where the service is started," if through_connect(spark) else ""
        raise ClusterError(
            f"the workers' Python is unsuitable ({_relevant_line(why)}): set PYSPARK_PYTHON{where} to a "
            f"Python {ours} that is on every worker and has meshwright installed"
        )


def _ask_version(spark: SparkSession, answers: list[Any]) -> None:
    """Append the Python version of a worker, or the exception that prevented the answer."""
    try:
        answers.append(spark.range(1, numPartitions=1).mapInArrow(_answer_version, "python string").collect())
    except Exception as error:
        answers.append(error)


def _answer_version(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Answer with the Python version, on a worker; unpickling this function needs Meshwright there."""
    import pyarrow as pa

    for batch in batches:
        yield pa.record_batch({"python": pa.array([sys.version] * batch.num_rows)})


def _relevant_line(text: str) -> str:
    """Return the line of a long error text that names the cause."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    relevant = [line for line in lines if UNSUITABLE.search(line)]
    return relevant[-1][:200] if relevant else lines[0][:200]


OLDEST_SERVICE = (4, 0)
"""The oldest Spark version that comes with a Connect service and reports the progress of its stages."""
ADDRESS = "spark.meshwright.master"
"""The session setting that holds the address of the service; `spark.master` is the master of the service."""


def connect(
    master: str, conf: Mapping[str, str], defaults: Mapping[str, str], seconds: float = REACH_SECONDS
) -> SparkSession:
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
        _check_answers(master, seconds)
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
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_SERVICE:
        wanted = ".".join(map(str, OLDEST_SERVICE))
        raise ClusterError(f"the service runs Spark {version}, and {wanted} or newer is needed: upgrade it")


def _check_answers(master: str, seconds: float) -> None:
    """Check that the server speaks gRPC; Spark would retry any other server for minutes."""
    try:
        import grpc
        from pyspark.sql.connect.client import DefaultChannelBuilder
    except ImportError as error:
        raise MissingDependencyError(
            "Spark Connect needs PySpark 4.0 or newer and more packages: pip install 'pyspark[connect]>=4'"
        ) from error
    channel = DefaultChannelBuilder(master).toChannel()
    check_reachable(master, seconds / 2)
    try:
        grpc.channel_ready_future(channel).result(timeout=seconds / 2)
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
