"""Scalable overlay construction: links per broker and routing cost held below bounds (podc07, section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from meshwright.errors import InputError
from meshwright.measure.degree import Degrees, degrees
from meshwright.measure.diameter import diameters
from meshwright.measure.filtering import filtering_costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.overlay import Overlay

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


def soc(overlay: Overlay, *, degree: int, cost: int, measure: RoutingCost) -> SocAnswer:
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
