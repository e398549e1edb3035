"""Whether a cluster answers and its workers fit: asked before any work, told in one line."""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from meshwright.errors import ClusterError, InputError
from meshwright.pipeline.session import failures

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

REACH_SECONDS = 30.0
"""A master that does not answer within this time counts as unreachable."""
WORK_SECONDS = 120.0
"""A cluster that starts no Python within this time has no free executors."""
MISFIT = re.compile("PYTHON_VERSION_MISMATCH|Cannot run program|No module named|different version")
"""What Spark complains of when a worker's Python does not fit."""
MASTERS = re.compile(
    r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn"
    r"|spark://[^\s/]+:\d+|k8s://\S+|sc://\S+"
)
"""What can stand for a master; Spark itself answers anything else with an exception of Java's."""


def check_master(master: str) -> None:
    """Refuse what is no master at all.

    Raises
    ------
    InputError
        If so.
    """
    if MASTERS.fullmatch(master) is None:
        raise InputError(
            f"{master!r} is no Spark master: give local[*], local[2], spark://host:7077, yarn, "
            "k8s://https://host:443 or sc://host:15002 with --master"
        )


def check_reachable(master: str, seconds: float = REACH_SECONDS) -> None:
    """Refuse a master at whose address nobody answers.

    Raises
    ------
    ClusterError
        If no connection to any of its addresses comes about in time.
    """
    places = _addresses(master)
    ends = time.monotonic() + seconds
    for number, (host, port) in enumerate(places):
        share = max((ends - time.monotonic()) / (len(places) - number), 0.1)
        try:
            socket.create_connection((host, port), timeout=share).close()
        except OSError:
            continue
        return
    if places:
        raise unreachable(master)


def unreachable(master: str) -> ClusterError:
    """Say that nobody answers."""
    return ClusterError(
        f"no Spark master answers at {master}: start it, or mend the address given with --master"
    )


def _addresses(master: str) -> list[tuple[str, int]]:
    """Return where a master listens, as far as its URL says so."""
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


def through_connect(spark: SparkSession) -> bool:
    """Tell whether a session is one of a Spark Connect service."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def check_workers(spark: SparkSession, seconds: float = WORK_SECONDS) -> None:
    """Refuse a cluster that takes up no work, or whose Python differs from ours or lacks Meshwright.

    Raises
    ------
    ClusterError
        If so.
    """
    told: list[Any] = []
    asking = threading.Thread(target=_ask, args=(spark, told), daemon=True)
    asking.start()
    asking.join(seconds)
    if not told:
        raise ClusterError(
            f"no worker of the cluster took up work within {seconds:.0f} s: start workers, free some, or "
            "ask for less with --conf spark.executor.memory=… and spark.executor.cores=…"
        )
    if isinstance(told[0], Exception):
        why = str(told[0])
        if MISFIT.search(why) is None:
            raise failures.told(told[0]) from told[0]
        ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
        where = ", where the service is started," if through_connect(spark) else ""
        raise ClusterError(
            f"the workers' Python does not fit ({_telling(why)}): set PYSPARK_PYTHON{where} to a Python "
            f"{ours} that is on every worker and has meshwright installed"
        )


def _ask(spark: SparkSession, told: list[Any]) -> None:
    """Let a worker say its version of Python, or keep what stopped it."""
    try:
        told.append(spark.range(1, numPartitions=1).mapInArrow(_answer, "python string").collect())
    except Exception as error:
        told.append(error)


def _answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run on a worker; unpickling this needs Meshwright there."""
    import pyarrow as pa

    for batch in batches:
        yield pa.record_batch({"python": pa.array([sys.version] * batch.num_rows)})


def _telling(text: str) -> str:
    """Return the line of a long complaint that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if MISFIT.search(line)]
    return telling[-1][:200] if telling else lines[0][:200]
