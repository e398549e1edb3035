"""Planning work on executors: parts of a divided interest, and waves of rows of the engine.

Executors keep no state between waves: each task receives the interest and the edges so far, and builds its
own state from them. So losing a worker costs time, but does not change the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from meshwright.greedy import Tuning
from meshwright.greedy.candidates import everything
from meshwright.greedy.level_run import Task
from meshwright.greedy.waves import Rebuilder, Wave, Windows
from meshwright.interest import Interest, unchecked_interest
from meshwright.pipeline.planning.divide import Part, divide, solve
from meshwright.pipeline.session.stages import report_stages

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from meshwright.arrays import Ids
    from meshwright.greedy.rules import Rule
    from meshwright.progress import Progress


PART_COLUMNS = Part._fields
PART_SCHEMA = "part int, " + ", ".join(f"{name} binary" for name in PART_COLUMNS)


def warm_up(rule: Rule) -> None:
    """Compile on the driver what executors call, so that those that share its cache do not all compile it."""
    pair = Interest.from_dict({"a": {"t"}, "b": {"t"}})
    divide(pair, rule, parts=1)
    nothing = np.zeros(0, dtype=np.int32)
    task = Task(pair, rule, everything, None, Tuning())
    list(Rebuilder(task, Wave(nothing, nothing, nothing, 1, False, 1, 0)).rebuild(nothing))


class ClusterParts:
    """Plans parts on a cluster, for `divide`."""

    def __init__(self, spark: SparkSession, progress: Progress | None = None) -> None:
        self.spark, self.progress = spark, progress

    def __call__(self, interests: list[Interest], rule: Rule, coverage: int) -> Iterable[Part]:
        """Plan all parts, each in its own task."""
        sent = pa.table(
            {
                "part": pa.array(range(len(interests)), pa.int32()),
                "sizes": pa.array(
                    [np.diff(one.node_ptr).astype(np.int32).tobytes() for one in interests], pa.binary()
                ),
                "topics": pa.array([one.node_topics.tobytes() for one in interests], pa.binary()),
            }
        )
        apart = self.spark.createDataFrame(sent).repartitionById(len(interests), "part")
        num_topics = interests[0].num_topics if interests else 0
        planned = apart.mapInArrow(partial(_solve, num_topics, rule, coverage), PART_SCHEMA)
        with report_stages(self.spark, f"planning {len(interests)} parts", count_links(self.progress, 0)):
            table = planned.toArrow().sort_by("part")
        for record in table.to_pylist():
            yield Part(*(np.frombuffer(record[name], np.int32) for name in PART_COLUMNS))


def count_links(progress: Progress | None, links: int) -> Progress | None:
    """Return a callback that reports the links of the plan so far instead of the tasks of a stage."""
    return None if progress is None else lambda _, share, phase: progress(links, share, phase)


def _solve(
    num_topics: int, rule: Rule, coverage: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Plan the given parts, on an executor."""
    for batch in batches:
        for record in batch.to_pylist():
            sizes, topics = (np.frombuffer(record[name], np.int32) for name in ("sizes", "topics"))
            part = solve(_interest(sizes, topics, num_topics), rule, coverage)
            columns = {name: pa.array([getattr(part, name).tobytes()], pa.binary()) for name in PART_COLUMNS}
            yield pa.record_batch({"part": pa.array([record["part"]], pa.int32())} | columns)


def _interest(sizes: NDArray[np.int32], topics: NDArray[np.int32], num_topics: int) -> Interest:
    """Return an interest without names."""
    node_ptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return unchecked_interest(pa.nulls(len(sizes)), pa.nulls(num_topics), node_ptr, topics)


HANDS = 64
"""A wave is divided into at least this many hands; each returns one record."""
HAND_ROWS = 4096
"""The maximum number of rows of a hand, which keeps records at some hundred kilobytes."""
BLOCK = 64
"""Rows are dealt in blocks of this size, because neighbouring rows share memory pages."""
WAVE_COLUMNS = ("rows", "bound", "threshold", "limit", "length", "nodes", "counts")
WAVE_SCHEMA = "sparing boolean, " + ", ".join(f"{name} binary" for name in WAVE_COLUMNS)


class ClusterWaves:
    """Rebuilds waves of rows on a cluster, for `meshwright.greedy.grow`; `rows` has the size of each wave.

    By default, a wave has as many tasks as the cluster runs at once.
    """

    def __init__(
        self, spark: SparkSession, progress: Progress | None = None, *, tasks: int | None = None
    ) -> None:
        self.spark, self.progress, self.tasks = spark, progress, tasks
        self.rows: list[int] = []
        self._bare: tuple[Task, Task] | None = None

    def __call__(self, task: Task, wave: Wave) -> Iterator[Windows]:
        """Rebuild all rows of a wave, and yield their windows."""
        if self._bare is None or self._bare[0] is not task:
            self._bare = task, task.bare()
        self.rows.append(len(wave.rows))
        hands = max(HANDS, -(-len(wave.rows) // HAND_ROWS))
        # A task builds its state once and rebuilds many hands with it.
        numbers = self.spark.range(0, hands, numPartitions=self.tasks)
        dealt = numbers.mapInArrow(partial(_rebuild, self._bare[1], wave, hands), WAVE_SCHEMA)
        progress = count_links(self.progress, len(wave.u))
        with report_stages(self.spark, f"rebuilding {len(wave.rows):,} rows", progress):
            table = dealt.toArrow()
        for record in table.to_pylist():
            yield Windows(
                record["sparing"], *(np.frombuffer(record[name], np.int32) for name in WAVE_COLUMNS)
            )


def hand_of(rows: Ids, hand: int, hands: int) -> Ids:
    """Return the rows of one hand; each hand gets early and late rows, because early rows are longer."""
    chosen: Ids = rows[np.arange(len(rows)) // BLOCK % hands == hand]
    return chosen


def _rebuild(
    task: Task, wave: Wave, hands: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rebuild the hands with the given numbers, on an executor."""
    import pyarrow as pa

    rebuilder = None
    for batch in batches:
        for hand in batch.column(0).to_pylist():
            rebuilder = rebuilder or Rebuilder(task, wave)
            for windows in rebuilder.rebuild(hand_of(wave.rows, hand, hands)):
                yield pa.RecordBatch.from_pylist([_record(windows)], _schema())


def _record(windows: Windows) -> dict[str, Any]:
    named = windows._asdict()
    return {"sparing": named["sparing"]} | {
        name: named[name].astype(np.int32).tobytes() for name in WAVE_COLUMNS
    }


def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema({"sparing": pa.bool_()} | {name: pa.binary() for name in WAVE_COLUMNS})
