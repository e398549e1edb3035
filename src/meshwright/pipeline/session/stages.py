"""Progress of Spark stages, from the driver in this process or from a Spark Connect service."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.pipeline.session.cluster import through_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import StageInfo

    from meshwright.progress import Progress

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
