"""The rules by which the engine picks its next edge.

All rules look at contributions; they differ in how much they mind the maximum degree. An edge *raises* the
maximum degree when one of its ends has it already.
"""

import math
from dataclasses import dataclass
from numbers import Real

from meshwright.errors import InputError


@dataclass(frozen=True)
class Rule:
    """Take the best edge e1 that does not raise the maximum degree if w(e1) ≥ w(e2) / k, else the best, e2.

    This is Low-ODA's rule (icdcs10, section III). At its ends it is MinMax-ODA (k = ∞: an edge that raises
    the maximum degree is taken only when no other contributes), and, with `k` None, Greedy Merge, which does
    not look at degrees at all.
    """

    name: str
    k: float | None


gm = Rule("gm", None)
"""Greedy Merge: the largest contribution (podc07, Alg. 3)."""

minmax = Rule("minmax", math.inf)
"""MinMax-ODA: the largest contribution among the edges that raise the maximum degree least (icdcs10)."""


def low(k: float = 3.0) -> Rule:
    """Low-ODA(k): between the two; k = 1 behaves much like GM, a large k like MinMax-ODA (icdcs10)."""
    if not isinstance(k, Real) or isinstance(k, bool) or not k >= 1:
        raise InputError(f"Low-ODA's k is {k!r}: give a number of at least 1 (3 is usual)")
    try:
        return Rule("low", float(k))
    except OverflowError as error:
        raise InputError(
            "Low-ODA's k is more than a float can hold: give a smaller one (3 is usual)"
        ) from error
