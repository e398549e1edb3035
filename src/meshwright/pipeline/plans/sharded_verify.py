"""Verifying a plan on a cluster, sharded by topic: `meshwright.verify` checks, this file moves the data.

A shard has all subscriptions of its topics and sees all edges, so no topic is expanded into pairs, however
many subscribers it has. The findings of the shards add up on executors: the driver receives counts, and the
first of the topics and links that are not as they should be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrays import Ids
from meshwright.costs.link_costs import LinkCosts
from meshwright.errors import first_five
from meshwright.files.header import damaged
from meshwright.measure.connectivity import Components, Degrees, WeakTopics
from meshwright.overlay import Overlay
from meshwright.pipeline.dataflow import Batches, cell_array, make_batch, rows_by
from meshwright.pipeline.dataset.subscriptions import Subscriptions, from_interest, subscriptions
from meshwright.pipeline.dataset.write import id_ranges
from meshwright.pipeline.plans.links import Links, count_degrees, read_links, send_links
from meshwright.pipeline.session.jobs import report_stages, spark_errors, tasks_at_once
from meshwright.progress import Progress
from meshwright.store.interest_files import load_interest
from meshwright.store.plan_check import CheckedTables, read_claims, rederive_groups
from meshwright.store.plans import open_plan
from meshwright.verify import PlanReport
from meshwright.verify.claims import compare_with_claims, required_k
from meshwright.verify.overlay_check import (
    ClusterVerification,
    Outline,
    ShardTask,
    connected_share,
    examine_shard,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARD_SUBSCRIPTIONS = 20_000_000
"""A shard has about this many subscriptions at most, so that executors need not be large."""


def verify_on_cluster(
    spark: SparkSession | None,
    path: str | Path,
    source: str | Path | Subscriptions,
    *,
    k: int | None = None,
    costs: LinkCosts | None = None,
    progress: Progress | None = None,
) -> PlanReport:
    """Recompute what a stored plan states, as `verify_stored_plan` does, on a cluster.

    Plan and dataset must be where the workers can read them. Their names, links and subscriptions do not come
    into this process, unless there are costs or the source is a file. The prices and the trees of a plan are
    not checked here; the report lists them as unchecked. The groups of a plan of MQTT filters are derived in
    this process, which needs all filters for that; executors then verify the groups.

    Raises
    ------
    InputError
        If nothing is there, or the plan was made for another dataset or with other costs, or k is neither 1
        nor 2.
    FormatError
        If plan or dataset is something else, or damaged.
    ClusterError
        If Spark fails.
    """
    tables = CheckedTables(open_plan(path))
    return tables.judge(_verify_tables(spark, tables, source, k=k, costs=costs, progress=progress))


def _verify_tables(
    spark: SparkSession | None,
    tables: CheckedTables,
    source: str | Path | Subscriptions,
    *,
    k: int | None,
    costs: LinkCosts | None,
    progress: Progress | None,
) -> PlanReport:
    """Recompute what a plan states from its tables as they are."""
    stored = tables.stored
    claims = read_claims(stored)
    wanted = required_k(claims, k)
    with spark_errors():
        given = subscriptions(spark, source) if isinstance(source, (str, Path)) else source
        if stored.choice is not None:
            given = _derived_groups(spark, tables, given)
            overlay = stored.overlay_over(given.names)
            found, weak = examine_on_cluster(spark, overlay, given, weak=wanted == 2, progress=progress)
            return compare_with_claims(claims, overlay, found, k=wanted, weak=weak, costs=costs, proofs=None)
        if spark is None or costs is not None or given.folder is None:
            overlay = stored.overlay_on(given.names)
            found, weak = examine_on_cluster(spark, overlay, given, weak=wanted == 2, progress=progress)
            return compare_with_claims(claims, overlay, found, k=wanted, weak=weak, costs=costs, proofs=None)
        stored.check_dataset(given)
        links = read_links(spark, stored, given)
        try:
            found, weak = examine_links(spark, links, given, weak=wanted == 2, progress=progress)
        finally:
            links.flow.release()
    sizes = given.counts["nodes"], given.counts["topics"], links.count
    outline = Outline(*sizes, given.name_nodes, given.name_topics)
    return compare_with_claims(claims, outline, found, k=wanted, weak=weak, costs=None, proofs=None)


def _derived_groups(spark: SparkSession | None, tables: CheckedTables, given: Subscriptions) -> Subscriptions:
    """Return the interest in groups of filters, derived again; note how the plan's own tables differ."""
    if given.interest is not None:
        interest = given.interest
    else:
        assert given.folder is not None
        interest = load_interest(given.folder)
    tables.stored.check_dataset(interest)
    return from_interest(spark, rederive_groups(tables, interest))


def examine_on_cluster(
    spark: SparkSession | None,
    overlay: Overlay,
    given: Subscriptions,
    *,
    weak: bool = False,
    progress: Progress | None = None,
) -> tuple[ClusterVerification, WeakTopics | None]:
    """Verify an overlay that is in this process; return the findings, and its weak topics if `weak`."""
    return examine_links(spark, send_links(spark, overlay), given, weak=weak, progress=progress)


def examine_links(
    spark: SparkSession | None,
    links: Links,
    given: Subscriptions,
    *,
    weak: bool = False,
    progress: Progress | None = None,
) -> tuple[ClusterVerification, WeakTopics | None]:
    """Verify links; return the findings, and the weak topics if `weak`."""
    nodes, topics = given.counts["nodes"], given.counts["topics"]
    cores = tasks_at_once(spark)
    shards = max(cores, -(-given.count // SHARD_SUBSCRIPTIONS))
    sent = given.packed(shards).union(links.flow.map(partial(copy_links, shards), SHARD_LINKS))
    examine = partial(examine_packed, nodes, topics, weak, shards)
    examined = sent.exchange(shards, "shard", "first").map(examine, FINDINGS).keep()
    slots = max(-(-links.count // EDGES_IN_A_SLOT), 1)
    gains = examined.select("slot", "gains", having="gains").union(
        links.flow.map(partial(cut_stated, EDGES_IN_A_SLOT), STATED)
    )
    compared = gains.exchange(slots, "slot").map(partial(compare_gains, EDGES_IN_A_SLOT), GAINS)
    with report_stages(spark, f"verifying {topics:,} topics", progress, amount=given.count):
        try:
            rows = examined.select("shard", *COUNTS, *LISTS, having="shard").collect()
            edges = compared.collect()
            degrees = count_degrees(links, nodes)
        finally:
            examined.release()
    if degrees.twice:
        raise damaged(Path("the plan"), f"edges {first_five(degrees.twice)} appear more than once")
    _require_stated_subscriptions(given, rows)
    total, standing, splits = (sum(row[name] for row in rows) for name in ("components", "topics", "splits"))
    merges = sum(row.merges for row in edges)
    wrong = np.sort(_joined(row.wrong for row in edges))
    empty: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    found = ClusterVerification(
        components=Components(empty, total),
        support=connected_share(total, merges, standing),
        degrees=Degrees(2 * links.count / nodes if nodes else 0.0, degrees.maximum, empty, empty),
        wrong_contributions=wrong,
        first_split=np.sort(_joined(row.split for row in rows))[:LISTED],
        splits=splits,
    )
    return found, _merge_weak(rows) if weak else None


def _joined(cells: Iterable[Any]) -> NDArray[np.int64]:
    """Return the numbers in binary cells, one after the other."""
    return np.concatenate([np.zeros(0, np.int64), *(np.frombuffer(cell, "<i8") for cell in cells)])


@dataclass(frozen=True, eq=False)
class FirstWeakTopics(WeakTopics):
    """The first topics that are not 2-connected, and how many there are."""

    count: int

    def __len__(self) -> int:
        return self.count


def _merge_weak(rows: Sequence[Any]) -> WeakTopics:
    topics, nodes = (_joined(row[name] for row in rows) for name in ("weak_topics", "weak_nodes"))
    order = np.argsort(topics)[:LISTED]
    return FirstWeakTopics(topics[order], nodes[order], sum(row.weak for row in rows))


def _require_stated_subscriptions(given: Subscriptions, rows: Sequence[Any]) -> None:
    """Reject subscriptions that are not those that the dataset's manifest counts."""
    found, repeated, outside = (sum(row[name] for row in rows) for name in COUNTS[:3])
    if outside or repeated or found != given.count:
        raise damaged(
            Path("the dataset"),
            f"{found} subscriptions, {repeated} repeated and {outside} of unknown nodes or topics, where "
            f"{given.count} are stated",
        )


EDGES_IN_A_SLOT = 1 << 20
"""One task adds up what this many edges merge."""
LISTED = 1000
"""A shard lists this many of the topics that are not as they should be, and counts the others."""
COUNTS = ("subscriptions", "repeated", "outside", "components", "topics", "splits", "weak")
LISTS = ("split", "weak_topics", "weak_nodes")
SHARD_LINKS = "shard int, first long, u binary, v binary"
FINDINGS = ", ".join(
    [
        "shard int",
        *(f"{name} long" for name in COUNTS),
        *(f"{name} binary" for name in LISTS),
        "slot int",
        "gains binary",
    ]
)
"""For each shard one row with its counts and topics, and one row for each range of edges with its gains."""
STATED = "slot int, at long, stated binary"
GAINS = "merges long, wrong binary"


def copy_links(shards: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Send all links to every shard: any of them may join subscribers of its topics."""
    for batch in batches:
        for row in range(batch.num_rows):
            first = batch.column("first")[row].as_py()
            u, v = (cell_array(batch.column(name)[row], "<i4") for name in ("u", "v"))
            for shard in range(shards):
                yield make_batch(SHARD_LINKS, shard=[shard], first=[first], u=[u], v=[v])


def examine_packed(
    nodes: int, topics: int, weak: bool, shards: int, batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Verify one shard: count its topics, and list those that are not in exactly one piece."""
    for rows in rows_by(batches, "shard"):
        pairs = [row for row in rows if row["nodes"].is_valid]
        links = [row for row in rows if row["u"].is_valid]
        node, topic = (_column(pairs, name) for name in ("nodes", "topics"))
        u, v = (_column(links, name) for name in ("u", "v"))
        shard = rows[0]["shard"].as_py()
        del rows, pairs, links
        found = examine_shard(ShardTask(u, v, nodes, topics, weak), node, topic)
        split = found.topics[found.components > 1]
        counts = {name: [getattr(found, name)] for name in ("subscriptions", "repeated", "outside")}
        yield make_batch(
            FINDINGS,
            shard=[shard],
            **counts,
            components=[int(found.components.sum())],
            topics=[len(found.topics)],
            splits=[len(split)],
            weak=[len(found.weak_topics)],
            split=[split[:LISTED].astype("<i8")],
            weak_topics=[found.weak_topics[:LISTED].astype("<i8")],
            weak_nodes=[found.weak_nodes[:LISTED].astype("<i8")],
        )
        for slot in range(-(-len(found.gains) // EDGES_IN_A_SLOT)):
            gains = found.gains[slot * EDGES_IN_A_SLOT : (slot + 1) * EDGES_IN_A_SLOT]
            yield make_batch(FINDINGS, slot=[slot], gains=[gains.astype("<i4")])


def _column(rows: Sequence[Any], name: str) -> Ids:
    return np.concatenate([np.zeros(0, "<i4"), *(cell_array(row[name], "<i4") for row in rows)])


def cut_stated(width: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Cut what links state to merge at the ranges of ranks."""
    for batch in batches:
        for first, cell in zip(batch.column("first").to_pylist(), batch.column("stated"), strict=True):
            stated = cell_array(cell, "<i4")
            for begin, end in id_ranges(first, first + len(stated), width):
                slot = begin // width
                piece = stated[begin - first : end - first]
                yield make_batch(STATED, slot=[slot], at=[begin - slot * width], stated=[piece])


def compare_gains(width: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Add up what the edges of a range merge in all shards, and find those that state something else."""
    for rows in rows_by(batches, "slot"):
        total, stated = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
        for row in rows:
            if row["gains"].is_valid:
                gains = cell_array(row["gains"], "<i4")
                total[: len(gains)] += gains
            else:
                some = cell_array(row["stated"], "<i4")
                stated[row["at"].as_py() :][: len(some)] = some
        wrong = rows[0]["slot"].as_py() * width + np.flatnonzero(total != stated)
        yield make_batch(GAINS, merges=[int(total.sum())], wrong=[wrong[:LISTED].astype("<i8")])
