"""Verifying a plan: gather what it states and what proves it, for `meshwright.verify` to check."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import to_numpy
from meshwright.files.header import MISSING, PLAN, changed_tables, damaged
from meshwright.files.urls import inside
from meshwright.names import MQTT
from meshwright.store.plan_parts import DEGREE_PRICES, DEGREE_PRICES_FILE, PRICES, PRICES_FILE
from meshwright.store.plans import StoredPlan, holder_table, read_groups, read_plan
from meshwright.store.tables import read_table
from meshwright.store.trees import read_trees

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from meshwright.bounds import DegreeProof
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.plan import Plan
    from meshwright.interest import Interest
    from meshwright.progress import Progress
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
    from meshwright.verify.certificate import CertificateError, DegreeCertificateError
    from meshwright.verify.claims import verify_plan

    stored = read_plan(path)
    stored.check_dataset(interest)
    planned, faults = (interest, ()) if stored.choice is None else rederive_groups(stored, interest)
    costs = costs and costs.rebase(planned)
    claims, overlay = read_claims(stored), stored.overlay_over(planned)
    proofs = read_proofs(stored)
    try:
        report = verify_plan(claims, overlay, proofs, k=k, costs=costs, progress=progress)
    except CertificateError as error:
        file = DEGREE_PRICES_FILE if isinstance(error, DegreeCertificateError) else PRICES_FILE
        raise damaged(inside(stored.place, file), str(error)) from error
    return replace(report, disagreements=(*faults, *report.disagreements, *proof_faults(stored)))


def proof_faults(stored: StoredPlan) -> tuple[str, ...]:
    """Return which certificates were changed since the plan was written, though they may prove as much."""
    changed = changed_tables(stored.path, PLAN, stored.metadata)
    return tuple(
        f"{name} {changed[name]}"
        for name in (PRICES_FILE, DEGREE_PRICES_FILE)
        if changed.get(name, MISSING) != MISSING
    )


def rederive_groups(stored: StoredPlan, interest: Interest) -> tuple[Interest, tuple[str, ...]]:
    """Return the interest in groups of filters, derived again, and how the plan's own tables differ."""
    from meshwright.verify.filter_groups import GroupTables, derive_groups, group_faults

    derived = derive_groups(interest, stored.metadata["topics"])
    faults = list(group_faults(derived, GroupTables(*read_groups(stored.path))))
    if derived.interest.fingerprint != stored.metadata.get("planned"):
        faults.append("the fingerprint of the planned groups is not as stated")
    return derived.interest, tuple(faults)


def verify_made_plan(plan: Plan, *, k: int | None = None) -> PlanReport:
    """Recompute everything that a plan in memory states, and the groups of its MQTT filters."""
    from meshwright.store.plan_parts import degree_price_table, price_table
    from meshwright.verify.claims import PlanClaims, PlanProofs, verify_plan

    claims = PlanClaims(repr(plan), plan.algorithm, plan.stated_parameters, plan.figures)
    proofs = PlanProofs(
        prices=None if plan.prices is None else price_table(plan.prices),
        degree_prices=None if plan.degree_proof is None else degree_price_table(plan.degree_proof),
    )
    report = verify_plan(claims, plan.overlay, proofs, k=k, costs=plan.costs)
    return replace(report, disagreements=(*_faults_of_groups(plan), *report.disagreements))


def _faults_of_groups(plan: Plan) -> list[str]:
    """Return how the topics of a plan in memory differ from the groups of its MQTT filters."""
    from meshwright.verify.filter_groups import GroupTables, derive_groups, group_faults

    planned, filters = plan.overlay.interest, plan.filters
    if filters is None:
        return ["MQTT filters that overlap are not planned as one topic"] if planned.kind == MQTT else []
    derived = derive_groups(filters.source, filters.choice.to_dict())
    faults = list(group_faults(derived, GroupTables(filters.table(), holder_table(filters))))
    if derived.interest.fingerprint != planned.fingerprint:
        faults.append("the planned topics are not the groups of its filters")
    return faults


def read_claims(stored: StoredPlan) -> PlanClaims:
    """Return what a plan states of itself.

    Raises
    ------
    FormatError
        If it states a cost that is not a number, or was made with link costs and states no total.
    """
    from meshwright.verify.claims import PlanClaims

    parameters, figures = stored.metadata["parameters"], stored.figures
    cost = figures.get("total_cost")
    if (cost is not None or "costs" in parameters) and type(cost) not in (int, float):
        raise damaged(inside(stored.place, PLAN.file), "figure 'total_cost' is not a number")
    routes = stored.routes
    return PlanClaims(
        name=str(stored.place),
        algorithm=stored.metadata["algorithm"],
        parameters=parameters,
        figures=figures,
        trees=None if routes is None else routes["figures"],
        rates=routes is not None and routes.get("rates") is True,
    )


def read_proofs(stored: StoredPlan) -> PlanProofs:
    """Read the prices of a plan that states a bound, and the trees of one that has some.

    Raises
    ------
    FormatError
        If a table is missing or damaged.
    """
    from meshwright.verify.claims import DEGREE_BOUNDS, PlanProofs
    from meshwright.verify.tree_check import TreeTables

    trees = None
    if stored.routes is not None:
        found = read_trees(stored.path)
        trees = TreeTables(found.trees, found.roles)
    bounded = stored.figures.get("lower_bound") is not None
    limited = any(stored.figures.get(name) is not None for name in DEGREE_BOUNDS)
    return PlanProofs(
        prices=read_table(stored.path / PRICES_FILE, PRICES) if bounded else None,
        degree_prices=read_table(stored.path / DEGREE_PRICES_FILE, DEGREE_PRICES) if limited else None,
        trees=trees,
    )


def prices_on(stored: StoredPlan, interest: Interest) -> NDArray[np.int64]:
    """Return the prices of a stored plan in the order of the interest's subscriptions.

    Raises
    ------
    FormatError
        If they are missing, damaged, or not one for each subscription.
    """
    file = stored.path / PRICES_FILE
    return _by_slot(read_table(file, PRICES), interest, file, "price")[0]


def degree_proof_on(stored: StoredPlan, interest: Interest) -> DegreeProof:
    """Return what a stored plan states of degrees, with the prices and allowances that prove it.

    Raises
    ------
    FormatError
        If they are missing, damaged, or not one for each subscription and node.
    """
    from meshwright.bounds import DegreeProof, NodePrices

    file = stored.path / DEGREE_PRICES_FILE
    table = read_table(file, DEGREE_PRICES)
    of_node = pc.is_null(table.column("topic"))
    columns = ("at_degree", "lowest_degree")
    prices = _by_slot(table.filter(pc.invert(of_node)), interest, file, *columns)
    allowances = table.filter(of_node)
    place = pc.index_in(interest.node_names.cast(pa.string()), allowances.column("node").combine_chunks())
    if allowances.num_rows != interest.num_nodes or place.null_count:
        raise damaged(file, "it does not have one allowance for each node")
    stated: list[Any] = [
        stored.figures.get(name) for name in ("at_degree", "bound_at_degree", "degree_bound")
    ]
    if None in stated:
        raise damaged(inside(stored.place, PLAN.file), "its proof of degrees lacks some of its figures")
    degree, *proven = stated
    allowed = [to_numpy(allowances.column(name))[to_numpy(place)] for name in columns]
    links, lowest = (
        NodePrices(interest, *rest, checked=False)
        for rest in zip(prices, allowed, (degree, None), proven, strict=True)
    )
    return DegreeProof(links, lowest)


def _by_slot(table: pa.Table, interest: Interest, file: Path, *columns: str) -> list[NDArray[np.int64]]:
    """Return columns of a table `node, topic, …` in the order of the interest's subscriptions."""
    places = [
        pc.index_in(table.column(name), names.cast(pa.string()))
        for name, names in (("node", interest.node_names), ("topic", interest.topic_names))
    ]
    if table.num_rows != interest.num_subscriptions or any(place.null_count for place in places):
        raise damaged(file, "it does not have one price for each subscription")
    node, topic = (to_numpy(place).astype(np.int64) for place in places)
    order = np.lexsort((topic, node))
    if (node[order] != interest.node_of_slot).any() or (topic[order] != interest.node_topics).any():
        raise damaged(file, "it does not have one price for each subscription")
    return [to_numpy(table.column(name))[order] for name in columns]
