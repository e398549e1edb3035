"""GM and verification on Spark, next to the same work without Spark, on the same two cores.

The session and its workers start before anything is timed.
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

from benchmarks.cases_and_floors import SPARK, Case
from benchmarks.engine import WARM_NODES
from benchmarks.page import FLOOR, Page, figure, megabytes
from benchmarks.resources import peak_memory, record_wall_time
from meshwright.greedy import candidates, grow, rules, waves
from meshwright.greedy.layout import Tuning
from meshwright.greedy.level_run import Task
from meshwright.interest import Interest
from meshwright.overlay import Overlay
from meshwright.pipeline.dataset.subscriptions import subscriptions
from meshwright.pipeline.planning.executors import ClusterWaves
from meshwright.pipeline.session.session import session
from meshwright.pipeline.sharded_verify import examine_on_cluster
from meshwright.store.datasets import write_dataset
from meshwright.verify.overlay_check import ShardFindings, ShardTask, examine_shard

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"
SCALING_NODES = 200_000
"""With at least this many nodes, a wave is long enough to show how it scales from one core to two."""
ROUNDS = 3
ONCE_SECONDS = 60.0
"""No further round starts after this time."""


class TimedWaves(ClusterWaves):
    """Waves on a cluster that record how long they take."""

    seconds = 0.0

    def __call__(self, task: Task, wave: waves.Wave) -> Iterator[waves.Windows]:
        """Rebuild the windows of a wave, and add the wall time."""
        began = time.perf_counter()
        rebuilt = list(super().__call__(task, wave))
        self.seconds += time.perf_counter() - began
        return iter(rebuilt)


def measure_on_spark(case: Case) -> dict[str, Any]:
    """Return wall seconds with and without Spark. The results must be the same."""
    interest = case.workload().canonical()
    spark = session(MASTER)
    _warm_up(spark, case.workload(seed=1, most_nodes=WARM_NODES).canonical())
    record: dict[str, Any] = {}
    spent = 0.0
    while spent == 0.0 or (spent < ONCE_SECONDS and record["rounds"] < ROUNDS):
        began = time.perf_counter()
        record["rounds"] = record.get("rounds", 0) + 1
        overlay = _compare_plans(spark, interest, record)
        _compare_verdicts(spark, overlay, record)
        spent += time.perf_counter() - began
    record["driver_mb"] = peak_memory()
    if interest.num_nodes >= SCALING_NODES:
        _compare_cores(spark, interest, record)
    return record


def _warm_up(spark: SparkSession, small: Interest) -> None:
    """Start the workers and load their kernels."""
    enough, waves.LEAST_WORK = waves.LEAST_WORK, 1
    _compare_verdicts(spark, grow(small, rules.gm, elsewhere=TimedWaves(spark)), {})
    waves.LEAST_WORK = enough


def _compare_plans(spark: SparkSession, interest: Interest, record: dict[str, Any]) -> Overlay:
    """Measure GM on one thread, on two, and with its waves on Spark.

    Waves rebuild rows of the level sweep, so they are compared with the sweep, not with lists from the index.
    """
    swept = partial(grow, interest, rules.gm, tuning=Tuning(index=0))
    alone = [
        record_wall_time(record, name, partial(swept, threads=threads))
        for name, threads in (("one", 1), ("two", 2))
    ]
    timed, before = TimedWaves(spark), record.get("cluster", np.inf)
    overlay: Overlay = record_wall_time(record, "cluster", lambda: grow(interest, rules.gm, elsewhere=timed))
    if record["cluster"] < before:
        record["in_waves"], record["waves"] = timed.seconds, timed.rows
    for other in alone:
        if not all(
            np.array_equal(getattr(overlay, name), getattr(other, name))
            for name in ("u", "v", "contribution")
        ):
            raise AssertionError("Spark returns other edges than the engine alone")
    return overlay


def _compare_verdicts(spark: SparkSession, overlay: Overlay, record: dict[str, Any]) -> None:
    """Measure the verification of a stored dataset in one process and on Spark."""
    interest = overlay.interest
    task = ShardTask(overlay.u, overlay.v, interest.num_nodes, interest.num_topics, weak=False)
    with tempfile.TemporaryDirectory() as folder:
        dataset = write_dataset(interest, Path(folder) / "dataset")

        def verify_alone() -> ShardFindings:
            table = pq.read_table(dataset / "subscriptions")
            return examine_shard(task, table.column("node").to_numpy(), table.column("topic").to_numpy())

        found = record_wall_time(record, "kernel", verify_alone)
        rows = subscriptions(spark, dataset)
        verified, _ = record_wall_time(record, "verify", lambda: examine_on_cluster(spark, overlay, rows))
    total = int(found.components.sum())
    if not (verified.contributions_agree and verified.connected and verified.components.total == total):
        raise AssertionError("Spark returns another verdict than the kernel alone")


def _compare_cores(spark: SparkSession, interest: Interest, record: dict[str, Any]) -> None:
    """Measure the first wave, which rebuilds all rows, as one task and as two."""
    nothing = np.zeros(0, dtype=np.int32)
    level = int(np.diff(interest.node_ptr).max())
    rows = np.arange(interest.num_nodes, dtype=np.int32)
    task = Task(interest, rules.gm, candidates.everything, None, Tuning())
    wave = waves.Wave(nothing, nothing, rows, level, False, level, 0)
    for tasks in (1, 2):
        on_cluster = ClusterWaves(spark, tasks=tasks)
        record_wall_time(record, f"wave_{tasks}", partial(_count_rebuilt_rows, on_cluster, task, wave))


def _count_rebuilt_rows(on_cluster: ClusterWaves, task: Task, wave: waves.Wave) -> int:
    return sum(len(windows.rows) for windows in on_cluster(task, wave))


TASKS = {SPARK: measure_on_spark}


def add_tables(page: Page) -> None:
    """Add the tables on GM, on one wave and on verification."""
    _plans(page)
    _waves(page)
    _verification(page)


def _plans(page: Page) -> None:
    rows = []
    for case, record in page.measured(SPARK):
        ratio = record["cluster"] / min(record["one"], record["two"])
        serial = record["cluster"] - record.get("in_waves", 0.0)
        cells = [case.name, *map(figure, (record["one"], record["two"], record["cluster"], ratio))]
        cells += page.floor(ratio, "≤", case.spark_over_engine)
        cells += [" + ".join(f"{wave:,}" for wave in record["waves"]) or "–"]
        rows.append([*cells, figure(serial), figure(record["one"] / serial)])
    page.table(
        "GM on Spark",
        "Wall time of exact GM by the level sweep, with its waves on Spark, `local[2]`, over the engine "
        "alone on one thread or two, whichever is faster. The start of the session does not count. The "
        "edges are identical, or the case fails. Serial is the work of the driver between waves: one / "
        "serial is the maximum speedup over one thread, with any number of executors.",
        [
            "case",
            "one s",
            "two s",
            "Spark s",
            "Spark / engine",
            *FLOOR,
            "rows in waves",
            "serial s",
            "one / serial",
        ],
        rows,
    )


def _waves(page: Page) -> None:
    rows = []
    for case, record in page.measured(SPARK):
        if "wave_1" in record:
            gain = record["wave_1"] / record["wave_2"]
            cells = [case.name, figure(record["wave_1"]), figure(record["wave_2"]), figure(gain)]
            rows.append([*cells, *page.floor(gain, "≥", case.two_tasks_gain)])
    page.table(
        "A wave on one core and on two",
        "Wall time of the first wave, which rebuilds all rows, as one Spark task and as two.",
        ["case", "one task s", "two tasks s", "one / two", *FLOOR],
        rows,
    )


def _verification(page: Page) -> None:
    rows = []
    for case, record in page.measured(SPARK):
        ratio = record["verify"] / record["kernel"]
        cells = [case.name, figure(record["kernel"]), figure(record["verify"]), figure(ratio)]
        rows.append([*cells, *page.floor(ratio, "≤", case.spark_over_kernel), megabytes(record["driver_mb"])])
    page.table(
        "Verification on Spark",
        "Wall time of verifying the GM plan of a stored dataset on Spark, over the same kernel in one "
        "process. The last column is the peak memory of the driver's Python process over the whole case.",
        ["case", "kernel s", "Spark s", "Spark / kernel", *FLOOR, "driver MB"],
        rows,
    )
