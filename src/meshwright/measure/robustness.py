"""Links that no topic needs, and topics that the failure of one node would split."""

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

    Such an edge is a bridge of no sub-overlay induced by the subscribers of a topic common to its ends. Two
    redundant edges may stand in for each other: removing both can split a topic. Time is linear in the edges
    of all induced sub-overlays together; memory in the overlay.
    """
    from meshwright.measure.kernels import graph

    interest = overlay.interest
    needed = graph.topic_bridges(
        frozen(interest.topic_ptr, np.int64), frozen(interest.topic_nodes, np.int32), *adjacency(overlay)
    )
    return np.flatnonzero(~needed)


@dataclass(frozen=True, eq=False)
class WeakTopics:
    """The topics that are not linked in two ways, ascending, and for each a node whose failure splits it.

    Of several such nodes it is the smallest; it is −1 where the topic is split already.
    """

    topics: NDArray[np.int64]
    nodes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.topics)


def weak_topics(overlay: Overlay) -> WeakTopics:
    """Find the topics that are split, or would be by the failure of one of their subscribers.

    An overlay without any is 2-topic-connected: in the sub-overlay that a topic's subscribers induce, three
    or more are connected even when any one of them fails, and two are linked. Found from the edges alone, by
    Tarjan's search for cut vertices in each sub-overlay; time is linear in the edges of all of them together.

    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({v: {"x"} for v in "abc"})
    >>> path = Overlay(interest, np.array([0, 1]), np.array([1, 2]), np.array([1, 1]))
    >>> weak_topics(path)
    WeakTopics(topics=array([0]), nodes=array([1]))
    """
    from meshwright.measure.kernels.cut_nodes import WHOLE, topic_cuts

    interest = overlay.interest
    cuts = topic_cuts(
        frozen(interest.topic_ptr, np.int64), frozen(interest.topic_nodes, np.int32), *adjacency(overlay)
    )
    topics = np.flatnonzero(cuts != WHOLE)
    return WeakTopics(topics, cuts[topics].astype(np.int64))
