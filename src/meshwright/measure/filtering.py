"""How many uninterested brokers relay a topic's messages: the filtering cost (podc07, section 9)."""

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
    """For each topic, the uninterested nodes in a tree of the overlay that spans its subscribers.

    `of_topic` counts them in the tree that was found, `lower` says how many there are in any: where both are
    the same, the tree is a best one. Both are -1 where some subscriber cannot reach another at all, whoever
    relays; these topics are `unreachable`. `total` and `lower_total` sum over the other topics.
    """

    of_topic: NDArray[np.int32]
    lower: NDArray[np.int32]
    unreachable: NDArray[np.int64]
    total: int
    lower_total: int

    @property
    def maximum(self) -> int:
        """The most of any topic that can be spanned; 0 if there is none."""
        return int(self.of_topic.max(initial=0))


def filtering_costs(overlay: Overlay) -> FilteringCosts:
    """Count the relays that each topic needs, in a Steiner tree whose terminals are its subscribers.

    The tree is Mehlhorn's, of at most twice the fewest edges. A topic whose subscribers are connected among
    themselves costs 0, one in two pieces as little as possible: there the tree is a shortest path. Time is
    linear in the overlay for each topic, and in its own subscribers' links where these are enough.

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
