"""Whether a stored plan is what it says: everything recomputed, compared with what is stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright import measure
from meshwright.errors import first_five
from meshwright.store.plans import read_plan

if TYPE_CHECKING:
    from pathlib import Path

    from meshwright.interest import Interest
    from meshwright.overlay import Overlay

BUDGETS = ("max_edges", "max_degree")
"""A plan made with one of these parameters may leave topics split; any other claims to connect them all."""


@dataclass(frozen=True, eq=False)
class PlanReport:
    """What was found of a plan, and in which points it disagrees with what the plan states."""

    overlay: Overlay
    verification: measure.Verification
    disagreements: tuple[str, ...]
    budgeted: bool
    """Whether it was made under a budget, and so may leave topics split."""

    @property
    def ok(self) -> bool:
        """Whether everything that the plan states is true."""
        return not self.disagreements

    @property
    def complete(self) -> bool:
        """Whether every topic is connected: a plan under a budget can be right and yet not complete."""
        return self.verification.connected

    @property
    def passed(self) -> bool:
        """Whether all it states is true, and every topic is connected unless a budget forbade that."""
        return self.ok and (self.complete or self.budgeted)


def verify_plan(path: str | Path, interest: Interest) -> PlanReport:
    """Recompute everything that a stored plan states, by other code than made it, and compare.

    Raises
    ------
    InputError
        If nothing is there, or the plan was made for another dataset.
    FormatError
        If it is not a plan, or damaged.
    """
    stored = read_plan(path)
    overlay = stored.overlay_on(interest)
    found = measure.verify(overlay)
    figures = {
        "nodes": interest.num_nodes,
        "topics": interest.num_topics,
        "edges": len(overlay),
        "average_degree": found.degrees.average,
        "max_degree": found.degrees.maximum,
        "support": found.support,
    }
    disagreements = [
        f"{name} is {value}, the plan states {stored.figures[name]}"
        for name, value in figures.items()
        if not math.isclose(value, stored.figures[name], rel_tol=1e-9, abs_tol=1e-12)
    ]
    if not found.contributions_agree:
        recounted = measure.contributions(interest, overlay.u, overlay.v)
        wrong = np.flatnonzero(recounted != overlay.contribution)
        disagreements.append(f"the contributions of edges {first_five(wrong.tolist())} are not as stated")
    budgets = {name: stored.metadata["parameters"].get(name) for name in BUDGETS}
    spent = {"max_edges": len(overlay), "max_degree": found.degrees.maximum}
    disagreements += [
        f"{name} was {budget}, but the overlay has {spent[name]}"
        for name, budget in budgets.items()
        if isinstance(budget, int) and spent[name] > budget
    ]
    budgeted = any(budget is not None for budget in budgets.values())
    return PlanReport(overlay, found, tuple(disagreements), budgeted)
