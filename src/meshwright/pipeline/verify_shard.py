"""One shard of a verification, on an executor: all subscriptions of some topics against all edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meshwright.interest import Interest, frozen

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from meshwright.interest import Ids

COLUMNS = ("topics", "subscribers", "components", "gains", "weak_topics", "weak_nodes")
SCHEMA = "subscriptions long, repeated long, outside long, " + ", ".join(f"{name} binary" for name in COLUMNS)


class Question(NamedTuple):
    """What every shard is asked: the edges in order, the sizes, and whether weak topics are looked for."""

    u: Ids
    v: Ids
    nodes: int
    topics: int
    weak: bool


def answer(question: Question, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Verify the topics whose subscriptions come; all of a topic's must come to the same shard."""
    import pyarrow as pa

    held = list(batches)
    if not held:
        return
    node, topic = (np.concatenate([batch.column(i).to_numpy() for batch in held]) for i in (0, 1))
    del held
    found = examine(question, node, topic)
    counts = {
        name: pa.array([found.pop(name)], pa.int64()) for name in ("subscriptions", "repeated", "outside")
    }
    yield pa.record_batch(counts | {name: pa.array([found[name].tobytes()], pa.binary()) for name in COLUMNS})


def examine(question: Question, node: Ids, topic: Ids) -> dict[str, Any]:
    """Return what is true of some topics: components, what each edge merges in them, and which are weak."""
    from meshwright.pipeline.kernels.joining import join

    inside = (node >= 0) & (node < question.nodes) & (topic >= 0) & (topic < question.topics)
    outside = int(len(inside) - inside.sum())
    if outside:
        node, topic = node[inside], topic[inside]
    present, local = np.unique(topic, return_inverse=True)
    interest = Interest.from_ids(_nameless(question.nodes), _nameless(len(present)), node, local)
    gains, merged = join(
        frozen(interest.node_ptr, np.int64),
        frozen(interest.node_topics, np.int32),
        len(present),
        frozen(question.u, np.int32),
        frozen(question.v, np.int32),
    )
    subscribers = np.bincount(interest.node_topics, minlength=len(present))
    weak = _weak(question, interest) if question.weak else (np.zeros(0, dtype=np.int64),) * 2
    return {
        "subscriptions": interest.num_subscriptions,
        "repeated": interest.duplicates,
        "outside": outside,
        "topics": present.astype(np.int32),
        "subscribers": subscribers.astype(np.int32),
        "components": (subscribers - merged).astype(np.int32),
        "gains": gains.astype(np.min_scalar_type(int(gains.max(initial=0)))),  # most are small
        "weak_topics": present[weak[0]].astype(np.int32),
        "weak_nodes": weak[1].astype(np.int32),
    }


def _weak(question: Question, interest: Interest) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    from meshwright.measure import weak_topics
    from meshwright.overlay import Overlay

    found = weak_topics(Overlay(interest, question.u, question.v, np.zeros(len(question.u), dtype=np.int32)))
    return found.topics, found.nodes


def _nameless(count: int) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(count)
