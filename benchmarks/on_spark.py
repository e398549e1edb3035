"""GM and verification on Spark beside the same work without it, on the same two cores.

The session is started before anything is timed, and its workers are warm.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.timing import note_wall, peak_memory
from meshwright.greedy import candidates, grow, rules, waves
from meshwright.greedy.layout import Tuning
from meshwright.greedy.level_run import Task
from meshwright.interest import Interest
from meshwright.overlay import Overlay
from meshwright.pipeline.dataset.subscriptions import subscriptions
from meshwright.pipeline.planning.executors import ClusterWaves
from meshwright.pipeline.session.session import session
from meshwright.pipeline.sharded_verify import examine_on_cluster
from meshwright.store import write_dataset
from meshwright.verify.overlay_check import ShardFindings, ShardTask, examine_shard

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"
SCALING_NODES = 200_000
"""From so many nodes on, a wave is long enough to see how it scales from one core to two."""
ONCE_SECONDS = 60.0
"""What takes longer is measured once, what does not three times, the best taken."""


class Timed(ClusterWaves):
    """Waves on a cluster that remember how long they took."""

    seconds = 0.0

    def __call__(self, task: Task, wave: waves.Wave) -> Iterator[waves.Windows]:
        """Have a wave rebuilt, against the clock."""
        began = time.perf_counter()
        rebuilt = list(super().__call__(task, wave))
        self.seconds += time.perf_counter() - began
        return iter(rebuilt)


def measure_on_spark(interest: Interest, small: Interest) -> dict[str, Any]:
    """Return wall seconds with and without Spark; the answers must be the same."""
    interest, small = interest.canonical(), small.canonical()
    spark = session(MASTER)
    _warm(spark, small)
    record: dict[str, Any] = {}
    spent = 0.0
    while spent == 0.0 or (spent < ONCE_SECONDS and record["rounds"] < 3):
        began = time.perf_counter()
        record["rounds"] = record.get("rounds", 0) + 1
        overlay = _compare_plans(spark, interest, record)
        _compare_verdicts(spark, overlay, record)
        spent += time.perf_counter() - began
    record["driver_mb"] = peak_memory()
    if interest.num_nodes >= SCALING_NODES:
        _compare_cores(spark, interest, record)
    return record


def _warm(spark: SparkSession, small: Interest) -> None:
    """Let workers start and load their kernels."""
    enough, waves.LEAST_WORK = waves.LEAST_WORK, 1
    _compare_verdicts(spark, grow(small, rules.gm, elsewhere=Timed(spark)), {})
    waves.LEAST_WORK = enough


def _compare_plans(spark: SparkSession, interest: Interest, record: dict[str, Any]) -> Overlay:
    """Measure GM here, on one thread and on two, and with its waves on Spark."""
    made = {}
    for threads, name in ((1, "one"), (2, "two")):
        made[name] = note_wall(record, name, partial(grow, interest, rules.gm, threads=threads))
    sent, before = Timed(spark), record.get("cluster", np.inf)
    overlay: Overlay = note_wall(record, "cluster", lambda: grow(interest, rules.gm, elsewhere=sent))
    if record["cluster"] < before:
        record["in_waves"], record["waves"] = sent.seconds, sent.rows
    for other in made.values():
        if not all(
            np.array_equal(getattr(overlay, it), getattr(other, it)) for it in ("u", "v", "contribution")
        ):
            raise AssertionError("Spark gave other edges than the engine alone")
    return overlay


def _compare_verdicts(spark: SparkSession, overlay: Overlay, record: dict[str, Any]) -> None:
    """Measure the verification of a stored dataset by one process, and on Spark."""
    interest = overlay.interest
    task = ShardTask(overlay.u, overlay.v, interest.num_nodes, interest.num_topics, weak=False)
    with tempfile.TemporaryDirectory() as folder:
        dataset = write_dataset(interest, Path(folder) / "dataset")

        def alone() -> ShardFindings:
            table = pq.read_table(dataset / "subscriptions")
            return examine_shard(task, table.column("node").to_numpy(), table.column("topic").to_numpy())

        found = note_wall(record, "kernel", alone)
        asked = subscriptions(spark, dataset)
        verified, _ = note_wall(record, "verify", lambda: examine_on_cluster(spark, overlay, asked))
    total = int(found.components.sum())
    if not (verified.contributions_agree and verified.connected and verified.components.total == total):
        raise AssertionError("Spark gave another verdict than the kernel alone")


def _compare_cores(spark: SparkSession, interest: Interest, record: dict[str, Any]) -> None:
    """Measure the first wave, over all rows, as one task and as two."""
    nothing = np.zeros(0, dtype=np.int32)
    level = int(np.diff(interest.node_ptr).max())
    rows = np.arange(interest.num_nodes, dtype=np.int32)
    task = Task(interest, rules.gm, candidates.everything, None, Tuning())
    wave = waves.Wave(nothing, nothing, rows, level, False, level, 0)
    for tasks in (1, 2):
        sent = ClusterWaves(spark, tasks=tasks)
        note_wall(record, f"wave_{tasks}", partial(_rebuilt, sent, task, wave))


def _rebuilt(sent: ClusterWaves, task: Task, wave: waves.Wave) -> int:
    return sum(len(windows.rows) for windows in sent(task, wave))
