"""Verifying a plan on a cluster, sharded by topic: `meshwright.verify` checks, this file moves the data.

A shard has all subscriptions of its topics and sees all edges, so no topic is expanded into pairs, however
many subscribers it has. The findings of the shards add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.files.header import damaged
from meshwright.pipeline.dataset.subscriptions import subscriptions
from meshwright.pipeline.session.cluster import tasks_at_once
from meshwright.pipeline.session.failures import spark_errors
from meshwright.pipeline.session.stages import report_stages
from meshwright.store.plan_check import read_claims
from meshwright.store.plans import read_plan
from meshwright.verify.claims import compare_with_claims, required_k
from meshwright.verify.overlay_check import ShardFindings, ShardTask, examine_shard, merge_shards

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
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
    """Verify an overlay; return the findings, and its weak topics if `weak`."""
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


COUNTS = ("subscriptions", "repeated", "outside")
COLUMNS = ("topics", "components", "gains", "weak_topics", "weak_nodes")
SCHEMA = ", ".join([f"{name} long" for name in COUNTS] + [f"{name} binary" for name in COLUMNS])
"""One row for each shard: the fields of `ShardFindings`, arrays as bytes."""


def examine_packed(task: ShardTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Verify one shard on an executor."""
    import pyarrow as pa

    packed = [record for batch in batches for record in batch.to_pylist()]
    if not packed:
        return
    pieces = [
        tuple(np.frombuffer(record[name], np.int32) for name in ("nodes", "topics")) for record in packed
    ]
    # Restore the order that the shuffle has lost: pairs in order need not be sorted.
    pieces.sort(key=lambda piece: int(piece[0][0]) if len(piece[0]) else -1)
    node, topic = (np.concatenate(column) for column in zip(*pieces, strict=True))
    del packed, pieces
    found = examine_shard(task, node, topic)
    counts = {name: pa.array([getattr(found, name)], pa.int64()) for name in COUNTS}
    columns = {name: pa.array([_narrow(found, name).tobytes()], pa.binary()) for name in COLUMNS}
    yield pa.record_batch(counts | columns)


def _narrow(found: ShardFindings, column: str) -> NDArray[Any]:
    """Return an array of the findings; gains, one for each edge, in the fewest bytes, as most are small."""
    values: NDArray[Any] = getattr(found, column)
    return values.astype(np.min_scalar_type(int(values.max(initial=0)))) if column == "gains" else values


def unpack(answers: pa.Table, edges: int) -> Iterator[ShardFindings]:
    """Yield the findings of each shard."""
    for row in answers.to_pylist():
        width = len(row["gains"]) // edges if edges else 1
        fields = {name: row[name] for name in COUNTS}
        for name in COLUMNS:
            fields[name] = np.frombuffer(row[name], f"u{width}" if name == "gains" else np.int32)
        yield ShardFindings(**fields)
