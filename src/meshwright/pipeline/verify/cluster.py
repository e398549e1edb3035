"""Verifying a plan on a cluster, sharded by topic.

A shard has all subscriptions of its topics and sees all edges, so no topic is expanded into pairs, however
many subscribers it has. What the shards find adds up.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.files.header import damaged
from meshwright.pipeline.dataset.subscriptions import subscriptions
from meshwright.pipeline.session.cluster import through_connect
from meshwright.pipeline.session.failures import spark_errors
from meshwright.pipeline.session.stages import report_stages
from meshwright.pipeline.verify.shard import COUNTS, SCHEMA, examine_packed, unpack
from meshwright.store.plan_check import read_claims
from meshwright.store.plans import read_plan
from meshwright.verify.claims import compare_with_claims, required_k
from meshwright.verify.overlay_check import ShardTask, merge_shards

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from meshwright.costs.link_costs import LinkCosts
    from meshwright.measure import WeakTopics
    from meshwright.overlay import Overlay
    from meshwright.pipeline.dataset.subscriptions import Subscriptions
    from meshwright.progress import Progress
    from meshwright.verify import PlanReport, Verification

SHARD_SUBSCRIPTIONS = 20_000_000
"""A shard has about this many subscriptions at most, so that executors need not be large."""


def verify_on_cluster(
    spark: SparkSession,
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
    spark: SparkSession,
    overlay: Overlay,
    given: Subscriptions,
    *,
    weak: bool = False,
    progress: Progress | None = None,
) -> tuple[Verification, WeakTopics | None]:
    """Return what is true of an overlay, and its weak topics if `weak`."""
    names = given.names
    shards = max(tasks_at_once(spark), -(-given.count // SHARD_SUBSCRIPTIONS))
    task = ShardTask(overlay.u, overlay.v, names.num_nodes, names.num_topics, weak)
    packed = given.packed(shards).repartitionById(shards, "shard")
    examined = packed.mapInArrow(partial(examine_packed, task), SCHEMA)
    with report_stages(spark, f"verifying {names.num_topics:,} topics", progress):
        answers = examined.toArrow()
    _require_stated_subscriptions(given, answers)
    found, weak_topics = merge_shards(overlay, unpack(answers, len(overlay)))
    return found, weak_topics if weak else None


def tasks_at_once(spark: SparkSession) -> int:
    """Return how many tasks the cluster runs at once, as far as it says."""
    from pyspark.sql import functions

    if not through_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    # A Spark Connect service does not say, but it cuts a range into that many partitions by default.
    numbered = spark.range(1024).select(functions.spark_partition_id().alias("partition"))
    [row] = numbered.agg(functions.max("partition")).collect()
    return int(row[0]) + 1


def _require_stated_subscriptions(given: Subscriptions, answers: pa.Table) -> None:
    """Reject subscriptions that are not those that the dataset's manifest counts."""
    import pyarrow.compute as pc

    found, repeated, outside = (pc.sum(answers.column(name)).as_py() or 0 for name in COUNTS)
    if outside or repeated or found != given.count:
        raise damaged(
            Path("the dataset"),
            f"{found} subscriptions, {repeated} repeated and {outside} of unknown nodes or topics, where "
            f"{given.count} are stated",
        )
