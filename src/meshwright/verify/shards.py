"""Verification in shards: each has all subscriptions of some topics and all edges; their findings add up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from meshwright.interest import Interest
from meshwright.measure.connectivity import WeakTopics, weak_topics
from meshwright.overlay import Overlay
from meshwright.verify.overlay import conclude, join_topics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.verify.overlay import Verification


class ShardTask(NamedTuple):
    """What every shard is given next to its subscriptions."""

    u: Ids
    """The edges' lower ends, in order."""
    v: Ids
    """Their upper ends."""
    nodes: int
    """How many nodes there are."""
    topics: int
    """How many topics there are, in all shards together."""
    weak: bool
    """Whether to look for topics that the failure of one node splits."""


class ShardFindings(NamedTuple):
    """What is true of the topics of one shard."""

    subscriptions: int
    """How many distinct subscriptions it has."""
    repeated: int
    """How many rows repeat a subscription."""
    outside: int
    """How many rows name a node or topic that does not exist."""
    topics: NDArray[np.int32]
    """The topics that it has, ascending."""
    components: NDArray[np.int32]
    """By entry of `topics`: its components."""
    gains: Ids
    """By edge: the topics of this shard of which it merges two components."""
    weak_topics: NDArray[np.int32]
    """The weak topics, ascending; empty if nobody asked."""
    weak_nodes: NDArray[np.int32]
    """By entry of `weak_topics`: a node whose failure splits it, or −1 if it is split already."""


def examine_shard(task: ShardTask, node: Ids, topic: Ids) -> ShardFindings:
    """Find what is true of some topics, given the pairs of node and topic that subscribe, in any order."""
    inside = (node >= 0) & (node < task.nodes) & (topic >= 0) & (topic < task.topics)
    outside = len(inside) - int(np.count_nonzero(inside))
    if outside:
        node, topic = node[inside], topic[inside]
    present = np.flatnonzero(np.bincount(topic, minlength=task.topics))
    # Number the topics of this shard from 0, so that its arrays are as small as it is.
    number = np.zeros(task.topics, dtype=np.int32)
    number[present] = np.arange(len(present), dtype=np.int32)
    interest = _interest_of_pairs(task.nodes, len(present), node, number[topic])
    gains, merged = join_topics(interest, task.u, task.v)
    subscribers = np.bincount(interest.node_topics, minlength=len(present))
    weak = WeakTopics(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    if task.weak:
        weak = weak_topics(Overlay(interest, task.u, task.v, gains))
    return ShardFindings(
        subscriptions=interest.num_subscriptions,
        repeated=interest.duplicates,
        outside=outside,
        topics=present.astype(np.int32),
        components=(subscribers - merged).astype(np.int32),
        gains=gains,
        weak_topics=present[weak.topics].astype(np.int32),
        weak_nodes=weak.nodes.astype(np.int32),
    )


def merge_shards(overlay: Overlay, shards: Iterable[ShardFindings]) -> tuple[Verification, WeakTopics]:
    """Add up what the shards found; together they have every topic of the overlay's interest once."""
    of_topic = np.zeros(overlay.interest.num_topics, dtype=np.int64)
    gains = np.zeros(len(overlay), dtype=np.int32)
    topics, nodes = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
    for found in shards:
        of_topic[found.topics] = found.components
        gains += found.gains
        topics.append(found.weak_topics)
        nodes.append(found.weak_nodes)
    weak, cause = np.concatenate(topics).astype(np.int64), np.concatenate(nodes).astype(np.int64)
    order = np.argsort(weak)
    return conclude(overlay, of_topic, gains), WeakTopics(weak[order], cause[order])


def _interest_of_pairs(nodes: int, topics: int, node: Ids, topic: Ids) -> Interest:
    """Return the interest of these pairs; pairs in order, as a dataset has them, are not sorted again."""
    ascending = (node[1:] > node[:-1]) | ((node[1:] == node[:-1]) & (topic[1:] > topic[:-1]))
    if not ascending.all():
        return Interest.from_ids(pa.nulls(nodes), pa.nulls(topics), node, topic)
    node_ptr = np.concatenate(([0], np.cumsum(np.bincount(node, minlength=nodes))))
    return Interest(pa.nulls(nodes), pa.nulls(topics), node_ptr, topic)
