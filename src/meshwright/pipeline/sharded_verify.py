"""Verifying a plan on a cluster, sharded by topic: `meshwright.verify` checks, this file moves the data.

A shard has all subscriptions of its topics and sees all edges, so no topic is expanded into pairs, however
many subscribers it has. The findings of the shards add up on executors: the driver receives counts, and the
topics and links that are not as they should be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.files.header import damaged
from meshwright.measure.connectivity import WeakTopics
from meshwright.pipeline.dataset.subscriptions import group_arrays, subscriptions
from meshwright.pipeline.flow import make_batch
from meshwright.pipeline.session.cluster import tasks_at_once
from meshwright.pipeline.session.failures import spark_errors
from meshwright.pipeline.session.stages import report_stages
from meshwright.store.plan_check import read_claims
from meshwright.store.plans import read_plan
from meshwright.verify.claims import compare_with_claims, required_k
from meshwright.verify.overlay_check import ShardTask, conclude, examine_shard

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from meshwright.arrays import Ids
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.overlay import Overlay
    from meshwright.pipeline.dataset.subscriptions import Subscriptions
    from meshwright.pipeline.flow import Batches
    from meshwright.progress import Progress
    from meshwright.verify import PlanReport, Verification

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

    A dataset folder must be where the workers can read it; its subscriptions do not come into this process.
    So the prices and the trees of a plan are not checked here; the report lists them as unchecked.

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
    stored = read_plan(path)
    claims = read_claims(stored)
    wanted = required_k(claims, k)
    with spark_errors():
        given = subscriptions(spark, source) if isinstance(source, (str, Path)) else source
        overlay = stored.overlay_on(given.names)
        found, weak = examine_on_cluster(spark, overlay, given, weak=wanted == 2, progress=progress)
    return compare_with_claims(claims, overlay, found, k=wanted, weak=weak, costs=costs, proofs=None)


def examine_on_cluster(
    spark: SparkSession | None,
    overlay: Overlay,
    given: Subscriptions,
    *,
    weak: bool = False,
    progress: Progress | None = None,
) -> tuple[Verification, WeakTopics | None]:
    """Verify an overlay; return the findings, and its weak topics if `weak`."""
    names = given.names
    cores = 1 if spark is None else tasks_at_once(spark)
    shards = max(cores, -(-given.count // SHARD_SUBSCRIPTIONS))
    task = ShardTask(overlay.u, overlay.v, names.num_nodes, names.num_topics, weak)
    examined = given.packed(shards).map(partial(examine_packed, task, shards), FINDINGS).keep()
    slots = max(-(-len(overlay) // EDGES_IN_A_SLOT), 1)
    gains = examined.select("slot", "gains", having="gains").exchange(slots, "slot")
    compared = gains.map(partial(compare_gains, overlay.contribution), GAINS)
    with report_stages(spark, f"verifying {names.num_topics:,} topics", progress, amount=given.count):
        try:
            topics = examined.select("shard", *COUNTS, *TOPICS, having="shard").collect()
            edges = compared.collect()
        finally:
            examined.release()
    _require_stated_subscriptions(given, topics)
    of_topic, weak_topics = merge_topics(names.num_topics, shards, topics)
    merges = sum(row.merges for row in edges)
    wrong = [np.frombuffer(row.wrong, "<i8") for row in edges]
    found = conclude(overlay, of_topic, merges, np.sort(np.concatenate([np.zeros(0, np.int64), *wrong])))
    return found, weak_topics if weak else None


def _require_stated_subscriptions(given: Subscriptions, rows: Sequence[Any]) -> None:
    """Reject subscriptions that are not those that the dataset's manifest counts."""
    found, repeated, outside = (sum(row[name] for row in rows) for name in COUNTS)
    if outside or repeated or found != given.count:
        raise damaged(
            Path("the dataset"),
            f"{found} subscriptions, {repeated} repeated and {outside} of unknown nodes or topics, where "
            f"{given.count} are stated",
        )


EDGES_IN_A_SLOT = 1 << 20
"""One task adds up what this many edges merge."""
COUNTS = ("subscriptions", "repeated", "outside")
TOPICS = ("absent", "split", "weak")
FINDINGS = ", ".join(
    [
        "shard int",
        *(f"{name} long" for name in COUNTS),
        *(f"{name} binary" for name in TOPICS),
        "slot int",
        "gains binary",
    ]
)
"""For each shard one row with its counts and topics, and one row for each range of edges with its gains."""
GAINS = "merges long, wrong binary"


def examine_packed(task: ShardTask, shards: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Verify one shard; only topics that are not in exactly one piece are listed."""
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    shard = held[0].column("shard")[0].as_py()
    node, topic = (np.concatenate(column) for column in zip(*group_arrays(iter(held)), strict=True))
    del held
    found = examine_shard(task, node, topic)
    split = found.components != 1
    absent = np.setdiff1d(np.arange(shard, task.topics, shards), found.topics)
    yield make_batch(
        FINDINGS,
        shard=[shard],
        **{name: [getattr(found, name)] for name in COUNTS},
        absent=[absent.astype("<i4")],
        split=[np.stack((found.topics[split], found.components[split])).astype("<i4")],
        weak=[np.stack((found.weak_topics, found.weak_nodes)).astype("<i4")],
    )
    for slot in range(-(-len(found.gains) // EDGES_IN_A_SLOT)):
        gains = found.gains[slot * EDGES_IN_A_SLOT : (slot + 1) * EDGES_IN_A_SLOT]
        yield make_batch(FINDINGS, slot=[slot], gains=[gains.astype("<i4")])


def compare_gains(stated: Ids, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Add up what the edges of a range merge in all shards, and find those that state something else."""
    sums: dict[int, NDArray[np.int64]] = {}
    for batch in batches:
        for slot, cell in zip(batch.column("slot").to_pylist(), batch.column("gains"), strict=True):
            gains = np.frombuffer(cell.as_buffer(), "<i4").astype(np.int64)
            sums[slot] = sums[slot] + gains if slot in sums else gains
    for slot, total in sums.items():
        first = slot * EDGES_IN_A_SLOT
        wrong = first + np.flatnonzero(total != stated[first : first + len(total)])
        yield make_batch(GAINS, merges=[int(total.sum())], wrong=[wrong.astype("<i8")])


def merge_topics(topics: int, shards: int, rows: Sequence[Any]) -> tuple[NDArray[np.int64], WeakTopics]:
    """Return the components of every topic, and the weak topics."""
    of_topic = np.ones(topics, dtype=np.int64)
    for shard in set(range(shards)) - {row.shard for row in rows}:
        of_topic[shard::shards] = 0  # a shard without subscriptions
    weak = [np.zeros((2, 0), dtype="<i4")]
    for row in rows:
        of_topic[np.frombuffer(row.absent, "<i4")] = 0
        split, components = np.frombuffer(row.split, "<i4").reshape(2, -1)
        of_topic[split] = components
        weak.append(np.frombuffer(row.weak, "<i4").reshape(2, -1))
    found, nodes = np.concatenate(weak, axis=1).astype(np.int64)
    order = np.argsort(found)
    return of_topic, WeakTopics(found[order], nodes[order])
