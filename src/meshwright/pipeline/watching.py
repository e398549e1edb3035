"""How far Spark's stages are, for whoever draws progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

Progress: TypeAlias = Callable[[str, int, int], None]
"""Takes what is being done, how many tasks of it are done, and how many there are."""

EVERY_SECONDS = 0.5


@contextmanager
def watching(spark: SparkSession, what: str, progress: Progress | None = None) -> Iterator[None]:
    """Tell how far the jobs are that run inside, twice a second; at the end nothing is told.

    Through Spark Connect the number of tasks is not known here, and nothing is told.
    """
    tracker = None if progress is None else _tracker(spark)
    if tracker is None or progress is None:
        yield
        return
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
            if tasks:
                progress(what, done, tasks)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _tracker(spark: SparkSession) -> StatusTracker | None:
    from pyspark.errors import PySparkAttributeError

    try:
        return spark.sparkContext.statusTracker()
    except PySparkAttributeError:
        return None
