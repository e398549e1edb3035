"""What is true of an overlay: components, support, degrees and contributions, from its edges alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import frozen
from meshwright.measure.adjacency import Degrees
from meshwright.measure.connectivity import Components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.progress import Progress

EDGES_AT_ONCE = 1 << 16
"""How many edges are joined between two calls of `progress`."""


@dataclass(frozen=True, eq=False)
class Verification:
    """What is true of an overlay."""

    components: Components
    """Into how many pieces each topic's subscribers fall."""
    support: float
    """The share of all that can be connected that is connected, from 0 to 1."""
    degrees: Degrees
    """How many links each node has."""
    wrong_contributions: NDArray[np.int64]
    """The positions of the edges whose contribution is not what the overlay states."""

    @property
    def split_topics(self) -> NDArray[np.int64]:
        """The ids of the topics whose subscribers are in more than one component."""
        return np.flatnonzero(self.components.of_topic > 1)

    @property
    def connected(self) -> bool:
        """Whether every topic is in one piece."""
        return not len(self.split_topics)

    @property
    def contributions_agree(self) -> bool:
        """Whether every edge merges what the overlay states, given those before it."""
        return not len(self.wrong_contributions)


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
    subscribers = np.bincount(interest.node_topics, minlength=interest.num_topics)
    return conclude(overlay, subscribers - joins.merged, joins.gains)


def join_topics(interest: Interest, u: Ids, v: Ids, *, progress: Progress | None = None) -> Joins:
    """Join the subscribers of every topic along the edges u, v."""
    from meshwright.verify.kernels import join_edges

    node_ptr, node_topics = frozen(interest.node_ptr, np.int64), frozen(interest.node_topics, np.int32)
    parent = np.arange(interest.num_subscriptions, dtype=np.int32)
    gains, merged = np.zeros(len(u), dtype=np.int32), np.zeros(interest.num_topics, dtype=np.int32)
    us, vs = frozen(u, np.int32), frozen(v, np.int32)
    for first in range(0, len(us), EDGES_AT_ONCE):
        some = slice(first, first + EDGES_AT_ONCE)
        join_edges(node_ptr, node_topics, us[some], vs[some], parent, gains[some], merged)
        if progress is not None:
            done = first + len(us[some])
            progress(done, done / len(us), "checked")
    return Joins(gains, merged)


def conclude(overlay: Overlay, of_topic: NDArray[np.int64], gains: Ids) -> Verification:
    """Say what is true of an overlay, given the components of each topic and what each edge merges.

    Support is (TCC(∅) − TCC(E)) / (TCC(∅) − TCC(K)), where TCC counts components over all topics, ∅ is the
    overlay without links and K the complete one (icdcs16, section II). Every merge removes one component, and
    K leaves one for each topic that has subscribers. Where there is nothing to merge, the support is 1.
    """
    nodes = overlay.interest.num_nodes
    total, merges = int(of_topic.sum()), int(gains.sum(dtype=np.int64))
    possible = total + merges - int(np.count_nonzero(of_topic))
    of_node = np.bincount(np.concatenate((overlay.u, overlay.v)), minlength=nodes)
    return Verification(
        components=Components(of_topic, total),
        support=merges / possible if possible else 1.0,
        degrees=Degrees(
            average=int(of_node.sum()) / nodes if nodes else 0.0,
            maximum=int(of_node.max(initial=0)),
            of_node=of_node,
            distribution=np.bincount(of_node),
        ),
        wrong_contributions=np.flatnonzero(gains != overlay.contribution),
    )
