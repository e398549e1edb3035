"""The filtering cost: how many uninterested brokers relay a topic's messages (podc07, section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.measure.adjacency import adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.overlay import Overlay


@dataclass(frozen=True, eq=False)
class FilteringCosts:
    """For each topic, the uninterested nodes in a tree of the overlay that spans its subscribers."""

    of_topic: NDArray[np.int32]
    """By topic: their number in the tree found, −1 if no tree can span the topic."""
    lower: NDArray[np.int32]
    """By topic: a lower bound for any tree, or −1. Where it equals `of_topic`, the tree is optimal."""
    unreachable: NDArray[np.int64]
    """The topics with subscribers that cannot reach each other, even through relays."""
    total: int
    """The sum of `of_topic` over the other topics."""
    lower_total: int
    """The sum of `lower` over the other topics."""

    @property
    def maximum(self) -> int:
        """The most of any topic; 0 if there are none."""
        return int(self.of_topic.max(initial=0))


def filtering_costs(overlay: Overlay) -> FilteringCosts:
    """Count the relays that each topic needs, in a Steiner tree whose terminals are its subscribers.

    The tree is Mehlhorn's, with at most twice the fewest edges. A topic whose subscribers are connected among
    themselves costs 0. One in two pieces costs as little as possible: there the tree is a shortest path. Time
    is linear in the overlay for each topic, or in the links of its subscribers where these are enough.

    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({"a": {"x"}, "b": {"y"}, "c": {"x"}})
    >>> path = Overlay(interest, np.array([0, 1]), np.array([1, 2]), np.array([0, 0]))
    >>> filtering_costs(path).of_topic.tolist()
    [1, 0]
    """
    from meshwright.measure.kernels import steiner

    interest, links = overlay.interest, adjacency(overlay)
    of_topic, lower = steiner.filtering(
        frozen(interest.topic_ptr, np.int64), frozen(interest.topic_nodes, np.int32), links.ptr, links.nodes
    )
    return FilteringCosts(
        of_topic,
        lower,
        unreachable=np.flatnonzero(of_topic < 0),
        total=int(of_topic[of_topic > 0].sum(dtype=np.int64)),
        lower_total=int(lower[lower > 0].sum(dtype=np.int64)),
    )
