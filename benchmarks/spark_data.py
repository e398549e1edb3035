"""Ingest and profile on Spark, next to DuckDB doing the same work, on the same two cores.

The session and its workers start before anything is timed.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from benchmarks.cases_and_floors import DATA, DATA_GROWTH, MOST_DATA_GROWTH, MOST_DRIVER_GROWTH, SMALL, Case
from benchmarks.engine import WARM_NODES
from benchmarks.page import FLOOR, Page, figure, megabytes
from benchmarks.resources import (
    cpu_seconds_of_descendants,
    descendants,
    record_wall_time,
)
from meshwright.interest import Interest
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.dataset.profile import HOT_TOPICS, SAMPLED_NODES, Distribution, Profile, profile
from meshwright.pipeline.dataset.subscriptions import subscriptions
from meshwright.pipeline.session.start import session
from meshwright.store.datasets import read_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"
HEAP = {"spark.driver.memory": "2g"}
"""Java has this much memory, however many rows there are."""
FILES = {"encode": "pairs.parquet", "csv": "pairs.csv", "events": "events.csv", "json": "events.jsonl"}
"""What is ingested: by the name of its figures, the file."""
PARTITIONS = 64
"""The dataset that is profiled has this many row groups."""
LEAVING = 5
"""One event in this many is an unsubscribe."""


def measure_data(case: Case) -> dict[str, Any]:
    """Return wall seconds of Spark and of DuckDB, and CPU seconds of Spark. The results must be the same."""
    interest, small = case.workload(), case.workload(seed=1, most_nodes=WARM_NODES)
    spark = session(MASTER, conf=HEAP)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _compare(spark, small, place / "small", {})  # Warm the workers.
        record: dict[str, Any] = {"rows": interest.num_subscriptions}
        _compare(spark, interest, place / "large", record)
    return record


def _compare(spark: SparkSession, interest: Interest, place: Path, record: dict[str, Any]) -> None:
    place.mkdir()
    _write_files(interest, place)
    for name, source in reversed(FILES.items()):
        _ingest_both(spark, place / source, place, record, name)
    record["driver_mb"], record["java_mb"] = _memory_of_ingest(place / "pairs.parquet", place / "again")
    read = read_dataset(place / "dataset")
    stored = place / "dataset" / "subscriptions" / "*.parquet"
    _divide(place / "dataset" / "subscriptions")
    for _ in range(2):
        made = record_wall_time(record, "profile", lambda: profile(subscriptions(spark, place / "dataset")))
        figures = record_wall_time(
            record, "duckdb_profile", lambda: _profile_in_duckdb(stored, read.num_nodes)
        )
    _require_same_profile(made, figures, read)
    shutil.rmtree(place)


def _divide(folder: Path) -> None:
    """Rewrite the subscriptions of a dataset in `PARTITIONS` row groups, each of which is a task on Spark."""
    [*parts] = sorted(folder.glob("*.parquet"))
    table = pa.concat_tables(pq.read_table(part) for part in parts)
    for part in parts:
        part.unlink()
    pq.write_table(table, folder / parts[0].name, row_group_size=max(-(-table.num_rows // PARTITIONS), 1))


def _write_files(interest: Interest, place: Path) -> None:
    """Write the subscriptions in random order: as pairs and as events, in three formats."""
    rng = np.random.Generator(np.random.PCG64(1))
    order = rng.permutation(interest.num_subscriptions)
    pairs = interest.canonical().to_arrow().take(pa.array(order))
    pq.write_table(pairs, place / "pairs.parquet", row_group_size=1 << 20)
    plain = csv.WriteOptions(quoting_style="none")
    csv.write_csv(pairs, place / "pairs.csv", plain)
    words = np.where(rng.integers(0, LEAVING, len(order)) == 0, "unsubscribe", "subscribe")
    times = pa.array(1_700_000_000 + np.arange(len(order)))
    events = pairs.append_column("operation", pa.array(words)).append_column("time", times)
    csv.write_csv(events, place / "events.csv", plain)
    with duckdb.connect() as base:
        base.register("events", events)
        base.execute(f"copy events to '{place / 'events.jsonl'}' (format json)")


def _ingest_both(spark: SparkSession, file: Path, place: Path, record: dict[str, Any], name: str) -> None:
    """Ingest a file on Spark and in DuckDB, and require the same ids."""
    for folder in ("dataset", "duckdb"):
        shutil.rmtree(place / folder, ignore_errors=True)
    before = cpu_seconds_of_descendants()
    record_wall_time(record, name, lambda: ingest(spark, [file], place / "dataset"))
    record["cpu"] = cpu_seconds_of_descendants() - before
    record_wall_time(record, f"duckdb_{name}", lambda: _encode_in_duckdb(file, place / "duckdb"))
    _require_same_ids(read_dataset(place / "dataset"), place / "duckdb")


MEMORY = """
import sys
from benchmarks.resources import memory, peak_memory
from benchmarks.spark_data import HEAP, MASTER, java_process
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.session.start import session
ingest(session(MASTER, conf=HEAP), [sys.argv[1]], sys.argv[2])
print(peak_memory(), memory("VmHWM", java_process()))
"""


def _memory_of_ingest(file: Path, out: Path) -> tuple[float, float]:
    """Return the peak memory of the driver's Python and of Java, in a process that does nothing else."""
    command = [sys.executable, "-c", MEMORY, str(file), str(out)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    driver, java = map(float, done.stdout.split()[-2:])
    return driver, java


def _require_same_ids(read: Interest, place: Path) -> None:
    """Require the ids and names that DuckDB returns."""
    found = pq.read_table(place / "subscriptions.parquet")
    nodes, topics = (pq.read_table(place / f"{kind}s.parquet").column("name") for kind in ("node", "topic"))
    if not (
        np.array_equal(found.column("node").to_numpy(), read.node_of_slot)
        and np.array_equal(found.column("topic").to_numpy(), read.node_topics)
        and nodes.to_pylist() == read.node_names.to_pylist()
        and topics.to_pylist() == read.topic_names.to_pylist()
    ):
        raise AssertionError("Spark and DuckDB encode the rows differently")


def _require_same_profile(made: Profile, figures: dict[str, Any], read: Interest) -> None:
    """Require the distributions, hot topics and pairs with common topics that DuckDB finds."""
    pairs, shared = figures["pairs"]
    sampled = min(SAMPLED_NODES, read.num_nodes)
    expected = {
        "sizes": figures["node"],
        "popularity": figures["topic"],
        "hot": [(read.topic_names[topic].as_py(), count) for topic, count in figures["hot"]],
        "related": pairs / max(sampled * (sampled - 1) // 2, 1),
        "shared": int(shared or 0) / max(pairs, 1),
    }
    found = {
        "sizes": _value_counts(made.sizes),
        "popularity": _value_counts(made.popularity),
        "hot": made.hot,
        "related": made.related,
        "shared": made.shared,
    }
    differing = [name for name in expected if found[name] != expected[name]]
    if differing:
        raise AssertionError(f"Spark and DuckDB disagree on the profile: {', '.join(differing)}")


def _value_counts(distribution: Distribution) -> list[tuple[int, int]]:
    return list(zip(distribution.values.tolist(), distribution.counts.tolist(), strict=True))


def _encode_in_duckdb(file: Path, place: Path) -> None:
    """Do the work of `ingest` in DuckDB: find distinct pairs, sort and number names, write sorted ids."""
    place.mkdir()
    with duckdb.connect(config={"threads": 2}) as base:
        read = {".parquet": "read_parquet", ".csv": "read_csv", ".jsonl": "read_json"}[file.suffix]
        rows = f"select node, topic from {read}('{file}')"
        if file.name.startswith("events"):
            rows = (
                "select node, topic from (select node, topic, max_by(operation, time) as last from "
                f"{read}('{file}') group by node, topic) where last = 'subscribe'"
            )
        base.execute(f"create table pairs as select distinct node, topic from ({rows})")
        for kind in ("node", "topic"):
            base.execute(
                f"create table {kind}s as select {kind} as name, "
                f"cast(row_number() over (order by {kind}) - 1 as integer) as id "
                f"from (select distinct {kind} from pairs)"
            )
            _copy(base, f"select id, name from {kind}s order by id", place / f"{kind}s.parquet")
        _copy(
            base,
            "select nodes.id as node, topics.id as topic from pairs join nodes on pairs.node = nodes.name "
            "join topics on pairs.topic = topics.name order by 1, 2",
            place / "subscriptions.parquet",
        )


def _copy(base: Any, query: str, file: Path) -> None:
    base.execute(f"copy ({query}) to '{file}' (format parquet, compression zstd)")


def _profile_in_duckdb(file: Path, nodes: int) -> dict[str, Any]:
    """Do the work of `profile` in DuckDB: both distributions, hot topics, common topics of sampled nodes."""
    figures: dict[str, Any] = {}
    with duckdb.connect(config={"threads": 2}) as base:
        rows = f"read_parquet('{file}')"
        for kind in ("node", "topic"):
            figures[kind] = base.execute(
                f"select value, count(*) from (select count(*) as value from {rows} group by {kind}) "
                "group by value order by value"
            ).fetchall()
        figures["hot"] = base.execute(
            f"select topic, count(*) from {rows} group by topic order by 2 desc, 1 limit {HOT_TOPICS}"
        ).fetchall()
        rng = np.random.Generator(np.random.PCG64(0))
        drawn = rng.choice(nodes, size=min(SAMPLED_NODES, nodes), replace=False).tolist()
        base.execute("create table drawn as select unnest(?) as node", [drawn])
        base.execute(f"create table sample as select node, topic from {rows} semi join drawn using (node)")
        figures["pairs"] = base.execute(
            "select count(*), sum(shared) from (select count(*) as shared from sample a join sample b "
            "on a.topic = b.topic and a.node < b.node group by a.node, b.node)"
        ).fetchone()
    return figures


def java_process() -> int | None:
    """Return the process id of Spark's JVM."""
    for process in descendants():
        try:
            if Path(f"/proc/{process}/comm").read_text().strip() == "java":
                return process
        except OSError:  # The process ended in the meantime.
            continue
    return None


BARE = """
import os, sys
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").getOrCreate()
print(spark.range(0, 10, 1, 1).mapInArrow(lambda batches: batches, "id long").collect())
"""
"""The least that a job with Python on Spark takes."""
SMALL_COMMANDS = {"ingest": (), "ingest_on_spark": ("--master", MASTER)}


def measure_small(case: Case) -> dict[str, Any]:
    """Return the median wall seconds of ingesting a small file, and of a bare session with one job.

    Each run is a process of its own, and they take turns. The first round does not count.
    """
    spent: dict[str, list[float]] = {"bare": [], **{name: [] for name in SMALL_COMMANDS}}
    with tempfile.TemporaryDirectory(prefix="meshwright-small-") as folder:
        place = Path(folder)
        csv.write_csv(case.workload().canonical().to_arrow(), place / "rows.csv")
        for number in range(1 + case.rounds):
            spent["bare"].append(_wall_seconds([sys.executable, "-c", BARE], place))
            for name, options in SMALL_COMMANDS.items():
                words = ["ingest", "rows.csv", "--out", f"{name}-{number}", *options]
                spent[name].append(_wall_seconds([sys.executable, "-m", "meshwright", *words], place))
    return {name: statistics.median(seconds[1:]) for name, seconds in spent.items()}


def _wall_seconds(command: list[str], place: Path) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    return time.perf_counter() - began


TASKS = {DATA: measure_data, SMALL: measure_small}


def add_tables(page: Page) -> None:
    """Add the tables on ingest and profile, and on five times the rows."""
    rows = []
    for case, record in page.measured(DATA):
        cells = [case.name, f"{record['rows']:,}"]
        floors = {
            "encode": case.encode_over_duckdb,
            "csv": case.csv_over_duckdb,
            "events": case.events_over_duckdb,
            "json": case.json_over_duckdb,
            "profile": case.profile_over_duckdb,
        }
        for name, floor in floors.items():
            ratio = record[name] / record[f"duckdb_{name}"]
            cells += [*map(figure, (record[name], record[f"duckdb_{name}"], ratio))]
            cells += page.floor(ratio, "≤", floor)
        rows.append([*cells, megabytes(record["driver_mb"]), megabytes(record["java_mb"])])
    against = ["DuckDB s", "ratio", *FLOOR]
    page.table(
        "Data on Spark",
        "Wall time of ingesting names into a dataset (pairs in Parquet and CSV, events in CSV and JSON "
        f"lines), and of profiling it in {PARTITIONS} row groups (the better of two runs), on Spark "
        "(`local[2]`), over DuckDB on two threads doing the same work. Ids and figures are identical, or the "
        "case fails. The last columns are the peak memory of the driver's Python process and of the JVM, "
        "which has a heap of 2 GB, for the pairs in Parquet.",
        [
            *("case", "rows", "Parquet s", *against, "CSV s", *against, "CSV events s", *against),
            *("JSON events s", *against, "profile s", *against, "driver MB", "Java MB"),
        ],
        rows,
    )
    _growth(page)
    _small(page)


def _small(page: Page) -> None:
    rows = []
    for case, record in page.measured(SMALL):
        for name, options in SMALL_COMMANDS.items():
            ratio = record[name] / record["bare"]
            cells = [case.name, f"`{' '.join(('ingest', *options))}`"]
            cells += map(figure, (record["bare"], record[name], ratio))
            rows.append([*cells, *page.floor(ratio, "≤", case.small_over_bare)])
    page.table(
        "Ingest of a small file",
        "Wall time of the whole command, next to a bare local session that runs one `mapInArrow` job: "
        "medians of alternating runs, each in a process of its own. Without options, no Java starts.",
        ["case", "command", "bare s", "command s", "command / bare", *FLOOR],
        rows,
    )


def _growth(page: Page) -> None:
    small, large = (page.get(name, DATA) for name in DATA_GROWTH)
    if not small or not large:
        return
    rows = []
    for what, name, most in (
        ("CPU s", "cpu", MOST_DATA_GROWTH),
        ("driver MB", "driver_mb", MOST_DRIVER_GROWTH),
    ):
        ratio = large[name] / small[name]
        cells = [what, *map(figure, (small[name], large[name], ratio))]
        rows.append([*cells, *page.floor(ratio, "≤", most)])
    page.table(
        "Five times the data",
        f"CPU time of the Spark processes, and peak memory of the driver's Python, for {large['rows']:,} "
        f"pairs in Parquet over {small['rows']:,}, with five times the names.",
        ["", "before", "after", "ratio", *FLOOR],
        rows,
    )
