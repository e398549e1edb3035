"""Whether a stored plan is what it says: everything recomputed and compared with what is stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright import measure
from meshwright.errors import InputError, first_five
from meshwright.files.header import PLAN, damaged
from meshwright.store.plans import BUDGETS, read_plan
from meshwright.store.prices import bound_found
from meshwright.verify.trees import tree_faults

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from meshwright.costs.link_costs import LinkCosts
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.progress import Progress
    from meshwright.store.plans import StoredPlan


def stated_cost_of(stored: StoredPlan) -> float | None:
    """Return the total cost that a plan states; one that weighed costs must state it."""
    stated = stored.figures.get("total_cost")
    if stated is None and "costs" not in stored.metadata["parameters"]:
        return None
    if type(stated) not in (int, float):
        raise damaged(stored.path / PLAN.file, "figure 'total_cost' is no number")
    return stated


def cost_found(stored: StoredPlan, overlay: Overlay, costs: LinkCosts | None) -> float | None:
    """Return what a plan's links cost in all, if it is said what each one costs.

    Raises
    ------
    InputError
        If the plan was made with other costs.
    """
    if costs is None:
        return None
    from meshwright.costs.link_costs import total_cost

    made_with = stored.metadata["parameters"].get("costs", costs.description)
    if made_with != costs.description:
        raise InputError(
            f"plan {stored.path} was made with other link costs ({made_with}, these are "
            f"{costs.description}): give those"
        )
    return total_cost(overlay, costs)


@dataclass(frozen=True, eq=False)
class PlanReport:
    """What was found of a plan, and in which points it disagrees with what the plan states."""

    overlay: Overlay
    verification: measure.Verification
    disagreements: tuple[str, ...]
    budgeted: bool
    """Whether it was made under a budget, and so may leave topics split."""
    k: int | None = None
    """Every topic must be k-connected: as was asked for, or as the plan claims. None: nobody said."""
    weak: measure.WeakTopics | None = None
    """The topics that are not 2-connected, if they must be."""
    total_cost: float | None = None
    """What the links cost in all, if it was said what each one costs."""
    stated_cost: float | None = None
    """What the plan states of that."""
    lower_bound: int | None = None
    """How many links its prices prove to be needed, if it states such a number."""
    unchecked: tuple[str, ...] = ()
    """Figures that the plan states and nobody computed anew."""
    trees: int | None = None
    """How many topics' trees were checked; None if it has none, or nobody looked."""

    @property
    def gap(self) -> float | None:
        """By which part it has more links than are needed, at most; None if not known or not complete."""
        if self.lower_bound is None or not self.complete:
            return None
        return measure.gap(len(self.overlay), self.lower_bound)

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
        """Whether all it states is true, and every topic is k-connected.

        Where nobody said k, topics must be connected unless a budget forbade that.
        """
        if not self.ok or self.weak:
            return False
        return self.complete or (self.budgeted and self.k is None)


def verify_plan(
    path: str | Path,
    interest: Interest,
    *,
    k: int | None = None,
    costs: LinkCosts | None = None,
    progress: Progress | None = None,
) -> PlanReport:
    """Recompute everything that a stored plan states, by other code than made it, and compare.

    With `k` every topic must be connected (1), or stay so when any one broker fails (2); a plan made by
    `resilient` claims as much itself. Without `costs` the total cost that a plan states is not checked.

    Raises
    ------
    InputError
        If nothing is there, or the plan was made for another dataset or with other costs, or k is neither 1
        nor 2.
    FormatError
        If it is not a plan, or damaged.
    """
    stored = read_plan(path)
    overlay = stored.overlay_on(interest)
    wanted = wanted_k(stored, k)
    found = measure.verify(overlay, progress=progress)
    weak = measure.weak_topics(overlay) if wanted == 2 else None
    wrong = np.zeros(0, dtype=np.int64)
    if not found.contributions_agree:
        recounted = measure.contributions(interest, overlay.u, overlay.v)
        wrong = np.flatnonzero(recounted != overlay.contribution)
    return judge(stored, overlay, found, wrong, k=wanted, weak=weak, costs=costs, certificate_of=interest)


def wanted_k(stored: StoredPlan, k: int | None) -> int | None:
    """Return how connected every topic must be: as was asked for, or as the plan claims."""
    if k not in (None, 1, 2):
        raise InputError(f"k is {k}: give 1 (connected) or 2 (connected when one broker fails)")
    return max((value for value in (k, _claimed_k(stored)) if value is not None), default=None)


def judge(
    stored: StoredPlan,
    overlay: Overlay,
    found: measure.Verification,
    wrong: NDArray[np.int64],
    *,
    k: int | None,
    weak: measure.WeakTopics | None,
    costs: LinkCosts | None,
    certificate_of: Interest | None,
) -> PlanReport:
    """Compare what was found of a plan with what it states; `wrong` are edges whose contribution differs.

    Without `certificate_of`, the interest with all its subscriptions, the plan's prices are not added up and
    its trees are not looked at.
    """
    figures: dict[str, int | float | None] = {
        "nodes": overlay.interest.num_nodes,
        "topics": overlay.interest.num_topics,
        "edges": len(overlay),
        "average_degree": found.degrees.average,
        "max_degree": found.degrees.maximum,
        "support": found.support,
    }
    bound = None if certificate_of is None else bound_found(stored, certificate_of)
    if certificate_of is not None:
        known = bound is not None and found.connected
        figures |= {"lower_bound": bound, "gap": measure.gap(len(overlay), bound or 0) if known else None}
    disagreements = [
        f"{name} is {'not known' if value is None else value}, the plan states {stored.figures.get(name)}"
        for name, value in figures.items()
        if not _agree(value, stored.figures.get(name))
    ]
    if len(wrong):
        disagreements.append(f"the contributions of edges {first_five(wrong.tolist())} are not as stated")
    budgets = {name: stored.metadata["parameters"].get(name) for name in BUDGETS}
    spent = {"max_edges": len(overlay), "max_degree": found.degrees.maximum}
    disagreements += [
        f"{name} was {budget}, but the overlay has {spent[name]}"
        for name, budget in budgets.items()
        if budget is not None and spent[name] > budget
    ]
    budgeted = any(budget is not None for budget in budgets.values())
    stated_cost, cost = stated_cost_of(stored), cost_found(stored, overlay, costs)
    if cost is not None and stated_cost is not None and not math.isclose(cost, stated_cost, rel_tol=1e-9):
        disagreements.append(f"total_cost is {cost}, the plan states {stated_cost}")
    unchecked = {"solver_bound", *(("lower_bound", "gap") if certificate_of is None else ())}
    left = [name for name in stored.figures if name in unchecked]
    faults = None if certificate_of is None else tree_faults(stored, overlay)
    if faults is None and "routes" in stored.metadata:
        left.append("trees")
    return PlanReport(
        overlay, found, (*disagreements, *(faults or ())), budgeted, k, weak, cost, stated_cost, bound,
        tuple(left), None if faults is None else stored.metadata["routes"]["figures"]["trees"],
    )  # fmt: skip


def _agree(found: float | None, stated: object) -> bool:
    """Say whether a figure is as the plan states it: the same number, or none in both."""
    if found is None or not isinstance(stated, (int, float)):
        return found is stated
    return math.isclose(found, stated, rel_tol=1e-9, abs_tol=1e-12)


def _claimed_k(stored: StoredPlan) -> int | None:
    """Return what a plan's algorithm claims: resilient's k, which is 2 if it was left out."""
    if stored.metadata["algorithm"] != "resilient":
        return None
    return 1 if stored.metadata["parameters"].get("k") == 1 else 2
