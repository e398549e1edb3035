"""Spark's jobs: how many tasks run at once, their progress, and their failures in one line.

Progress comes from the driver in this process, or from a Spark Connect service. A failure says what is wrong,
in which file, and how to fix it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from meshwright import errors
from meshwright.errors import ClusterError, FormatError, InputError, MeshwrightError
from meshwright.formatting import hide_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import StageInfo

    from meshwright.progress import Progress


def through_connect(spark: SparkSession) -> bool:
    """Return whether a session runs through Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def tasks_at_once(spark: SparkSession | None) -> int:
    """Return how many tasks the cluster runs at once, as far as it says; one without a cluster."""
    if spark is None:
        return 1
    from pyspark.sql import functions

    if not through_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    # A Spark Connect service does not say, but it cuts a range into that many partitions by default.
    numbered = spark.range(1024).select(functions.spark_partition_id().alias("partition"))
    [row] = numbered.agg(functions.max("partition")).collect()
    return int(row[0]) + 1


EVERY_SECONDS = 0.5
PROCESSES = Path("/proc")


@contextmanager
def report_stages(
    spark: SparkSession | None,
    phase: str,
    progress: Progress | None = None,
    *,
    amount: int | None = None,
    whole_files: Mapping[str, int] | None = None,
) -> Iterator[None]:
    """Report how much of each job that runs inside the block is done.

    The share is that of its tasks, and of the bytes of `whole_files` that tasks have read by now: such a file
    is the work of one task, however large it is. The count is that share of an amount, such as rows or
    megabytes, or else the number of tasks.
    """
    if progress is None or spark is None:
        yield
        return

    def report(done: int, tasks: int) -> None:
        if tasks:
            share = min(1.0, done / tasks + share_read(whole_files or {}))
            progress(done if amount is None else round(amount * share), share, phase)

    observe = _listen_to_service if through_connect(spark) else _poll_driver
    with observe(spark, report):
        yield


def share_read(sizes: Mapping[str, int]) -> float:
    """Return which share of files the processes that have them open have read, where Linux shows it."""
    if not sizes or not PROCESSES.is_dir():
        return 0.0
    read = 0
    for opened in PROCESSES.glob("[0-9]*/fd/*"):
        with suppress(OSError, ValueError, IndexError):  # the process may be another user's, or gone
            if str(opened.readlink()) in sizes:
                about = opened.parents[1] / "fdinfo" / opened.name
                read += int(about.read_text().split()[1])
    return read / max(sum(sizes.values()), 1)


@contextmanager
def _poll_driver(spark: SparkSession, report: Callable[[int, int], None]) -> Iterator[None]:
    """Poll the Spark driver, which runs in the Java of this process."""
    tracker = spark.sparkContext.statusTracker()
    over = threading.Event()

    def poll() -> None:
        while not over.wait(EVERY_SECONDS):
            done = tasks = 0
            for number in tracker.getActiveJobsIds():
                job = tracker.getJobInfo(number)
                for stage_number in job.stageIds if job else ():
                    stage = tracker.getStageInfo(stage_number)
                    if stage:
                        done += stage.numCompletedTasks
                        tasks += stage.numTasks
            report(done, tasks)

    poller = threading.Thread(target=poll, daemon=True)
    poller.start()
    try:
        yield
    finally:
        over.set()
        poller.join()


@contextmanager
def _listen_to_service(spark: SparkSession, report: Callable[[int, int], None]) -> Iterator[None]:
    """Receive the progress messages that a Spark Connect service sends while it works."""

    def listen(stages: Iterable[StageInfo] | None, **_: object) -> None:
        known = list(stages or ())
        report(sum(stage.num_completed_tasks for stage in known), sum(stage.num_tasks for stage in known))

    # PySpark's types ask for a class, but it accepts a function.
    handler: Any = listen
    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


OURS = re.compile(r"^meshwright\.errors\.(\w+): (.*)$", re.MULTILINE)
"""The last line of a traceback if Meshwright raised the error on a worker."""
UNREADABLE = re.compile(r"\[FAILED_READ_FILE\.?(\w*)\][^\n]*? file (\S+?)\.?(?:\s|$)")
NOT_FOUND = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (.*?)\.(?: SQLSTATE.*)?$", re.MULTILINE)
CUT_OFF = re.compile(
    "EOFException|Unexpected end of (?:input )?stream|unexpected end of stream", re.IGNORECASE
)
COLON = re.compile(r"Relative path in absolute URI: (\S+)")
DIFFERENT = re.compile(r'\[CANNOT_MERGE_SCHEMAS\].*?"(STRUCT<.*?>)".*?"(STRUCT<.*?>)"', re.DOTALL)
ILLEGAL_TIME = "Illegal Parquet type: INT64 (TIMESTAMP(NANOS"
TOO_LARGE = re.compile(r"Sent message larger than max \((\d+) vs\. (\d+)\)")
"""The message of Spark Connect when a request exceeds its size limit."""
DETAILS = re.compile(r'^\s*details = "(.*)"$', re.MULTILINE)
"""The line in which a gRPC error describes itself."""
NO_MEMORY = re.compile("OutOfMemoryError|SparkContext was shut down|Answer from Java side is empty")
"""What is left to read if Java runs out of memory: it says so, stops Spark, or ends."""
GONE = re.compile("FileNotFoundException|FILE_NOT_EXIST|does not exist", re.IGNORECASE)


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn any exception that Spark raises inside the block into a `MeshwrightError` of one line."""
    try:
        yield
    except MeshwrightError:
        raise
    except ConnectionError as error:  # to Java: it is gone
        raise _no_memory() from error
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        # Errors of py4j itself: the connection broke, or an answer without a reason came.
        if type(error).__name__ in ("Py4JNetworkError", "Py4JError") and len(str(error).splitlines()) < 2:
            raise _no_memory() from error
        raise translate_error(error) from error


def translate_error(error: Exception) -> MeshwrightError:
    """Return the `MeshwrightError` that explains an exception of Spark."""
    text = hide_secrets(str(error))  # before it is cut
    if (ours := OURS.search(text)) is not None:
        kind = getattr(errors, ours[1], ClusterError)
        made: MeshwrightError = kind(ours[2])
        return made
    if (missing := NOT_FOUND.search(text)) is not None:
        return InputError(f"{readable_path(missing[1])} does not exist: check the path")
    if (unreadable := UNREADABLE.search(text)) is not None:
        return _unreadable(readable_path(unreadable[2]), text)
    if (colon := COLON.search(text)) is not None:
        return InputError(f"Spark cannot read {colon[1]}, because its name has a colon: rename it")
    if (differing := DIFFERENT.search(text)) is not None:
        return InputError(
            f"the Parquet files have conflicting schemas ({differing[1]} and {differing[2]}): "
            "ingest the files of one schema, or convert the others"
        )
    if ILLEGAL_TIME in text:
        return InputError("Spark cannot read Parquet timestamps in nanoseconds: write them in microseconds")
    if (large := TOO_LARGE.search(text)) is not None:
        sent, most = (f"{int(size) >> 20:,} MB" for size in large.groups())
        return ClusterError(
            f"every task needs {sent}, and Spark Connect sends {most} at most: give the address of the "
            "cluster itself with --master, leave --master out, or plan in parts with --parts"
        )
    if NO_MEMORY.search(text):
        return _no_memory()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    caused = DETAILS.findall(text) or [line for line in lines if line.startswith("Caused by:")]
    chosen = (
        caused[-1:] or [line for line in lines if not line.startswith("An error occurred")] or ["no message"]
    )
    return ClusterError(f"Spark failed: {chosen[0].removeprefix(': ')[:300]}; --debug shows the full error")


def _no_memory() -> MeshwrightError:
    """Return the error for a Java that ran out of memory."""
    return ClusterError(
        "Spark's Java ended, most likely because its memory was used up: give it more, such as "
        "--conf spark.driver.memory=4g, on a cluster also --conf spark.executor.memory=4g"
    )


def _unreadable(file: str, text: str) -> MeshwrightError:
    """Return the error for a file that Spark could not read."""
    if CUT_OFF.search(text):
        return FormatError(f"{file} is cut off: get the complete file, or leave it out")
    if GONE.search(text):
        return FormatError(f"{file} was deleted while it was read: restore it, and run this again")
    causes = re.findall(r"^Caused by: (?:[\w.$]+: )?(.*)$", text, re.MULTILINE)
    why = f" ({causes[-1][:200]})" if causes else ""
    return FormatError(f"{file} cannot be read{why}: repair it, or leave it out")


def readable_path(path: str) -> str:
    """Return a path of Spark as users write it: without `file:` and percent encoding.

    >>> readable_path("file:///data/a%20b.csv"), readable_path("file:/data/c.csv"), readable_path("hdfs://host/d.csv")
    ('/data/a b.csv', '/data/c.csv', 'hdfs://host/d.csv')
    """
    return unquote(strip_scheme(path))


def strip_scheme(path: str) -> str:
    """Return a path of Spark without `file:`, for paths that are not percent-encoded.

    >>> strip_scheme("file:/data/a%20b.csv")
    '/data/a%20b.csv'
    """
    return re.sub(r"^file:/+", "/", path)
