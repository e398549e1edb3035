"""Find what is true of an overlay, from its edges alone: components, support, degrees and contributions.

`verify_overlay` does it in one process. On a cluster, `examine_shard` does it for some of the topics: a shard
has all subscriptions of its topics, and all edges. The findings of the shards add up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrays import Ids, frozen
from meshwright.interest import Interest, unchecked_from_ids, unchecked_interest
from meshwright.measure.connectivity import Components, Degrees, WeakTopics, weak_topics
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.progress import Progress

EDGES_AT_ONCE = 1 << 16
"""How many edges are joined between two calls of `progress`."""


@dataclass(frozen=True, eq=False)
class Verification:
    """What is true of an overlay."""

    components: Components
    """Into how many pieces each topic's subscribers fall."""
    support: float
    """The connected share of all that can be connected, from 0 to 1."""
    degrees: Degrees
    """How many links each node has."""
    wrong_contributions: NDArray[np.int64]
    """The positions of the edges whose contribution is not what the overlay states."""

    @property
    def split_topics(self) -> NDArray[np.int64]:
        """The ids of the topics whose subscribers are in more than one component."""
        return np.flatnonzero(self.components.of_topic > 1)

    @property
    def num_split_topics(self) -> int:
        """The number of topics whose subscribers are in more than one component."""
        return len(self.split_topics)

    @property
    def connected(self) -> bool:
        """Whether every topic is in one piece."""
        return not self.num_split_topics

    @property
    def contributions_agree(self) -> bool:
        """Whether every edge merges what the overlay states, given those before it."""
        return not len(self.wrong_contributions)


@dataclass(frozen=True, eq=False)
class ClusterVerification(Verification):
    """What a cluster finds: totals, and the first of what is wrong; nothing by topic, node or edge."""

    first_split: NDArray[np.int64]
    """The first topics that are split, by their ids."""
    splits: int
    """The number of all topics that are split."""

    @property
    def split_topics(self) -> NDArray[np.int64]:
        """The ids of the first topics that are split."""
        return self.first_split

    @property
    def num_split_topics(self) -> int:
        """The number of all topics that are split."""
        return self.splits


@dataclass(frozen=True)
class Outline:
    """An overlay that is on a cluster: its sizes, and how to ask for a few names."""

    nodes: int
    topics: int
    edges: int
    name_nodes: Callable[[list[int]], list[str]]
    name_topics: Callable[[list[int]], list[str]]

    def __len__(self) -> int:
        return self.edges

    @classmethod
    def of(cls, overlay: Overlay) -> Outline:
        """Return the outline of an overlay that is here."""
        interest = overlay.interest
        return cls(
            interest.num_nodes,
            interest.num_topics,
            len(overlay),
            lambda ids: [str(interest.node_names[each].as_py()) for each in ids],
            lambda ids: [str(interest.topic_names[each].as_py()) for each in ids],
        )


class Joins(NamedTuple):
    """What the edges of an overlay join, in their order."""

    gains: Ids
    """By edge: the topics of which it merges two components. One that merges nothing has 0."""
    merged: Ids
    """By topic: the merges in it. Its components are its subscribers less these."""


def verify_overlay(overlay: Overlay, *, progress: Progress | None = None) -> Verification:
    """Recompute what is true of an overlay, from its edges alone, by a union-find of its own.

    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
    >>> found = verify_overlay(Overlay(interest, np.array([0]), np.array([1]), np.array([1])))
    >>> found.connected, found.split_topics.tolist(), found.support
    (False, [1], 0.5)
    """
    interest = overlay.interest
    joins = join_topics(interest, overlay.u, overlay.v, progress=progress)
    of_topic = np.bincount(interest.node_topics, minlength=interest.num_topics) - joins.merged
    total, merges = int(of_topic.sum()), int(joins.gains.sum(dtype=np.int64))
    nodes = interest.num_nodes
    of_node = np.bincount(np.concatenate((overlay.u, overlay.v)), minlength=nodes)
    return Verification(
        components=Components(of_topic, total),
        support=connected_share(total, merges, int(np.count_nonzero(of_topic))),
        degrees=Degrees(
            average=int(of_node.sum()) / nodes if nodes else 0.0,
            maximum=int(of_node.max(initial=0)),
            of_node=of_node,
            distribution=np.bincount(of_node),
        ),
        wrong_contributions=np.flatnonzero(joins.gains != overlay.contribution),
    )


def join_topics(interest: Interest, u: Ids, v: Ids, *, progress: Progress | None = None) -> Joins:
    """Join the subscribers of every topic along the edges u, v."""
    from meshwright.verify.kernels import join_edges

    parent = np.arange(interest.num_subscriptions, dtype=np.int32)
    gains, merged = np.zeros(len(u), dtype=np.int32), np.zeros(interest.num_topics, dtype=np.int32)
    us, vs = frozen(u, np.int32), frozen(v, np.int32)
    for first in range(0, len(us), EDGES_AT_ONCE):
        some = slice(first, first + EDGES_AT_ONCE)
        join_edges(interest.node_ptr, interest.node_topics, us[some], vs[some], parent, gains[some], merged)
        if progress is not None:
            done = first + len(us[some])
            progress(done, done / len(us), "checked")
    return Joins(gains, merged)


def connected_share(components: int, merges: int, topics: int) -> float:
    """Return the support, from the components of all topics, what edges merge, and topics with subscribers.

    Support is (TCC(∅) − TCC(E)) / (TCC(∅) − TCC(K)), where TCC counts components over all topics, ∅ is the
    overlay without links and K the complete one (icdcs16, section II). Every merge removes one component, and
    K leaves one for each topic that has subscribers. Where there is nothing to merge, the support is 1.
    """
    possible = components + merges - topics
    return merges / possible if possible else 1.0


class ShardTask(NamedTuple):
    """What every shard receives next to its subscriptions."""

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
    """The weak topics, ascending; empty unless requested."""
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
        weak = weak_topics(unchecked_overlay(interest, task.u, task.v, gains))
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


def _interest_of_pairs(nodes: int, topics: int, node: Ids, topic: Ids) -> Interest:
    """Return the interest of some pairs. Pairs in ascending order, as in a dataset, are not sorted again."""
    ascending = (node[1:] > node[:-1]) | ((node[1:] == node[:-1]) & (topic[1:] > topic[:-1]))
    if not ascending.all():
        return unchecked_from_ids(pa.nulls(nodes), pa.nulls(topics), node, topic)
    node_ptr = np.concatenate(([0], np.cumsum(np.bincount(node, minlength=nodes))))
    return unchecked_interest(pa.nulls(nodes), pa.nulls(topics), node_ptr, topic)
