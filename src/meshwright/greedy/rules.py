"""The rules by which the engine weighs contribution against degree; for ties, see `kernels/sweep.py`.

All rules compare contributions. They differ in how much weight they give to the maximum degree. A link
*raises* the maximum degree if one of its ends already has it; otherwise it is *degree-sparing*.

>>> import meshwright as mw
>>> mw.grow({"a": {"x"}, "b": {"x"}, "c": {"x"}, "d": {"x"}}, mw.rules.minmax).edges
[('a', 'b'), ('c', 'd'), ('a', 'c')]
"""

import math
from dataclasses import dataclass
from numbers import Real

from meshwright.errors import InputError


@dataclass(frozen=True)
class Rule:
    """Take the best degree-sparing link e1 if w(e1) ≥ w(e2) / k, else the best link of all, e2.

    This is Low-ODA's rule (icdcs10, section III). The pseudo-code of the paper says ≥, its text "greater
    than": `strict` is the text. The two extremes of the rule are MinMax-ODA (k = ∞: a link that raises
    the maximum degree is taken only if no other contributes) and Greedy Merge (k is None: degrees do not
    count).
    """

    name: str
    """`gm`, `minmax` or `low`."""
    k: float | None
    """Low-ODA's parameter; infinite for MinMax-ODA, None for Greedy Merge."""
    strict: bool = False
    """Whether e1 must be better than w(e2) / k, not only as good."""

    def lowest_sparing(self, best: int) -> int:
        """Return the lowest contribution w(e1) that is enough where the best link contributes w(e2) = `best`.

        With `strict` and k = 1 no contribution is enough: the answer is above `best` then.
        """
        k = math.inf if self.k is None else self.k
        level = math.ceil(best / k)
        # The quotient is rounded, so it is corrected by comparing products, which is the rule itself.
        while level > 1 and (level - 1) * k >= best:
            level -= 1
        while level * k < best or (self.strict and level * k == best):
            level += 1
        return max(level, 1)


gm = Rule("gm", None)
"""Greedy Merge: the largest contribution (podc07, Alg. 3)."""

minmax = Rule("minmax", math.inf)
"""MinMax-ODA: the largest contribution among the links that raise the maximum degree least (icdcs10)."""


def low(k: float = 3.0, *, strict: bool = False) -> Rule:
    """Return Low-ODA(k), between the two: k = 1 behaves much like GM, a large k like MinMax-ODA (icdcs10).

    With `strict` and k = 1 no link e1 is better than the best, so the links are exactly GM's.
    """
    if not isinstance(k, Real) or isinstance(k, bool) or not k >= 1:
        raise InputError(f"Low-ODA's k is {k!r}: give a number of at least 1 (3 is usual)")
    try:
        return Rule("low", float(k), check_flag("strict", strict))
    except OverflowError as error:
        raise InputError(
            "Low-ODA's k is larger than a float can hold: give a smaller one (3 is usual)"
        ) from error


def check_flag(name: str, value: bool) -> bool:
    """Return an option that is on or off; raise an InputError for any other value."""
    if not isinstance(value, bool):
        raise InputError(f"{name} is {value!r}: give True or False, or leave it out")
    return value
