"""One shard of a verification, on an executor: all subscriptions of some topics against all edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meshwright.arrays import frozen
from meshwright.interest import Interest

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from meshwright.arrays import Ids

COUNTS = ("subscriptions", "repeated", "outside")
COLUMNS = ("topics", "components", "gains", "weak_topics", "weak_nodes")
SCHEMA = ", ".join([f"{name} long" for name in COUNTS] + [f"{name} binary" for name in COLUMNS])


class Question(NamedTuple):
    """What every shard is asked: the edges in order, the sizes, and whether weak topics are looked for."""

    u: Ids
    v: Ids
    nodes: int
    topics: int
    weak: bool


def answer(question: Question, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Verify one shard, whose subscriptions come packed."""
    import pyarrow as pa

    packed = [record for batch in batches for record in batch.to_pylist()]
    if not packed:
        return
    pieces = [
        tuple(np.frombuffer(record[name], np.int32) for name in ("nodes", "topics")) for record in packed
    ]
    pieces.sort(
        key=lambda piece: int(piece[0][0]) if len(piece[0]) else -1
    )  # as they were before the shuffle
    node, topic = (np.concatenate(column) for column in zip(*pieces, strict=True))
    del packed, pieces
    found = examine(question, node, topic)
    counts = {name: pa.array([found.pop(name)], pa.int64()) for name in COUNTS}
    yield pa.record_batch(counts | {name: pa.array([found[name].tobytes()], pa.binary()) for name in COLUMNS})


def examine(question: Question, node: Ids, topic: Ids) -> dict[str, Any]:
    """Return what is true of some topics: components, what each edge merges in them, and which are weak."""
    from meshwright.verify.kernels import join

    inside = (node >= 0) & (node < question.nodes) & (topic >= 0) & (topic < question.topics)
    outside = int(len(inside) - inside.sum())
    if outside:
        node, topic = node[inside], topic[inside]
    subscribers = np.bincount(topic, minlength=question.topics)
    present = np.flatnonzero(subscribers)
    local = (np.cumsum(subscribers > 0, dtype=np.int32) - 1)[topic]  # topics of this shard, numbered from 0
    interest = _interest(question.nodes, len(present), node, local)
    gains, merged = join(
        frozen(interest.node_ptr, np.int64),
        frozen(interest.node_topics, np.int32),
        len(present),
        frozen(question.u, np.int32),
        frozen(question.v, np.int32),
    )
    if interest.duplicates:
        subscribers = np.bincount(present[interest.node_topics], minlength=question.topics)
    weak = _weak(question, interest) if question.weak else (np.zeros(0, dtype=np.int64),) * 2
    return {
        "subscriptions": interest.num_subscriptions,
        "repeated": interest.duplicates,
        "outside": outside,
        "topics": present.astype(np.int32),
        "components": (subscribers[present] - merged).astype(np.int32),
        "gains": gains.astype(np.min_scalar_type(int(gains.max(initial=0)))),  # most are small
        "weak_topics": present[weak[0]].astype(np.int32),
        "weak_nodes": weak[1].astype(np.int32),
    }


def _interest(nodes: int, topics: int, node: Ids, topic: Ids) -> Interest:
    """Return the interest of these pairs; if they come in order, as from a dataset, nothing is sorted."""
    rising = (node[1:] > node[:-1]) | ((node[1:] == node[:-1]) & (topic[1:] > topic[:-1]))
    if not rising.all():
        return Interest.from_ids(_nameless(nodes), _nameless(topics), node, topic)
    node_ptr = np.concatenate(([0], np.cumsum(np.bincount(node, minlength=nodes))))
    return Interest(_nameless(nodes), _nameless(topics), node_ptr, topic)


def _weak(question: Question, interest: Interest) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    from meshwright.measure import weak_topics
    from meshwright.overlay import Overlay

    found = weak_topics(Overlay(interest, question.u, question.v, np.zeros(len(question.u), dtype=np.int32)))
    return found.topics, found.nodes


def _nameless(count: int) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(count)
