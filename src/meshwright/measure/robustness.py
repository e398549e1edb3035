"""Robustness: links that no topic needs, and topics that the failure of one node splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.measure.adjacency import adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.overlay import Overlay


def redundant_edges(overlay: Overlay) -> NDArray[np.int64]:
    """Return the positions of the edges whose removal alone leaves every topic as connected as it was.

    Such an edge is not a bridge of any sub-overlay that the subscribers of a topic induce. Two redundant
    edges may replace each other, so removing both can split a topic. Time is linear in the edges of all
    induced sub-overlays together, memory in the overlay.
    """
    from meshwright.measure.kernels.tarjan import topic_bridges

    interest = overlay.interest
    needed = topic_bridges(
        frozen(interest.topic_ptr, np.int64), frozen(interest.topic_nodes, np.int32), *adjacency(overlay)
    )
    return np.flatnonzero(~needed)


@dataclass(frozen=True, eq=False)
class WeakTopics:
    """The topics that are not 2-connected."""

    topics: NDArray[np.int64]
    """Their ids, ascending."""
    nodes: NDArray[np.int64]
    """By entry of `topics`: the smallest node whose failure splits it, or −1 if it is split already."""

    def __len__(self) -> int:
        return len(self.topics)


def weak_topics(overlay: Overlay) -> WeakTopics:
    """Return the topics that are split, or would be by the failure of one of their subscribers.

    An overlay without any is 2-topic-connected: in the sub-overlay that a topic's subscribers induce, three
    or more stay connected when any one of them fails, and two are linked. Tarjan's search finds the cut
    vertices of each sub-overlay; time is linear in the edges of all of them together.

    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({v: {"x"} for v in "abc"})
    >>> path = Overlay(interest, np.array([0, 1]), np.array([1, 2]), np.array([1, 1]))
    >>> weak_topics(path)
    WeakTopics(topics=array([0]), nodes=array([1]))
    """
    from meshwright.measure.kernels.tarjan import WHOLE, topic_cuts

    interest = overlay.interest
    cuts = topic_cuts(
        frozen(interest.topic_ptr, np.int64), frozen(interest.topic_nodes, np.int32), *adjacency(overlay)
    )
    topics = np.flatnonzero(cuts != WHOLE)
    return WeakTopics(topics, cuts[topics].astype(np.int64))
