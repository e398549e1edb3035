"""Verifying a plan: gather what it states and what proves it, for `meshwright.verify` to check."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import from_numpy, to_numpy
from meshwright.errors import FormatError
from meshwright.files.header import MISSING, PLAN, changed_tables, damaged
from meshwright.files.urls import inside
from meshwright.interest import Interest
from meshwright.names import MQTT
from meshwright.overlay import unchecked_overlay
from meshwright.plan_tables import (
    ALONE,
    DEGREE_PRICES,
    GROUPS,
    PRICES,
    RELAY,
    GroupTables,
    TreeTables,
    is_one_of,
)
from meshwright.store.plan_parts import (
    DEGREE_PRICES_FILE,
    EDGES_FILE,
    GROUPS_FILE,
    HOLDERS_FILE,
    PRICES_FILE,
    ROLES_FILE,
    TREES_FILE,
)
from meshwright.store.plans import StoredPlan, holder_table, open_plan
from meshwright.store.tables import read_table
from meshwright.store.trees import read_tree_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from meshwright.bounds import DegreeProof
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.plan import Plan
    from meshwright.progress import Progress
    from meshwright.store.trees import StoredTrees
    from meshwright.verify.claims import PlanClaims, PlanProofs, PlanReport
    from meshwright.verify.filter_groups import DerivedGroups

Made = TypeVar("Made")


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

    stored = open_plan(path)
    tables = CheckedTables(stored)
    stored.check_dataset(interest)
    planned = interest if stored.choice is None else rederive_groups(tables, interest)
    costs = costs and costs.rebase(planned)
    claims = read_claims(stored)
    overlay = tables.read(lambda: stored.overlay_over(planned), EDGES_FILE)
    if overlay is None:  # what is left to compare are the other tables
        overlay = unchecked_overlay(planned, *[np.zeros(0, dtype=np.int32)] * 3)
    proofs = read_proofs(tables)
    if proofs.trees is None:
        claims = replace(claims, trees=None)
    while True:
        try:
            report = verify_plan(claims, overlay, proofs, k=k, costs=costs, progress=progress)
            return tables.judge(report)
        except CertificateError as error:
            of_degrees = isinstance(error, DegreeCertificateError)
            file = DEGREE_PRICES_FILE if of_degrees else PRICES_FILE
            tables.refuse(damaged(inside(stored.place, file), str(error)), file)
            proofs = replace(proofs, **{"degree_prices" if of_degrees else "prices": None})


class CheckedTables:
    """The tables of a plan to verify, each against its digest, and what is wrong with them."""

    def __init__(self, stored: StoredPlan) -> None:
        self.stored = stored
        self.faults: list[str] = []
        """A line for each way in which the tables are not what they should be."""
        changed = changed_tables(stored.path, PLAN, stored.metadata)
        # A missing table is an error for whoever needs it.
        self.changed = {name: f"{name} {fault}" for name, fault in changed.items() if fault != MISSING}
        """A line for each table that was changed since the plan was written, though it may say as much."""

    def read(self, make: Callable[[], Made], *files: str) -> Made | None:
        """Return what is made of some files; None if one of them was changed, and is out of form.

        Raises
        ------
        FormatError
            If they are out of form as they were written.
        """
        try:
            return make()
        except FormatError as error:
            self.refuse(error, *files)
            return None

    def refuse(self, error: FormatError, *files: str) -> None:
        """Note an error in some files if one of them was changed; raise it otherwise."""
        if self.changed.keys().isdisjoint(files):
            raise error
        if str(error) not in self.faults:
            self.faults.append(str(error))

    def judge(self, report: PlanReport) -> PlanReport:
        """Return a report with what is wrong with the tables, first of all which were changed."""
        return replace(report, disagreements=(*self.changed.values(), *self.faults, *report.disagreements))


def rederive_groups(tables: CheckedTables, interest: Interest) -> Interest:
    """Return the interest in groups of filters, derived again; note how the plan's own tables differ."""
    from meshwright.verify.filter_groups import derive_groups, group_faults

    stored = tables.stored
    derived = derive_groups(interest, stored.metadata["topics"])
    stated = tables.read(lambda: stored.group_tables, GROUPS_FILE, HOLDERS_FILE)
    if stated is not None:
        tables.faults += group_faults(derived, stated)
    tables.faults += _wrong_fingerprints(stored, derived)
    return derived.interest


def _wrong_fingerprints(stored: StoredPlan, derived: DerivedGroups) -> Iterator[str]:
    """Yield a line for each fingerprint that a plan of filters states otherwise; older plans state one."""
    header = stored.header
    if derived.interest.fingerprint != header.planned:
        yield "the fingerprint of the planned groups is not as stated"
    if header.held is not None:
        brokers, filters = ([pair[end] for pair in derived.holders] for end in (0, 1))
        held = Interest.from_pairs(brokers, filters, all_nodes=derived.interest.node_names.to_pylist())
        if held.fingerprint != header.held:
            yield "the fingerprint of who holds which filter is not as stated"


def require_meaning(stored: StoredTrees) -> None:
    """Verify a plan with trees without its dataset, before brokers follow it.

    Who subscribes to what follows from its trees, and must have the fingerprint that the plan states. Every
    message must reach each of them once. Prices, hops and contributions are not checked: they say nothing
    about what brokers do, and need kernels.

    A plan that states topics without a tree is left as it is: who subscribes to them is not known.

    Raises
    ------
    FormatError
        If the plan is not what it states.
    """
    if stored.described["figures"].get("unreachable"):
        return
    from meshwright.verify.claims import quick_faults
    from meshwright.verify.filter_groups import group_faults, group_holders, stated_holders

    plan, header = stored.plan, stored.plan.header
    interest = _subscriptions_of(stored.tables)
    faults: list[str] = []
    # The fingerprint also counts topics that nobody subscribes to, whose names the trees do not have.
    nameless = int(header.figures.topics) > interest.num_topics
    if not nameless and not interest.has_fingerprint(header.planned or header.dataset):
        faults.append("its trees do not serve the subscriptions that the plan states")
    if plan.choice is not None:
        tables = plan.group_tables
        holders: Any = frozenset(stated_holders(tables))
        derived = group_holders(holders, interest.node_names.to_pylist())
        faults += [*group_faults(derived, tables), *_wrong_fingerprints(plan, derived)]
    claims = read_claims(plan)
    if nameless:
        claims = replace(claims, figures={**claims.figures, "topics": interest.num_topics})
    faults += quick_faults(claims, plan.overlay_over(interest), stored.tables)
    if faults:
        more = f" (and {len(faults) - 1} more: see meshwright verify)" if len(faults) > 1 else ""
        raise damaged(plan.place, f"{faults[0]}{more}")


def _subscriptions_of(tables: TreeTables) -> Interest:
    """Return who subscribes to what, as the trees and roles of a plan have it."""
    ids = tables.ids
    role, topic = (tables.roles.column(name) for name in ("role", "topic"))
    relaying = to_numpy(is_one_of(role, RELAY))
    relays = (ids.role_topic * ids.width + ids.role_broker)[relaying]
    subscribes = ~(ids.publishes | np.isin(ids.topic * ids.width + ids.child, relays))
    rows = tables.trees.filter(from_numpy(subscribes))
    alone = tables.roles.filter(pc.and_(is_one_of(role, ALONE), topic.is_valid()))
    edges = tables.links.table
    everyone = [
        tables.trees.column("child"),
        tables.roles.column("broker"),
        edges.column("u"),
        edges.column("v"),
    ]
    columns = [rows.column("child"), alone.column("broker")], [rows.column("topic"), alone.column("topic")]
    brokers, topics, names = (
        pa.chunked_array([chunk for column in parts for chunk in column.chunks], pa.string())
        for parts in (*columns, everyone)
    )
    return Interest.from_pairs(brokers, topics, all_nodes=names.unique())


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
    from meshwright.verify.filter_groups import derive_groups, group_faults

    planned, filters = plan.overlay.interest, plan.filters
    if filters is None:
        return ["MQTT filters that overlap are not planned as one topic"] if planned.kind == MQTT else []
    derived = derive_groups(filters.source, filters.choice.to_dict())
    faults = list(group_faults(derived, GroupTables(filters.table().cast(GROUPS), holder_table(filters))))
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


def read_proofs(tables: CheckedTables) -> PlanProofs:
    """Read the prices of a plan that states a bound, and the trees of one that has some.

    Raises
    ------
    FormatError
        If a table is missing, or damaged as it was written.
    """
    from meshwright.verify.claims import DEGREE_BOUNDS, PlanProofs

    stored = tables.stored
    bounded = stored.figures.get("lower_bound") is not None
    limited = any(stored.figures.get(name) is not None for name in DEGREE_BOUNDS)
    trees = None
    if stored.routes is not None:
        trees = tables.read(lambda: read_tree_tables(stored), EDGES_FILE, TREES_FILE, ROLES_FILE)
    prices = degree_prices = None
    if bounded:
        prices = tables.read(lambda: stored.table(PRICES_FILE, PRICES), PRICES_FILE)
    if limited:
        degree_prices = tables.read(
            lambda: stored.table(DEGREE_PRICES_FILE, DEGREE_PRICES), DEGREE_PRICES_FILE
        )
    return PlanProofs(prices, trees, degree_prices)


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
