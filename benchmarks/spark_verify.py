"""Verification of a GM plan on Spark, next to the same work without Spark, on the same two cores.

The session and its workers start before anything is timed.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from benchmarks.cases_and_floors import SPARK, Case
from benchmarks.engine import WARM_NODES
from benchmarks.page import FLOOR, Page, figure, megabytes
from benchmarks.resources import peak_memory, record_wall_time
from meshwright.greedy import grow, rules
from meshwright.overlay import Overlay
from meshwright.pipeline.dataset.subscriptions import subscriptions
from meshwright.pipeline.plans.sharded_verify import examine_on_cluster
from meshwright.pipeline.session.start import session
from meshwright.store.datasets import write_dataset
from meshwright.verify.overlay_check import ShardFindings, ShardTask, examine_shard

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"
ROUNDS = 3
ONCE_SECONDS = 60.0
"""No further round starts after this time."""


def measure_on_spark(case: Case) -> dict[str, Any]:
    """Return wall seconds with and without Spark. The results must be the same."""
    overlay = grow(case.workload().canonical(), rules.gm)
    spark = session(MASTER)
    # Start the workers and load their kernels.
    small = case.workload(seed=1, most_nodes=WARM_NODES).canonical()
    _compare_verdicts(spark, grow(small, rules.gm), {})
    record: dict[str, Any] = {}
    spent = 0.0
    while spent == 0.0 or (spent < ONCE_SECONDS and record["rounds"] < ROUNDS):
        began = time.perf_counter()
        record["rounds"] = record.get("rounds", 0) + 1
        _compare_verdicts(spark, overlay, record)
        spent += time.perf_counter() - began
    record["driver_mb"] = peak_memory()
    return record


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


TASKS = {SPARK: measure_on_spark}


def add_tables(page: Page) -> None:
    """Add the table on verification."""
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
