"""How far Spark's stages are, for whoever draws progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from meshwright.pipeline.session.cluster import through_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import StageInfo

Progress: TypeAlias = Callable[[str, int, int], None]
"""Takes what is being done, how many tasks of it are done, and how many there are."""

EVERY_SECONDS = 0.5


@contextmanager
def watching(spark: SparkSession, what: str, progress: Progress | None = None) -> Iterator[None]:
    """Tell how far the jobs are that run inside, every second or two; at the end nothing is told."""
    if progress is None:
        yield
        return
    look = _told_by_service if through_connect(spark) else _looked_up
    with look(spark, lambda done, tasks: progress(what, done, tasks) if tasks else None):
        yield


@contextmanager
def _looked_up(spark: SparkSession, tell: Callable[[int, int], None]) -> Iterator[None]:
    """Ask Spark's driver, which is in this process's own Java."""
    tracker = spark.sparkContext.statusTracker()
    over = threading.Event()

    def look() -> None:
        while not over.wait(EVERY_SECONDS):
            done = tasks = 0
            for job in tracker.getActiveJobsIds():
                told = tracker.getJobInfo(job)
                for stage in told.stageIds if told else ():
                    known = tracker.getStageInfo(stage)
                    if known:
                        done += known.numCompletedTasks
                        tasks += known.numTasks
            tell(done, tasks)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


@contextmanager
def _told_by_service(spark: SparkSession, tell: Callable[[int, int], None]) -> Iterator[None]:
    """Let a Spark Connect service tell, as it does while it works."""

    def listen(stages: Iterable[StageInfo] | None, **_: object) -> None:
        known = list(stages or ())
        tell(sum(stage.num_completed_tasks for stage in known), sum(stage.num_tasks for stage in known))

    handler: Any = listen  # a function will do, though PySpark's types ask for a class
    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)
