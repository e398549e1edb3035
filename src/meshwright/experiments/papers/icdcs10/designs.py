"""The designs of icdcs10 as the paper prints them, and ours beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.experiments.results import Row

if TYPE_CHECKING:
    from meshwright.designs import Plan
    from meshwright.interest import Interest

BEST_STEPS = 2000
"""Steps of our search: the same on every machine."""


def build(interest: Interest, name: str, *, k: float = 3, seed: int = 0) -> Plan:
    """Build a design of the paper to the letter, or one of ours by the name `ours-…`.

    MinMax-ODA takes useless pairs too while they do not raise the maximum degree. Low-ODA(k) takes the edge
    that spares the degree only if it weighs more than the k-th part of the best, as section III says.
    """
    import meshwright as mw

    if name == "minmax":
        return mw.design(interest, "minmax", literal=True)
    if name == "low":
        return mw.design(interest, "low", k=k, strict=True)
    if name == "ours-low":
        return mw.design(interest, "low", k=k)
    if name == "ours-minmax":
        return mw.design(interest, "minmax")
    if name.startswith("ours-best-"):
        objective = name.removeprefix("ours-best-")
        return mw.design(interest, "best", objective=objective, steps=BEST_STEPS, seed=seed)
    return mw.design(interest, name)


def degrees(plan: Plan) -> Row:
    """Return the figures that the paper plots."""
    figures = plan.figures
    return {name: figures[name] for name in ("edges", "average_degree", "max_degree")}
