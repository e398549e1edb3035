"""What an overlay costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.overlay import Overlay
    from meshwright.weighted.costs import LinkCosts


def total_cost(overlay: Overlay, costs: LinkCosts) -> float:
    """Return what all links of an overlay cost together; the order of the links does not matter.

    Raises
    ------
    InputError
        If the costs are those of another interest, or do not say what a link costs.

    Examples
    --------
    >>> from meshwright import Interest, LinkCosts, design
    >>> interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
    >>> costs = LinkCosts.from_coordinates(interest, ["a", "b", "c"], [0, 3, 0], [0, 4, 2])
    >>> total_cost(design(interest, "ring").overlay, costs)
    7.0
    """
    if not costs.fit(overlay.interest):
        raise InputError("the link costs are those of another interest: make them for the overlay's")
    return math.fsum(costs.of(overlay.u, overlay.v).tolist())
