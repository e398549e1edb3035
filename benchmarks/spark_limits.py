"""Every command on a cluster whose driver may receive little, with many names: how long, and how much memory.

Each command runs in a process of its own, which does nothing else, on `local[2]` with a heap of 2 GB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from benchmarks.cases_and_floors import LIMITS, Case
from benchmarks.page import FLOOR, Page, figure, megabytes
from benchmarks.resources import memory, peak_memory
from benchmarks.spark_data import HEAP, MASTER, java_process
from meshwright import load_interest, measure, write_plan
from meshwright.designs.plan import Plan
from meshwright.overlay import Overlay
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.dataset.profile import profile
from meshwright.pipeline.dataset.publications import sum_traffic
from meshwright.pipeline.dataset.sample import sample
from meshwright.pipeline.dataset.subscriptions import subscriptions
from meshwright.pipeline.plans.sharded_verify import verify_on_cluster
from meshwright.pipeline.readers.formats import Publications
from meshwright.pipeline.session.start import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT = {"spark.driver.maxResultSize": "32m"}
"""The driver refuses results of more than this."""
SAMPLED = 10_000
ROWS_FOR_THREE_NODES = 10


def measure_limits(case: Case) -> dict[str, Any]:
    """Return, for each command, the wall seconds and the peak memory of the driver's Python and of Java."""
    record: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="meshwright-limits-") as folder:
        place = Path(folder)
        record["rows"] = _write_events(case, place / "events.csv")
        for name in COMMANDS:
            record |= {f"{name}_{what}": value for what, value in _in_a_process(name, place).items()}
    return record


def _write_events(case: Case, file: Path) -> int:
    """Write events of all nodes, in random order of nodes; return their number."""
    rows = case.nodes * ROWS_FOR_THREE_NODES // 3
    with duckdb.connect(config={"threads": 2}) as base:
        base.execute(
            f"copy (select 'client-' || lpad(cast((i * 7919 + i // {case.nodes}) % {case.nodes} as varchar), "
            f"12, '0') as node, 'plant/topic-' || cast(hash(i) % {case.topics} as varchar) as topic, "
            "case when hash(i, 1) % 10 = 0 then 'unsubscribe' else 'subscribe' end as operation, "
            f"1700000000 + i as time from range({rows}) numbers(i)) to '{file}' (header)"
        )
    return rows


def _in_a_process(name: str, place: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.spark_limits", name, str(place)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        raise RuntimeError(f"{name} ends with exit code {done.returncode}: {last}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _ingest(spark: SparkSession, place: Path) -> None:
    ingest(spark, [place / "events.csv"], place / "dataset")


def _profile(spark: SparkSession, place: Path) -> None:
    profile(subscriptions(spark, place / "dataset"))


def _sample(spark: SparkSession, place: Path) -> None:
    taken = sample(subscriptions(spark, place / "dataset"), SAMPLED)
    assert taken.interest.num_nodes <= SAMPLED


def _verify(spark: SparkSession, place: Path) -> None:
    report = verify_on_cluster(spark, place / "plan", place / "dataset")
    assert (report.passed, report.complete) == (True, True)


def _traffic(spark: SparkSession, place: Path) -> None:
    sum_traffic(spark, [place / "events.csv"], place / "traffic", Publications(publisher="node"))


def write_stars(place: Path) -> int:
    """Write a plan that links the first subscriber of each topic to all others; return its links."""
    interest = load_interest(place / "dataset")
    order = np.lexsort((interest.node_of_slot, interest.node_topics))
    node, topic = interest.node_of_slot[order], interest.node_topics[order]
    first = np.r_[True, topic[1:] != topic[:-1]]
    hub = node[np.flatnonzero(first)[np.cumsum(first) - 1]]
    ends = np.minimum(hub, node).astype(np.int64) << 32 | np.maximum(hub, node)
    ends = np.unique(ends[hub != node])
    u, v = (ends >> 32).astype(np.int32), (ends & 0xFFFFFFFF).astype(np.int32)
    overlay = Overlay(interest, u, v, measure.contributions(interest, u, v))
    write_plan(Plan(overlay, "stars", {}, 0, 0.0), place / "plan")
    return len(overlay)


COMMANDS: dict[str, Callable[[SparkSession, Path], None] | Callable[[Path], int]] = {
    "ingest": _ingest,
    "profile": _profile,
    "sample": _sample,
    "plan": write_stars,
    "verify": _verify,
    "traffic": _traffic,
}
"""What is measured, in this order; the plan is only made for `verify`, without Spark."""
MEASURED = ("ingest", "profile", "sample", "verify", "traffic")


def run_one(name: str, place: Path) -> dict[str, Any]:
    """Run one command; return its seconds, and the peaks of this process and of Java."""
    if name == "plan":
        return {"links": write_stars(place)}
    spark = session(MASTER, conf=HEAP | LIMIT)
    began = time.perf_counter()
    COMMANDS[name](spark, place)  # type: ignore[call-arg,arg-type]
    seconds = time.perf_counter() - began
    java = java_process()
    return {
        "seconds": seconds,
        "driver_mb": peak_memory(),
        "java_mb": None if java is None else memory("VmHWM", java),
    }


TASKS = {LIMITS: measure_limits}


def add_tables(page: Page) -> None:
    """Add the table of all commands."""
    rows = []
    for case, record in page.measured(LIMITS):
        for name in MEASURED:
            driver = record[f"{name}_driver_mb"]
            cells = [case.name, f"{record['rows']:,}", f"`{name}`", figure(record[f"{name}_seconds"])]
            cells += [megabytes(driver), *page.floor(driver, "≤", case.driver_mb)]
            rows.append([*cells, megabytes(record[f"{name}_java_mb"])])
    page.table(
        "A driver that receives little",
        "Every command on `local[2]` with `spark.driver.maxResultSize=32m` and a heap of 2 GB: wall time "
        "without the start of the session, and the peak memory of the driver's Python and of the JVM. A case "
        "is nodes x topics; its rows are events in CSV, and `verify` checks a star for each topic.",
        ["case", "rows", "command", "s", "driver MB", *FLOOR, "Java MB"],
        rows,
    )


if __name__ == "__main__":
    print(json.dumps(run_one(sys.argv[1], Path(sys.argv[2]))))
