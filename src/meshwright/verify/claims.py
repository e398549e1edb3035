"""Check whether a plan is what it states: recompute its figures and compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright.costs.link_costs import LinkCosts, total_cost
from meshwright.errors import InputError, first_five
from meshwright.formatting import counted
from meshwright.measure.connectivity import WeakTopics, weak_topics
from meshwright.overlay import Overlay
from meshwright.plan_tables import TreeTables
from meshwright.progress import Progress
from meshwright.verify.certificate import DegreeProofs, check_degree_table, check_price_table, gap
from meshwright.verify.overlay_check import Outline, Verification, verify_overlay
from meshwright.verify.tree_check import LOADS, agree, tree_faults

PARALLEL = ("parallel_edges", "parallel_average_degree")
"""The figures of rings whose links count once for each topic; a cluster's coordinator cannot check them."""
SOLVER_BOUNDS = ("solver_bound", "solver_bound_at_degree")
"""The links that a solver found to be needed, and those at the plan's maximum degree: only it can say."""
DEGREE_BOUNDS = ("at_degree", "bound_at_degree", "gap_at_degree", "degree_bound")
"""What a plan that keeps degrees low proves: links at the degree `at_degree`, and the lowest degree."""
BUDGETS = ("max_edges", "max_degree")
"""A plan made with one of these parameters may leave topics split; any other claims to connect them all."""


@dataclass(frozen=True, eq=False)
class PlanClaims:
    """What a plan states of itself."""

    name: str
    """What messages call the plan, such as its folder."""
    algorithm: str
    parameters: Mapping[str, Any]
    figures: Mapping[str, Any]
    trees: Mapping[str, Any] | None = None
    """The figures that it states of its trees; None if it has no trees."""
    rates: bool = False
    """Whether the loads of its trees are messages a second, at rates that the plan does not keep."""

    @property
    def budgets(self) -> dict[str, int]:
        """The budgets that it was made under."""
        given = {name: self.parameters.get(name) for name in BUDGETS}
        return {name: budget for name, budget in given.items() if budget is not None}

    @property
    def k(self) -> int | None:
        """How connected its algorithm claims every topic to be: resilient's k, 2 by default."""
        if self.algorithm != "resilient":
            return None
        return 1 if self.parameters.get("k") == 1 else 2


@dataclass(frozen=True, eq=False)
class PlanProofs:
    """What a plan offers as proof of its claims, as far as it has any."""

    prices: pa.Table | None = None
    """`node, topic, price`: proves how many links are needed at least."""
    trees: TreeTables | None = None
    """The trees that its messages take."""
    degree_prices: pa.Table | None = None
    """`node, topic, at_degree, lowest_degree`: proves what a limit of the degree takes."""


@dataclass(frozen=True, eq=False)
class PlanReport:
    """What is true of a plan, and in which points it differs from what the plan states."""

    overlay: Overlay | None
    """The overlay, unless it is on a cluster."""
    outline: Outline
    verification: Verification
    disagreements: tuple[str, ...]
    """One line for each point in which the plan is wrong."""
    budgeted: bool
    """Whether it was made under a budget, and so may leave topics split."""
    k: int | None = None
    """Every topic must be k-connected: as requested, or as the plan claims. None: neither."""
    weak: WeakTopics | None = None
    """The topics that are not 2-connected, if they must be."""
    total_cost: float | None = None
    """The total cost of the links, if link costs were given."""
    stated_cost: float | None = None
    """The total cost that the plan states."""
    lower_bound: int | None = None
    """The number of links that its prices prove to be needed."""
    solver_bound: int | None = None
    """The number of links that its solver found to be needed, as the plan states it."""
    solver_bound_at_degree: int | None = None
    """The same for overlays with no higher maximum degree."""
    bound_rising: float | None = None
    """By how many links a second the bound rose when a limit of time cut the proof, as the plan states it."""
    at_degree: int | None = None
    """The degree for which the plan states a number of links."""
    degrees: DegreeProofs | None = None
    """What its prices and allowances prove of links at that degree, and of the lowest degree."""
    unchecked: tuple[str, ...] = ()
    """The figures that the plan states and that were not checked."""
    trees: int | None = None
    """The number of trees that the plan states, if they were checked."""
    unreachable: int | None = None
    """The number of topics that cannot have a tree, as the plan states it, if trees were checked."""

    def __repr__(self) -> str:
        size = f"{counted(len(self.outline), 'link')} over {counted(self.outline.nodes, 'node')}"
        found = f"; {counted(len(self.disagreements), 'disagreement')}" if self.disagreements else ""
        return f"PlanReport({'passed' if self.passed else 'failed'}: {size}{found})"

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_table

        outline = self.outline
        rows: list[tuple[str, object]] = [
            ("verdict", "passed" if self.passed else "failed"),
            ("links", f"{len(outline):,}"),
            ("nodes", f"{outline.nodes:,}"),
            ("every topic connected", "yes" if self.complete else "no"),
            *(("links needed at least", f"{bound:,}") for bound in [self.lower_bound] if bound is not None),
            *(("wrong", line) for line in self.disagreements),
        ]
        return html_table(rows)

    @property
    def gap(self) -> float | None:
        """An upper bound on its excess over the fewest links, as a share; None if unknown or incomplete."""
        known = [bound for bound in (self.lower_bound, self.solver_bound) if bound is not None]
        return gap(len(self.outline), max(known)) if known and self.complete else None

    @property
    def gap_at_degree(self) -> float | None:
        """The same among overlays with no higher degree than `at_degree`."""
        if self.degrees is None or self.at_degree is None or not self.complete:
            return None
        within = self.verification.degrees.maximum <= self.at_degree
        known = max(self.degrees.links, self.solver_bound_at_degree or 0)
        return gap(len(self.outline), known) if within else None

    @property
    def ok(self) -> bool:
        """Whether everything that the plan states is true."""
        return not self.disagreements

    @property
    def complete(self) -> bool:
        """Whether every topic is connected: a plan under a budget can be right without being complete."""
        return self.verification.connected

    @property
    def passed(self) -> bool:
        """Whether all it states is true, and every topic is k-connected.

        Without a k, topics must be connected unless the plan was made under a budget.
        """
        if not self.ok or self.weak:
            return False
        return self.complete or (self.budgeted and self.k is None)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, as `meshwright verify --json` prints them."""
        found = self.verification
        return {
            "verified": self.passed,
            "complete": self.complete,
            "edges": len(self.outline),
            "average_degree": found.degrees.average,
            "max_degree": found.degrees.maximum,
            "support": found.support,
            "split_topics": found.num_split_topics,
            "k": self.k,
            "weak_topics": None if self.weak is None else len(self.weak),
            "total_cost": self.total_cost,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "at_degree": self.at_degree,
            "bound_at_degree": None if self.degrees is None else self.degrees.links,
            "gap_at_degree": self.gap_at_degree,
            "degree_bound": None if self.degrees is None else self.degrees.degree,
            "trees": self.trees,
            "unreachable": self.unreachable,
            "cost_checked": None if self.stated_cost is None else self.total_cost is not None,
            "unchecked": list(self.unchecked),
            "disagreements": list(self.disagreements),
        }


def verify_plan(
    claims: PlanClaims,
    overlay: Overlay,
    proofs: PlanProofs,
    *,
    k: int | None = None,
    costs: LinkCosts | None = None,
    progress: Progress | None = None,
) -> PlanReport:
    """Recompute everything that a plan states, by code other than that which made it, and compare.

    With `k` every topic must be connected (1), or stay so when any one broker fails (2); a plan made by
    `resilient` claims that itself. Without `costs` the total cost that a plan states is not checked.

    Raises
    ------
    InputError
        If the plan was made with other costs, or k is neither 1 nor 2.
    CertificateError
        If its prices are not one for each subscription, from 0 to 1.
    """
    wanted = required_k(claims, k)
    found = verify_overlay(overlay, progress=progress)
    weak = weak_topics(overlay) if wanted == 2 else None
    return compare_with_claims(claims, overlay, found, k=wanted, weak=weak, costs=costs, proofs=proofs)


def quick_faults(claims: PlanClaims, overlay: Overlay, tables: TreeTables) -> list[str]:
    """Return what is wrong with a plan whose trees reach every topic, as far as numpy alone can tell.

    That is who gets which message, and how often. Contributions and hops are left to `verify_plan`, and so is
    support where there are relays: no kernel is loaded.
    """
    nodes = overlay.interest.num_nodes
    degrees = np.bincount(np.concatenate((overlay.u, overlay.v)), minlength=nodes)
    figures: dict[str, float | None] = {
        "nodes": nodes,
        "topics": overlay.interest.num_topics,
        "edges": len(overlay),
        "average_degree": int(degrees.sum()) / nodes if nodes else 0.0,
        "max_degree": int(degrees.max(initial=0)),
    }
    if claims.trees is not None and not claims.trees.get("relays"):
        figures["support"] = 1.0  # each tree joins all subscribers of its topic over links between them
    faults = tree_faults(overlay, tables, claims.trees or {}, rates=claims.rates, quick=True)
    return [*faults, *_wrong_figures(claims, figures)]


def required_k(claims: PlanClaims, k: int | None) -> int | None:
    """Return how connected every topic must be: as requested or as the plan claims, whichever is more."""
    if k not in (None, 1, 2):
        raise InputError(f"k is {k}: give 1 (connected) or 2 (connected when one broker fails)")
    return max((value for value in (k, claims.k) if value is not None), default=None)


def compare_with_claims(
    claims: PlanClaims,
    overlay: Overlay | Outline,
    found: Verification,
    *,
    k: int | None,
    weak: WeakTopics | None,
    costs: LinkCosts | None,
    proofs: PlanProofs | None,
) -> PlanReport:
    """Compare what is true of a plan's overlay with what the plan states.

    Without `proofs` its bound and its trees are not checked, and the report lists them as such. An outline
    is enough unless there are proofs or costs.
    """
    outline = overlay if isinstance(overlay, Outline) else Outline.of(overlay)
    figures: dict[str, float | None] = {
        "nodes": outline.nodes,
        "topics": outline.topics,
        "edges": outline.edges,
        "average_degree": found.degrees.average,
        "max_degree": found.degrees.maximum,
        "support": found.support,
    }
    bound = faults = degrees = None
    unchecked = {*SOLVER_BOUNDS}
    if proofs is None or isinstance(overlay, Outline):
        unchecked |= {"lower_bound", "gap", *DEGREE_BOUNDS, *PARALLEL}
    else:
        if proofs.prices is not None:
            bound = check_price_table(overlay.interest, proofs.prices)
        if proofs.trees is not None:
            faults = tree_faults(overlay, proofs.trees, claims.trees or {}, rates=claims.rates)
        if claims.figures.keys() & set(PARALLEL):
            figures |= _parallel_rings(overlay)
        figures |= {"lower_bound": bound, "gap": _gap(claims, len(overlay), bound, found)}
        degrees = _prove_degrees(claims, overlay, proofs)
        figures |= _degree_figures(claims, overlay, found, degrees)
    cost = None
    if costs is not None and not isinstance(overlay, Outline):
        cost = _total_cost(claims, overlay, costs)
    stated_cost = claims.figures.get("total_cost")
    left = [name for name in claims.figures if name in unchecked]
    if claims.trees is not None:
        left += ["trees"] if faults is None else LOADS if claims.rates else []
    trees = {} if faults is None or claims.trees is None else claims.trees
    return PlanReport(
        overlay=None if isinstance(overlay, Outline) else overlay,
        outline=outline,
        verification=found,
        disagreements=(
            *_wrong_figures(claims, figures),
            *_wrong_contributions(found),
            *_wrong_solver_bounds(claims, outline, found),
            *_exceeded_budgets(claims, outline, found),
            *_wrong_figures(
                claims, {"total_cost": cost} if cost is not None and stated_cost is not None else {}
            ),
            *(faults or ()),
        ),
        budgeted=bool(claims.budgets),
        k=k,
        weak=weak,
        total_cost=cost,
        stated_cost=stated_cost,
        lower_bound=bound,
        **{name: _solver_bound(claims, name) for name in SOLVER_BOUNDS if proofs is not None},
        bound_rising=claims.figures.get("bound_rising"),
        at_degree=None if degrees is None else claims.figures["at_degree"],
        degrees=degrees,
        unchecked=tuple(left),
        trees=trees.get("trees"),
        unreachable=trees.get("unreachable"),
    )


def _solver_bound(claims: PlanClaims, name: str = "solver_bound") -> int | None:
    stated = claims.figures.get(name)
    return stated if type(stated) is int else None


def _gap(claims: PlanClaims, links: int, bound: int | None, found: Verification) -> float | None:
    """Return the gap to the highest bound; older plans state the one to the certified bound, or none."""
    solver = _solver_bound(claims)
    if not found.connected or (bound is None and (solver is None or "gap" not in claims.figures)):
        return None
    certified = None if bound is None else gap(links, bound)
    if solver is None or (certified is not None and agree(certified, claims.figures.get("gap"))):
        return certified
    return gap(links, max(bound or 0, solver))


def _prove_degrees(claims: PlanClaims, overlay: Overlay, proofs: PlanProofs) -> DegreeProofs | None:
    """Return what is proven of degrees; nothing without a table, or without a degree to prove it for."""
    degree = claims.figures.get("at_degree")
    if proofs.degree_prices is None or type(degree) is not int or degree < 1:
        return None
    return check_degree_table(overlay.interest, proofs.degree_prices, degree)


def _degree_figures(
    claims: PlanClaims, overlay: Overlay, found: Verification, degrees: DegreeProofs | None
) -> dict[str, float | None]:
    """Return the figures about degrees as they are proven, for the degree that a plan must state.

    That is its maximum degree or, if it leaves topics split, the limit that it was made under.
    """
    if degrees is None:
        return dict.fromkeys(DEGREE_BOUNDS)
    degree = found.degrees.maximum if found.connected else claims.parameters.get("max_degree")
    above = gap(len(overlay), degrees.links) if found.connected else None
    solver = _solver_bound(claims, "solver_bound_at_degree")
    # Older plans of solvers state the gap to the certified bound.
    if above is not None and solver is not None and not agree(above, claims.figures.get("gap_at_degree")):
        above = gap(len(overlay), max(degrees.links, solver))
    return dict(zip(DEGREE_BOUNDS, (degree, degrees.links, above, degrees.degree), strict=True))


def _parallel_rings(overlay: Overlay) -> dict[str, float | None]:
    """Count the links of a ring per topic, topic by topic: two subscribers make one link, one makes none."""
    subscribers = Counter(overlay.interest.node_topics.tolist())
    links = sum(count if count > 2 else count - 1 for count in subscribers.values())
    return dict(zip(PARALLEL, (links, 2 * links / max(1, overlay.interest.num_nodes)), strict=True))


def _wrong_figures(claims: PlanClaims, figures: Mapping[str, float | None]) -> Iterator[str]:
    """Yield a line for each figure that is not as the plan states it."""
    for name, found in figures.items():
        stated = claims.figures.get(name)
        if not agree(found, stated):
            yield f"{name} is {'not known' if found is None else found}, the plan states {stated}"


def _wrong_contributions(found: Verification) -> Iterator[str]:
    if not found.contributions_agree:
        edges = first_five(found.wrong_contributions.tolist())
        yield f"the contributions of edges {edges} are not as stated"


def _wrong_solver_bounds(claims: PlanClaims, outline: Outline, found: Verification) -> Iterator[str]:
    """Yield a line if the overlay itself has fewer links than its solver says are needed."""
    for name in SOLVER_BOUNDS:
        solver = _solver_bound(claims, name)
        if solver is not None and found.connected and len(outline) < solver:
            yield f"{name} is {solver}, but the overlay connects every topic with {len(outline)} links"


def _exceeded_budgets(claims: PlanClaims, outline: Outline, found: Verification) -> Iterator[str]:
    spent = {"max_edges": len(outline), "max_degree": found.degrees.maximum}
    for name, budget in claims.budgets.items():
        if spent[name] > budget:
            yield f"{name} was {budget}, but the overlay has {spent[name]}"


def _total_cost(claims: PlanClaims, overlay: Overlay, costs: LinkCosts) -> float:
    """Return the total cost of a plan's links; the costs must be those that it was made with."""
    costs.check_made(claims.name, claims.parameters.get("costs"))
    return total_cost(overlay, costs)
