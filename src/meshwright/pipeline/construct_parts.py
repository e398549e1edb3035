"""Parts of a divided interest, planned on a cluster: each executor gets its own part alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.interest import Interest
from meshwright.pipeline.divide_parts import Part, solve
from meshwright.pipeline.watching import watching

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from meshwright.greedy import Progress
    from meshwright.greedy.rules import Rule

COLUMNS = Part._fields
SCHEMA = "part int, " + ", ".join(f"{name} binary" for name in COLUMNS)


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
        planned = apart.mapInArrow(partial(_solve, num_topics, rule, coverage), SCHEMA)
        told = self.progress
        telling = None if told is None else lambda what, done, tasks: told(0, done / tasks, what)
        with watching(self.spark, f"planning {len(interests)} parts", telling):
            table = planned.toArrow().sort_by("part")
        for record in table.to_pylist():
            yield Part(*(np.frombuffer(record[name], np.int32) for name in COLUMNS))


def _solve(
    num_topics: int, rule: Rule, coverage: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Plan, on an executor, the parts that come."""
    for batch in batches:
        for record in batch.to_pylist():
            sizes, topics = (np.frombuffer(record[name], np.int32) for name in ("sizes", "topics"))
            part = solve(_interest(sizes, topics, num_topics), rule, coverage)
            columns = {name: pa.array([getattr(part, name).tobytes()], pa.binary()) for name in COLUMNS}
            yield pa.record_batch({"part": pa.array([record["part"]], pa.int32())} | columns)


def _interest(sizes: NDArray[np.int32], topics: NDArray[np.int32], num_topics: int) -> Interest:
    node_ptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return Interest(pa.nulls(len(sizes)), pa.nulls(num_topics), node_ptr, topics)
