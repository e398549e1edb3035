"""Verifying a plan: what it states is gathered here, and checked by `meshwright.verify`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from meshwright.files.header import PLAN, damaged
from meshwright.store.plans import PRICES_FILE, read_groups, read_plan, read_prices
from meshwright.store.trees import read_trees

if TYPE_CHECKING:
    from pathlib import Path

    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs import Plan
    from meshwright.interest import Interest
    from meshwright.progress import Progress
    from meshwright.store.plans import StoredPlan
    from meshwright.verify.claims import PlanClaims, PlanProofs, PlanReport


def verify_stored_plan(
    path: str | Path,
    interest: Interest,
    *,
    k: int | None = None,
    costs: LinkCosts | None = None,
    progress: Progress | None = None,
) -> PlanReport:
    """Read a plan and recompute everything that it states, as `meshwright.verify.verify_plan` does.

    Raises
    ------
    InputError
        If nothing is there, or the plan was made for another dataset or with other costs, or k is neither 1
        nor 2.
    FormatError
        If it is not a plan, or damaged.
    """
    from meshwright.verify.certificate import CertificateError
    from meshwright.verify.claims import verify_plan

    stored = read_plan(path)
    stored.check_dataset(interest)
    planned, faults = (interest, ()) if stored.choice is None else _derive_groups(stored, interest)
    claims, overlay = read_claims(stored), stored.overlay_over(planned)
    proofs = read_proofs(stored)
    try:
        report = verify_plan(claims, overlay, proofs, k=k, costs=costs, progress=progress)
    except CertificateError as error:
        raise damaged(stored.path / PRICES_FILE, str(error)) from error
    return replace(report, disagreements=(*faults, *report.disagreements))


def _derive_groups(stored: StoredPlan, interest: Interest) -> tuple[Interest, tuple[str, ...]]:
    """Return the interest in groups of filters, derived again, and how the plan's own tables differ."""
    from meshwright.verify.filter_groups import GroupTables, derive_groups, group_faults

    derived = derive_groups(interest, stored.metadata["topics"])
    faults = list(group_faults(derived, GroupTables(*read_groups(stored.path))))
    if derived.interest.fingerprint != stored.metadata.get("planned"):
        faults.append("the fingerprint of the planned groups is not as stated")
    return derived.interest, tuple(faults)


def verify_made_plan(plan: Plan, *, k: int | None = None) -> PlanReport:
    """Recompute everything that a plan in memory states."""
    from meshwright.store.plans import price_table
    from meshwright.verify.claims import PlanClaims, PlanProofs, verify_plan

    claims = PlanClaims(repr(plan), plan.algorithm, plan.stated_parameters, plan.figures)
    proofs = PlanProofs(None if plan.prices is None else price_table(plan.prices))
    return verify_plan(claims, plan.overlay, proofs, k=k, costs=plan.costs)


def read_claims(stored: StoredPlan) -> PlanClaims:
    """Return what a plan states of itself.

    Raises
    ------
    FormatError
        If it states a cost or a bound that is not a number, or was made with link costs and states no total.
    """
    from meshwright.verify.claims import PlanClaims

    parameters, figures = stored.metadata["parameters"], stored.figures
    cost, bound = figures.get("total_cost"), figures.get("lower_bound")
    if (cost is not None or "costs" in parameters) and type(cost) not in (int, float):
        raise damaged(stored.path / PLAN.file, "figure 'total_cost' is not a number")
    if bound is not None and type(bound) is not int:
        raise damaged(stored.path / PLAN.file, "figure 'lower_bound' is not a whole number")
    routes = stored.routes
    return PlanClaims(
        name=str(stored.path),
        algorithm=stored.metadata["algorithm"],
        parameters=parameters,
        figures=figures,
        trees=None if routes is None else routes["figures"],
    )


def read_proofs(stored: StoredPlan) -> PlanProofs:
    """Read the prices of a plan that states a bound, and the trees of one that has some.

    Raises
    ------
    FormatError
        If a table is missing or damaged.
    """
    from meshwright.verify.claims import PlanProofs
    from meshwright.verify.tree_check import TreeTables

    trees = None
    if stored.routes is not None:
        found = read_trees(stored.path)
        trees = TreeTables(found.trees, found.roles)
    bounded = stored.figures.get("lower_bound") is not None
    return PlanProofs(read_prices(stored.path) if bounded else None, trees)
