"""Encoding and profiling on Spark beside DuckDB, which does the same work, on the same two cores.

The session is started before anything is timed, and its workers are warm.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import memory, note_wall, peak_memory
from meshwright.interest import Interest
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.dataset.profile import HOT_TOPICS, SAMPLED_NODES, Distribution, Profile, profile
from meshwright.pipeline.dataset.subscriptions import subscriptions
from meshwright.pipeline.session.session import session
from meshwright.store import read_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"


def measure_data(interest: Interest, small: Interest) -> dict[str, Any]:
    """Return wall seconds of Spark and of DuckDB, and Spark's CPU seconds; the answers must be the same."""
    spark = session(MASTER)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _compare(spark, small, place / "small", {})
        record: dict[str, Any] = {"rows": interest.num_subscriptions}
        _compare(spark, interest, place / "large", record)
    record["driver_mb"] = peak_memory()
    java = _java()
    record["java_mb"] = None if java is None else memory("VmHWM", java)
    return record


def _compare(spark: SparkSession, interest: Interest, place: Path, record: dict[str, Any]) -> None:
    place.mkdir()
    file = place / "pairs.parquet"
    order = np.random.Generator(np.random.PCG64(1)).permutation(interest.num_subscriptions)
    pq.write_table(interest.canonical().to_arrow().take(pa.array(order)), file, row_group_size=1 << 20)
    before = _cpu()
    note_wall(record, "encode", lambda: ingest(spark, [file], place / "dataset"))
    record["cpu"] = _cpu() - before
    note_wall(record, "duckdb_encode", lambda: _encode(file, place / "duckdb"))
    read = read_dataset(place / "dataset")
    _check_same(read, place / "duckdb")
    stored = place / "dataset" / "subscriptions" / "part-00000.parquet"
    made = note_wall(record, "profile", lambda: profile(subscriptions(spark, place / "dataset")))
    figures = note_wall(record, "duckdb_profile", lambda: _profile(stored, read.num_nodes))
    _check_profile(made, figures, read)
    shutil.rmtree(place)


def _check_same(read: Interest, place: Path) -> None:
    """Look that DuckDB gave the same ids and names."""
    found = pq.read_table(place / "subscriptions.parquet")
    nodes, topics = (pq.read_table(place / f"{kind}s.parquet").column("name") for kind in ("node", "topic"))
    if not (
        np.array_equal(found.column("node").to_numpy(), read.node_of_slot)
        and np.array_equal(found.column("topic").to_numpy(), read.node_topics)
        and nodes.to_pylist() == read.node_names.to_pylist()
        and topics.to_pylist() == read.topic_names.to_pylist()
    ):
        raise AssertionError("Spark encoded otherwise than DuckDB")


def _check_profile(made: Profile, figures: dict[str, Any], read: Interest) -> None:
    """Look that DuckDB found the same distributions, hot topics and pairs with something in common."""
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
        "sizes": _counted(made.sizes),
        "popularity": _counted(made.popularity),
        "hot": made.hot,
        "related": made.related,
        "shared": made.shared,
    }
    differing = [name for name in expected if found[name] != expected[name]]
    if differing:
        raise AssertionError(f"Spark profiled otherwise than DuckDB: {', '.join(differing)}")


def _counted(distribution: Distribution) -> list[tuple[int, int]]:
    return list(zip(distribution.values.tolist(), distribution.counts.tolist(), strict=True))


def _encode(file: Path, place: Path) -> None:
    """Do in DuckDB what `ingest` does: distinct pairs, names sorted and numbered, ids sorted, all written."""
    place.mkdir()
    with duckdb.connect(config={"threads": 2}) as base:
        base.execute("create table pairs as select distinct node, topic from read_parquet(?)", [str(file)])
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


def _profile(file: Path, nodes: int) -> dict[str, Any]:
    """Do in DuckDB what `profile` does: both distributions, hot topics, what sampled nodes have in common."""
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


def _family() -> list[int]:
    """Return this process and all that descend from it."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(status.parent.name)] = int(fields[1])
    found = [os.getpid()]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def _cpu() -> float:
    """Return the CPU seconds of this process and of all that descend from it, ended ones included."""
    ticks = 0
    for process in _family():
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _java() -> int | None:
    """Return Spark's Java."""
    for process in _family():
        try:
            if Path(f"/proc/{process}/comm").read_text().strip() == "java":
                return process
        except OSError:
            continue
    return None
