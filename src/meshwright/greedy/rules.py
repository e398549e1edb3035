"""The rules by which the engine weighs contribution against degree; for ties, see `kernels/sweep.py`.

All rules compare contributions. They differ in how much weight they give to the maximum degree. A link
*raises* the maximum degree if one of its ends already has it; otherwise it is *degree-sparing*.
"""

import math
from dataclasses import dataclass
from numbers import Real

from meshwright.errors import InputError


@dataclass(frozen=True)
class Rule:
    """Take the best degree-sparing link e1 if w(e1) ≥ w(e2) / k, else the best link of all, e2.

    This is Low-ODA's rule (icdcs10, section III). Its two extremes are MinMax-ODA (k = ∞: a link that raises
    the maximum degree is taken only if no other contributes) and Greedy Merge (k is None: degrees do not
    count).
    """

    name: str
    """`gm`, `minmax` or `low`."""
    k: float | None
    """Low-ODA's parameter; infinite for MinMax-ODA, None for Greedy Merge."""


gm = Rule("gm", None)
"""Greedy Merge: the largest contribution (podc07, Alg. 3)."""

minmax = Rule("minmax", math.inf)
"""MinMax-ODA: the largest contribution among the links that raise the maximum degree least (icdcs10)."""


def low(k: float = 3.0) -> Rule:
    """Return Low-ODA(k), between the two: k = 1 behaves much like GM, a large k like MinMax-ODA (icdcs10)."""
    if not isinstance(k, Real) or isinstance(k, bool) or not k >= 1:
        raise InputError(f"Low-ODA's k is {k!r}: give a number of at least 1 (3 is usual)")
    try:
        return Rule("low", float(k))
    except OverflowError as error:
        raise InputError(
            "Low-ODA's k is larger than a float can hold: give a smaller one (3 is usual)"
        ) from error
