"""What routing a topic costs: diameters, relays, and whether both stay below bounds (podc07, section 9).

The *diameter* of a topic is how far its messages travel, within the topic or in the whole overlay. Its
*filtering cost* is the number of uninterested brokers that relay them. SOC(d, C), scalable overlay
construction, asks for at most d links per broker and a routing cost of at most C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import is_whole
from meshwright.errors import InputError
from meshwright.measure.connectivity import Degrees, adjacency, degrees
from meshwright.overlay import Overlay

STEPS = 4_000_000_000
"""About how many links all searches may follow together when no effort is given: seconds, not minutes."""


@dataclass(frozen=True, eq=False)
class Diameters:
    """The diameter of each topic."""

    of_topic: NDArray[np.int32]
    """By topic: 0 for fewer than two subscribers, −1 where some subscriber cannot reach another."""
    exact: NDArray[np.bool_]
    """By topic: whether it is exact; if not, it is a lower bound."""
    maximum: int
    """The largest, over the connected topics of two subscribers or more; 0 if there are none."""
    mean: float
    """The mean over the same topics; 0 if there are none."""


def diameters(
    overlay: Overlay | Any, *, scope: Literal["induced", "whole"] = "induced", effort: int | None = None
) -> Diameters:
    """Return for each topic the longest of the shortest paths between two of its subscribers.

    Breadth-first searches from subscribers bound how far every subscriber can be from any other. Those that
    cannot be further away than the best found need no search, so a topic is often exact after far fewer
    searches than it has subscribers. If the effort ends before that, the answer is a lower bound, and `exact`
    says so. Two searches are a double sweep.

    Parameters
    ----------
    overlay
        The overlay to measure.
    scope
        `induced`: paths go through subscribers of the topic only. `whole`: through any node.
    effort
        The most searches for each topic, at least 1; the number of nodes makes every topic exact. None spends
        about 4·10⁹ steps, a few seconds. In the whole overlay it searches from every node if that is enough:
        exact, up to about ten thousand nodes. Otherwise each topic gets an equal share and at least two
        searches.

    Raises
    ------
    InputError
        For an unknown scope, or an effort that is not a whole number of at least 1.
    """
    overlay = Overlay.of(overlay)
    if scope not in ("induced", "whole"):
        raise InputError(f"unknown scope {scope!r}: choose induced or whole")
    if effort is not None and (not is_whole(effort) or effort < 1):
        raise InputError(f"an effort of {effort} searches: give a whole number of at least 1, or None")
    from meshwright.measure import routing_kernels as kernels

    interest, links = overlay.interest, adjacency(overlay)
    if scope == "whole" and effort is None and _steps_from_all(overlay) <= STEPS:
        held = interest.node_ptr, interest.node_topics, interest.topic_ptr, interest.topic_nodes
        of_topic = kernels.all_sources(*held, links.ptr, links.nodes)
        exact = np.ones(len(of_topic), dtype=np.bool_)
    else:
        share = STEPS // max(interest.num_topics, 1)
        of_topic, exact = kernels.topic_diameters(
            interest.topic_ptr, interest.topic_nodes, *links, scope == "induced", int(effort or 0), share
        )
    measured = of_topic[of_topic > 0]
    return Diameters(
        of_topic, exact, int(measured.max(initial=0)), float(measured.mean()) if len(measured) else 0.0
    )


def _steps_from_all(overlay: Overlay) -> int:
    """Return the steps of a search from every node, and of looking up its fellow subscribers."""
    interest = overlay.interest
    sizes = np.diff(interest.topic_ptr)
    return interest.num_nodes * (interest.num_nodes + 2 * len(overlay)) + int((sizes * sizes).sum())


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


def filtering_costs(overlay: Overlay | Any) -> FilteringCosts:
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
    overlay = Overlay.of(overlay)
    from meshwright.measure.routing_kernels import filtering

    interest, links = overlay.interest, adjacency(overlay)
    of_topic, lower = filtering(interest.topic_ptr, interest.topic_nodes, links.ptr, links.nodes)
    return FilteringCosts(
        of_topic,
        lower,
        unreachable=np.flatnonzero(of_topic < 0),
        total=int(of_topic[of_topic > 0].sum(dtype=np.int64)),
        lower_total=int(lower[lower > 0].sum(dtype=np.int64)),
    )


RoutingCost: TypeAlias = Literal["filtering", "diameter"]
Verdict: TypeAlias = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, eq=False)
class SocAnswer:
    """Whether an overlay satisfies SOC(d, C), and the figures that show it."""

    measure: RoutingCost
    degree: int
    """The bound d."""
    cost: int
    """The bound C."""
    degrees: Degrees
    upper: int
    """The routing cost is at most this: for filtering the sum over topics, for the diameter the largest."""
    lower: int
    """It is at least this."""
    mean: float
    """The mean of `of_topic` over the topics of two subscribers or more that can be spanned, or 0."""
    of_topic: NDArray[np.int32]
    """By topic: an upper bound, −1 if some subscriber cannot reach another."""
    lower_of_topic: NDArray[np.int32]
    """By topic: a lower bound, or −1."""
    unreachable: NDArray[np.int64]
    """The topics with −1. If there are any, the cost is infinite, which no C allows."""

    @property
    def verdict(self) -> Verdict:
        """`yes` and `no` are certain; `unknown` means that C lies between the bounds of the cost."""
        if self.degrees.maximum > self.degree or len(self.unreachable) or self.lower > self.cost:
            return "no"
        return "yes" if self.upper <= self.cost else "unknown"


def soc(overlay: Overlay | Any, *, degree: int, cost: int, measure: RoutingCost) -> SocAnswer:
    """Decide whether no broker has more than `degree` links while the routing cost is at most `cost`.

    podc07 asks whether *some* overlay satisfies this; an overlay with the answer `yes` is a witness. A `no`
    is about the given overlay only. Of the paper's choices, degree and diameter are taken at their maximum;
    filtering is the sum over all topics, as in the paper.

    Parameters
    ----------
    overlay
        The overlay to examine.
    degree, cost
        The bounds d and C.
    measure
        `filtering`: uninterested nodes in a Steiner tree over each topic's subscribers, all topics together,
        approximated from above with a proven bound from below (see `filtering_costs`). `diameter`: the
        longest distance in the overlay between two subscribers of a topic, exact up to about ten thousand
        nodes; beyond that, between a lower bound and twice that (see `diameters`).

    Raises
    ------
    InputError
        For a negative bound or an unknown measure.
    """
    overlay = Overlay.of(overlay)
    for name, bound in (("degree", degree), ("cost", cost)):
        if not isinstance(bound, (int, np.integer)) or bound < 0:
            raise InputError(f"a {name} of at most {bound}: give a whole number of zero or more")
    if measure == "filtering":
        found = filtering_costs(overlay)
        upper, lower = found.total, found.lower_total
        of_topic, lower_of_topic = found.of_topic, found.lower
    elif measure == "diameter":
        wide = diameters(overlay, scope="whole")
        lower_of_topic = wide.of_topic
        # A search from one subscriber finds all others within some distance r ≤ the lower bound, so no two
        # are more than 2r apart.
        of_topic = np.where(wide.exact, wide.of_topic, 2 * wide.of_topic)
        upper, lower = int(of_topic.max(initial=0)), int(lower_of_topic.max(initial=0))
    else:
        raise InputError(f"unknown measure {measure!r}: choose {' or '.join(get_args(RoutingCost))}")
    spanned = of_topic[(np.diff(overlay.interest.topic_ptr) > 1) & (of_topic >= 0)]
    return SocAnswer(
        measure=measure,
        degree=int(degree),
        cost=int(cost),
        degrees=degrees(overlay),
        upper=upper,
        lower=lower,
        mean=float(spanned.mean()) if len(spanned) else 0.0,
        of_topic=of_topic,
        lower_of_topic=lower_of_topic,
        unreachable=np.flatnonzero(of_topic < 0),
    )
