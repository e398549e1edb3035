"""Verifying a plan on a cluster: components of every topic on executors, sharded by topic.

A shard has all subscriptions of its topics and sees all edges, so nothing is exploded into pairs, however
many subscribers a topic has. What edges contribute adds up over the shards.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from meshwright import measure
from meshwright.files.header import damaged
from meshwright.measure.connectivity import Components
from meshwright.pipeline.dataset.subscriptions import subscriptions
from meshwright.pipeline.session.cluster import through_connect
from meshwright.pipeline.session.failures import telling
from meshwright.pipeline.session.stages import watching
from meshwright.pipeline.verify.shard import COUNTS, SCHEMA, Question, answer
from meshwright.store.plans import read_plan
from meshwright.verify.plan import judge, wanted_k

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from meshwright.costs.link_costs import LinkCosts
    from meshwright.overlay import Overlay
    from meshwright.pipeline.dataset.subscriptions import Subscriptions
    from meshwright.pipeline.session.stages import Progress
    from meshwright.verify.plan import PlanReport

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
    """Recompute everything that a stored plan states, as `verify_plan` does, on a cluster.

    A dataset folder must be where the workers can read it; its subscriptions do not come into this process.
    Therefore the prices of a certified plan are not added up: `verify_plan` does that.

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
    wanted = wanted_k(stored, k)
    with telling():
        asked = subscriptions(spark, source) if isinstance(source, (str, Path)) else source
        overlay = stored.overlay_on(asked.names)
        found, wrong, weak = examine_on_cluster(spark, overlay, asked, weak=wanted == 2, progress=progress)
    return judge(stored, overlay, found, wrong, k=wanted, weak=weak, costs=costs, certificate_of=None)


def examine_on_cluster(
    spark: SparkSession,
    overlay: Overlay,
    asked: Subscriptions,
    *,
    weak: bool = False,
    progress: Progress | None = None,
) -> tuple[measure.Verification, NDArray[np.int64], measure.WeakTopics | None]:
    """Return what is true of an overlay, which edges state a wrong contribution, and weak topics."""
    names = asked.names
    shards = max(tasks_at_once(spark), -(-asked.count // SHARD_SUBSCRIPTIONS))
    question = Question(overlay.u, overlay.v, names.num_nodes, names.num_topics, weak)
    packed = asked.packed(shards).repartitionById(shards, "shard")
    dealt = packed.mapInArrow(partial(answer, question), SCHEMA)
    with watching(spark, f"verifying {names.num_topics:,} topics", progress):
        told = dealt.toArrow()
    _check(asked, told)
    of_topic = np.zeros(names.num_topics, dtype=np.int64)
    of_topic[_joined(told, "topics")] = _joined(told, "components")
    mergeable = asked.count - int(np.count_nonzero(of_topic))
    gained = np.zeros(len(overlay), dtype=np.int32)
    for blob in told.column("gains").to_pylist():
        gained += np.frombuffer(blob, f"u{len(blob) // max(len(overlay), 1) or 1}")
    wrong = np.flatnonzero(gained != overlay.contribution)
    found = measure.Verification(
        split_topics=np.flatnonzero(of_topic > 1),
        components=Components(of_topic, int(of_topic.sum())),
        support=(asked.count - int(of_topic.sum())) / mergeable if mergeable else 1.0,
        degrees=measure.degrees(overlay),
        contributions_agree=not len(wrong),
    )
    topics = _joined(told, "weak_topics")
    order = np.argsort(topics)
    return (
        found,
        wrong,
        measure.WeakTopics(topics[order], _joined(told, "weak_nodes")[order]) if weak else None,
    )


def tasks_at_once(spark: SparkSession) -> int:
    """Return how many tasks the cluster runs at once, as far as it says."""
    from pyspark.sql import functions

    if not through_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    # A service does not say; but a range is cut into as many, unless told.
    numbered = spark.range(1024).select(functions.spark_partition_id().alias("partition"))
    [row] = numbered.agg(functions.max("partition")).collect()
    return int(row[0]) + 1


def _joined(told: pa.Table, column: str) -> NDArray[np.int64]:
    return np.frombuffer(b"".join(told.column(column).to_pylist()), np.int32).astype(np.int64)


def _check(asked: Subscriptions, told: pa.Table) -> None:
    """Refuse subscriptions that are not those which the manifest counted."""
    import pyarrow.compute as pc

    found, repeated, outside = (pc.sum(told.column(name)).as_py() or 0 for name in COUNTS)
    if outside or repeated or found != asked.count:
        raise damaged(
            Path("the dataset"),
            f"{found} subscriptions, {repeated} repeated and {outside} of unknown nodes or topics, where "
            f"{asked.count} are stated",
        )
