"""Planning work on executors: parts of a divided interest, and rows of the engine rebuilt in waves.

Nothing is kept on executors between two waves: each task makes its own state from the interest and the edges
so far, which come with it. So a worker that is lost costs time and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from meshwright.greedy.waves import Task, Wave, Windows
from meshwright.interest import Interest
from meshwright.pipeline.planning.divide import Part, solve
from meshwright.pipeline.session.stages import watching

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from meshwright.arrays import Ids
    from meshwright.greedy.rules import Rule
    from meshwright.progress import Progress


PART_COLUMNS = Part._fields
PART_SCHEMA = "part int, " + ", ".join(f"{name} binary" for name in PART_COLUMNS)


class ClusterParts:
    """Plans parts on a cluster, for `divide`."""

    def __init__(self, spark: SparkSession, progress: Progress | None = None) -> None:
        self.spark, self.progress = spark, progress

    def __call__(self, interests: list[Interest], rule: Rule, coverage: int) -> Iterable[Part]:
        """Plan all parts, each in a task of its own."""
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
        told = self.progress
        telling = None if told is None else lambda what, done, tasks: told(0, done / tasks, what)
        with watching(self.spark, f"planning {len(interests)} parts", telling):
            table = planned.toArrow().sort_by("part")
        for record in table.to_pylist():
            yield Part(*(np.frombuffer(record[name], np.int32) for name in PART_COLUMNS))


def _solve(
    num_topics: int, rule: Rule, coverage: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Plan, on an executor, the parts that come."""
    for batch in batches:
        for record in batch.to_pylist():
            sizes, topics = (np.frombuffer(record[name], np.int32) for name in ("sizes", "topics"))
            part = solve(_interest(sizes, topics, num_topics), rule, coverage)
            columns = {name: pa.array([getattr(part, name).tobytes()], pa.binary()) for name in PART_COLUMNS}
            yield pa.record_batch({"part": pa.array([record["part"]], pa.int32())} | columns)


def _interest(sizes: NDArray[np.int32], topics: NDArray[np.int32], num_topics: int) -> Interest:
    node_ptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return Interest(pa.nulls(len(sizes)), pa.nulls(num_topics), node_ptr, topics)


HANDS = 64
"""A wave is dealt out into at least so many hands, each a record that comes back."""
HAND_ROWS = 4096
"""A hand has no more rows than this: its record is then some hundred kilobytes."""
BLOCK = 64
"""Rows are dealt in blocks: neighbours share pages of memory."""
WAVE_COLUMNS = ("rows", "bound", "threshold", "limit", "length", "nodes", "counts")
WAVE_SCHEMA = "sparing boolean, " + ", ".join(f"{name} binary" for name in WAVE_COLUMNS)


class ClusterWaves:
    """Rebuilds waves of rows on a cluster, for `meshwright.greedy.grow`; remembers how large they were.

    A wave is as many tasks as the cluster runs at once, unless told.
    """

    def __init__(
        self, spark: SparkSession, progress: Progress | None = None, *, tasks: int | None = None
    ) -> None:
        self.spark, self.progress, self.tasks = spark, progress, tasks
        self.rows: list[int] = []
        self._bare: tuple[Task, Task] | None = None

    def __call__(self, task: Task, wave: Wave) -> Iterator[Windows]:
        """Have all rows of a wave rebuilt, and yield them as they are."""
        if self._bare is None or self._bare[0] is not task:
            self._bare = task, task.bare()
        self.rows.append(len(wave.rows))
        hands = max(HANDS, -(-len(wave.rows) // HAND_ROWS))
        # Each task makes a state of its own, and many hands from it.
        numbers = self.spark.range(0, hands, numPartitions=self.tasks)
        dealt = numbers.mapInArrow(partial(_rebuild, self._bare[1], wave, hands), WAVE_SCHEMA)
        with watching(self.spark, f"rebuilding {len(wave.rows):,} rows", self._telling(len(wave.u))):
            table = dealt.toArrow()
        for record in table.to_pylist():
            yield Windows(
                record["sparing"], *(np.frombuffer(record[name], np.int32) for name in WAVE_COLUMNS)
            )

    def _telling(self, edges: int) -> Callable[[str, int, int], None] | None:
        told = self.progress
        return None if told is None else lambda what, done, tasks: told(edges, done / tasks, what)


def hand_of(rows: Ids, hand: int, hands: int) -> Ids:
    """Return the rows of one hand: early rows are longer than late ones, so each hand has some of both."""
    chosen: Ids = rows[np.arange(len(rows)) // BLOCK % hands == hand]
    return chosen


def _rebuild(
    task: Task, wave: Wave, hands: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rebuild, on an executor, the hands whose numbers come."""
    import pyarrow as pa

    from meshwright.greedy.rebuild import Rebuilder

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
