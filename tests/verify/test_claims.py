"""A plan passes if everything that it states is true, and fails, with the reason, if anything is not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calls import overlay_of
from meshwright import Interest, LinkCosts, Overlay, measure
from meshwright.errors import InputError
from meshwright.overlay import unchecked_overlay
from meshwright.plan_tables import ROLES, TREES, LinkTable, TreeTables
from meshwright.store.plan_parts import edge_table
from meshwright.verify import (
    PlanClaims,
    PlanProofs,
    PlanReport,
    Verification,
    verify_overlay,
    verify_plan,
)
from meshwright.verify.claims import compare_with_claims, required_k
from meshwright.verify.tree_check import TOLERANCE
from strategies import overlays

INTEREST = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"x", "y"}, "d": {"y"}})
PATH = overlay_of(INTEREST, [(0, 1), (1, 2), (2, 3)])
"""a, b, c, d in a row: every topic is connected; b and c are cut nodes of y, b of x."""
FIGURES: dict[str, Any] = {
    "nodes": 4, "topics": 2, "edges": 3, "average_degree": 1.5, "max_degree": 2, "support": 1.0,
    "seconds": 0.1,
}  # fmt: skip
COSTS = LinkCosts.from_coordinates(INTEREST, ["a", "b", "c", "d"], [0.0, 3.0, 3.0, 3.0], [0.0, 0.0, 4.0, 5.0])


def claims_of(**figures: Any) -> PlanClaims:
    """Return the claims of a true plan for PATH, with some figures changed or added."""
    return PlanClaims("the-plan", "gm", {}, FIGURES | figures)


def check(claims: PlanClaims, overlay: Overlay = PATH, **given: Any) -> PlanReport:
    return verify_plan(claims, overlay, given.pop("proofs", PlanProofs()), **given)


def price_table(*prices: int) -> pa.Table:
    names = INTEREST.to_arrow()
    return pa.table(
        [names.column("node"), names.column("topic"), pa.array(prices)], ["node", "topic", "price"]
    )


PRICES = price_table(*(2**29,) * 6, 2**30)
"""Pairs of a, b and c carry 1 each; x asks for 1, y for 2: three links are needed."""


def test_a_true_plan_passes() -> None:
    """Nothing is wrong, and nothing is left unchecked."""
    report = check(claims_of())
    assert (report.ok, report.complete, report.passed, report.budgeted) == (True, True, True, False)
    assert (report.disagreements, report.unchecked) == ((), ())
    assert report.overlay is PATH
    assert report.verification.degrees.maximum == 2
    assert (report.k, report.weak, report.total_cost, report.stated_cost) == (None, None, None, None)
    assert (report.lower_bound, report.gap, report.trees) == (None, None, None)


@given(overlays())
def test_any_overlay_agrees_with_its_own_figures(overlay: Overlay) -> None:
    """The figures of an overlay, stated as they are, are right, and so are its contributions."""
    interest, links = overlay.interest, measure.degrees(overlay)
    truth = Overlay(interest, overlay.u, overlay.v, measure.contributions(interest, overlay.u, overlay.v))
    stated = {
        "nodes": interest.num_nodes, "topics": interest.num_topics, "edges": len(overlay),
        "average_degree": links.average, "max_degree": links.maximum, "support": measure.support(overlay),
    }  # fmt: skip
    report = check(PlanClaims("plan", "gm", {}, stated), truth)
    assert report.ok
    assert report.passed == report.complete == (measure.components(overlay).of_topic <= 1).all()


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "seconds"])
@pytest.mark.parametrize("stated", [7, -1, 0.25, None, "1", math.nan, math.inf, 10**400])
def test_a_figure_that_is_not_so_is_named(name: str, stated: object) -> None:
    """Any other value, or none, is wrong: the line says what is found and what is stated."""
    report = check(claims_of(**{name: stated}))
    assert report.disagreements == (f"{name} is {FIGURES[name]}, the plan states {stated}",)
    assert not report.passed


def test_a_missing_figure_is_wrong() -> None:
    """A figure that is not stated at all is wrong, too."""
    figures = {name: value for name, value in FIGURES.items() if name != "support"}
    report = check(PlanClaims("plan", "gm", {}, figures))
    assert report.disagreements == ("support is 1.0, the plan states None",)


def test_true_is_not_one() -> None:
    """A figure of 1 stated as `true` is wrong, although Python holds them to be equal."""
    assert check(claims_of(support=True)).disagreements == ("support is 1.0, the plan states True",)


@pytest.mark.parametrize("name", ["average_degree", "support"])
@pytest.mark.parametrize("sign", [1, -1])
def test_only_rounding_is_forgiven(name: str, sign: int) -> None:
    """A figure may be off by one part in a thousand million, as other roundings are, and no more."""
    assert TOLERANCE == 1e-9
    value = FIGURES[name]
    assert check(claims_of(**{name: value * (1 + sign * 0.9e-9)})).ok
    assert not check(claims_of(**{name: value * (1 + sign * 1.1e-9)})).ok


def test_nothing_is_not_nearly_something() -> None:
    """Where a figure is 0, the tolerance is 0: the tiniest number is wrong."""
    alone = Overlay.empty(Interest.from_dict({"a": {"x"}}))
    stated = FIGURES | {"nodes": 1, "topics": 1, "edges": 0, "average_degree": 0, "max_degree": 0}
    assert check(PlanClaims("plan", "gm", {}, stated), alone).ok
    assert not check(PlanClaims("plan", "gm", {}, stated | {"average_degree": 1e-300}), alone).ok


def test_wrong_contributions_are_named() -> None:
    """The positions of edges that state another contribution than they have are listed, the first five."""
    wrong = unchecked_overlay(INTEREST, PATH.u, PATH.v, PATH.contribution + np.array([1, 0, 1]))
    expected = "the contributions of edges 0, 2 are not as stated"
    assert check(claims_of(), wrong).disagreements == (expected,)


@pytest.mark.parametrize(
    ("budgets", "disagreements"),
    [
        ({"max_edges": 3}, ()),
        ({"max_edges": 2}, ("max_edges was 2, but the overlay has 3",)),
        ({"max_degree": 2}, ()),
        ({"max_degree": 1}, ("max_degree was 1, but the overlay has 2",)),
        ({"max_degree": 0, "max_edges": 0}, (
            "max_edges was 0, but the overlay has 3", "max_degree was 0, but the overlay has 2",
        )),
    ],
)  # fmt: skip
def test_budgets_must_be_kept(budgets: dict[str, int], disagreements: tuple[str, ...]) -> None:
    """A plan may use up its budget, and no more."""
    report = check(replace(claims_of(), parameters=budgets))
    assert report.disagreements == disagreements
    assert report.budgeted


PARTIAL = PATH.prefix(2)
PARTIAL_FIGURES = {"edges": 2, "average_degree": 1.0, "support": 0.8}


@pytest.mark.parametrize(
    ("parameters", "k", "passes"),
    [
        ({}, None, False),
        ({"max_edges": None, "max_degree": None}, None, False),
        ({"max_edges": 2}, None, True),
        ({"max_degree": 2}, None, True),
        ({"max_edges": 2}, 1, False),
    ],
)
def test_a_partial_plan_needs_a_budget(parameters: dict[str, Any], k: int | None, passes: bool) -> None:
    """A plan that leaves a topic split passes if it had a budget, and nobody asks for connected topics."""
    claims = replace(claims_of(**PARTIAL_FIGURES), parameters=parameters)
    report = check(claims, PARTIAL, k=k)
    assert (report.ok, report.complete, report.passed) == (True, False, passes)
    assert report.budgeted == any(value is not None for value in parameters.values())
    assert report.verification.split_topics.tolist() == [1]


def test_a_wrong_plan_never_passes() -> None:
    """Neither a budget nor a connected overlay makes up for a figure that is not so."""
    assert not check(claims_of(support=0.5)).passed
    assert not check(
        replace(claims_of(**PARTIAL_FIGURES | {"edges": 1}), parameters={"max_edges": 9}), PARTIAL
    ).passed


@pytest.mark.parametrize(
    ("algorithm", "parameters", "asked", "required"),
    [
        ("gm", {}, None, None),
        ("gm", {"k": 2}, None, None),
        ("gm", {}, 1, 1),
        ("gm", {}, 2, 2),
        ("resilient", {}, None, 2),
        ("resilient", {"k": 2}, None, 2),
        ("resilient", {"k": 2.0}, None, 2),
        ("resilient", {"k": 1}, None, 1),
        ("resilient", {"k": 1.0}, None, 1),
        ("resilient", {"k": 1}, 2, 2),
        ("resilient", {"k": 2}, 1, 2),
    ],
)
def test_k_is_the_larger_of_asked_and_claimed(
    algorithm: str, parameters: dict[str, Any], asked: int | None, required: int | None
) -> None:
    """A plan must be as connected as somebody asks, and as it claims itself."""
    assert required_k(PlanClaims("plan", algorithm, parameters, {}), asked) == required


@pytest.mark.parametrize("k", [0, 3, -1])
def test_other_k_are_rejected(k: int) -> None:
    """Only 1 and 2 can be checked."""
    with pytest.raises(InputError, match=f"k is {k}: give 1"):
        check(claims_of(), k=k)


def test_weak_topics_fail_a_plan_that_must_survive_failures() -> None:
    """A path is connected and not 2-connected; a square is both."""
    report = check(claims_of(), k=2)
    assert report.weak is not None
    assert (report.weak.topics.tolist(), report.weak.nodes.tolist()) == ([0, 1], [1, 1])
    assert (report.ok, report.complete, report.passed, report.k) == (True, True, False, 2)
    assert check(claims_of(), k=1).weak is None
    assert check(claims_of(), k=1).passed
    square = overlay_of(INTEREST, [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    stated = claims_of(edges=5, average_degree=2.5, max_degree=3)
    report = check(replace(stated, algorithm="resilient"), square)
    assert report.weak is not None
    assert (len(report.weak), report.passed, report.k) == (0, True, 2)


def test_the_total_cost_is_recomputed() -> None:
    """Links of lengths 3, 4 and 1 cost 8; without costs the figure is stated but not checked."""
    report = check(claims_of(total_cost=8.0), costs=COSTS)
    assert (report.ok, report.total_cost, report.stated_cost) == (True, 8.0, 8.0)
    assert check(claims_of(total_cost=8.0 * (1 + 0.9e-9)), costs=COSTS).ok
    wrong = check(claims_of(total_cost=8.0 * (1 + 1.1e-9)), costs=COSTS)
    assert wrong.disagreements == (f"total_cost is 8.0, the plan states {8.0 * (1 + 1.1e-9)}",)
    unchecked = check(claims_of(total_cost=9.0))
    assert (unchecked.ok, unchecked.total_cost, unchecked.stated_cost) == (True, None, 9.0)
    silent = check(claims_of(), costs=COSTS)
    assert (silent.ok, silent.total_cost, silent.stated_cost) == (True, 8.0, None)


def test_costs_must_be_those_of_the_plan() -> None:
    """Other costs than the plan was made with are bad input, and the message names the plan."""
    claims = claims_of(total_cost=8.0)
    assert check(replace(claims, parameters={"costs": COSTS.description}), costs=COSTS).ok
    with pytest.raises(
        InputError, match=r"plan the-plan was made with other link costs \(places 0,.*give those"
    ):
        check(replace(claims, parameters={"costs": "places 0"}), costs=COSTS)
    assert check(replace(claims, parameters={"costs": "places 0"})).ok


def test_the_bound_is_what_the_prices_prove() -> None:
    """Three links are needed and three are there: the gap is 0, and any other bound or gap is wrong."""
    report = check(claims_of(lower_bound=3, gap=0.0), proofs=PlanProofs(PRICES))
    assert (report.ok, report.lower_bound, report.gap) == (True, 3, 0.0)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"lower_bound": 4, "gap": 0.0}, "lower_bound is 3, the plan states 4"),
        ({"lower_bound": 3, "gap": 0.5}, "gap is 0.0, the plan states 0.5"),
        ({"lower_bound": 3}, "gap is 0.0, the plan states None"),
        ({"gap": 0.0}, "lower_bound is 3, the plan states None"),
    ]
    for stated, line in cases:
        assert check(claims_of(**stated), proofs=PlanProofs(PRICES)).disagreements == (line,)


def test_a_bound_without_prices_is_wrong() -> None:
    """Nothing proves it, so neither it nor its gap is known."""
    report = check(claims_of(lower_bound=3, gap=0.0))
    assert report.disagreements == (
        "lower_bound is not known, the plan states 3",
        "gap is not known, the plan states 0.0",
    )


def test_prices_that_prove_nothing_leave_no_gap() -> None:
    """A bound of 0 is a bound, but no links are a share of it."""
    report = check(claims_of(lower_bound=0), proofs=PlanProofs(price_table(*(0,) * 7)))
    assert (report.ok, report.lower_bound, report.gap) == (True, 0, None)


def test_a_partial_plan_has_a_bound_and_no_gap() -> None:
    """What connects only some topics is not compared with what connects them all."""
    claims = replace(claims_of(lower_bound=3, **PARTIAL_FIGURES), parameters={"max_edges": 2})
    report = check(claims, PARTIAL, proofs=PlanProofs(PRICES))
    assert (report.ok, report.lower_bound, report.gap) == (True, 3, None)
    stated = replace(claims, figures={**claims.figures, "gap": -1 / 3})
    assert not check(stated, PARTIAL, proofs=PlanProofs(PRICES)).ok


TREE_ROWS = [("x", None, "b"), ("x", "b", "a"), ("x", "b", "c"),
             ("y", None, "b"), ("y", "b", "a"), ("y", "b", "c"), ("y", "c", "d")]  # fmt: skip
TREES_OF_PATH = TreeTables(
    LinkTable(edge_table(PATH)),
    pa.table([pa.array(column, pa.string()) for column in zip(*TREE_ROWS, strict=True)], schema=TREES),
    ROLES.empty_table(),
)
TREE_FIGURES = {
    "trees": 2, "mean_hops": 14 / 9, "usual_hops": 3, "max_hops": 3, "mean_max_hops": 2.5,
    "max_link_load": 2.0, "mean_link_load": 5 / 3, "max_broker_load": 2.0, "links_used": 3, "relays": 0,
    "publishers": 0, "unreachable": 0,
}  # fmt: skip


def test_trees_are_checked() -> None:
    """Sound trees are counted; faults of theirs are disagreements of the plan."""
    claims = replace(claims_of(), trees=TREE_FIGURES)
    report = check(claims, proofs=PlanProofs(trees=TREES_OF_PATH))
    assert (report.ok, report.trees, report.unchecked) == (True, 2, ())
    stated = replace(claims, trees={**TREE_FIGURES, "trees": 3})
    report = check(stated, proofs=PlanProofs(trees=TREES_OF_PATH))
    assert report.disagreements == ("routes: trees is 2, the plan states 3",)
    assert report.trees == 3


def test_loads_at_rates_are_not_checked() -> None:
    """Loads at rates that the plan does not keep are listed as not checked; all other figures still are."""
    loads = {"max_link_load": 7.5, "mean_link_load": 0.5, "max_broker_load": 8.5}
    claims = replace(claims_of(), trees={**TREE_FIGURES, **loads}, rates=True)
    proofs = PlanProofs(trees=TREES_OF_PATH)
    report = check(claims, proofs=proofs)
    assert (report.ok, report.unchecked) == (True, tuple(loads))
    assert len(check(replace(claims, rates=False), proofs=proofs).disagreements) == 3
    stated = replace(claims, trees={**TREE_FIGURES, **loads, "max_hops": 4})
    assert check(stated, proofs=proofs).disagreements == ("routes: max_hops is 3, the plan states 4",)


def test_what_is_not_checked_is_listed() -> None:
    """A solver's bound is its own word; trees and prices that are not at hand are left out."""
    found = verify_overlay(PATH)
    claims = replace(claims_of(lower_bound=3, gap=0.0, solver_bound=3), trees=TREE_FIGURES)
    report = without_proofs(claims, found)
    assert report.ok
    assert report.unchecked == ("lower_bound", "gap", "solver_bound", "trees")
    assert (report.lower_bound, report.gap, report.trees) == (None, None, None)
    assert without_proofs(claims_of(), found).unchecked == ()
    report = check(replace(claims, figures=claims_of(solver_bound=1).figures), proofs=PlanProofs())
    assert report.unchecked == ("solver_bound", "trees")
    assert (report.ok, report.trees) == (True, None)


def without_proofs(claims: PlanClaims, found: Verification) -> PlanReport:
    return compare_with_claims(claims, PATH, found, k=None, weak=None, costs=None, proofs=None)


def test_disagreements_come_in_order() -> None:
    """Figures, contributions, budgets, cost, trees: each point has its line."""
    wrong = unchecked_overlay(INTEREST, PATH.u, PATH.v, PATH.contribution + 1)
    claims = replace(
        claims_of(nodes=5, lower_bound=4, gap=0.0, total_cost=1.0), parameters={"max_edges": 1}, trees={}
    )
    report = check(claims, wrong, costs=COSTS, proofs=PlanProofs(PRICES, TREES_OF_PATH))
    assert [line.split()[0] for line in report.disagreements] == [
        "nodes", "lower_bound", "the", "max_edges", "total_cost", *["routes:"] * 12,
    ]  # fmt: skip


def test_a_report_is_plain_data() -> None:
    """The report of a plan as a dictionary has every finding, in a fixed order."""
    claims = replace(claims_of(lower_bound=3, gap=0.0, total_cost=8.0, solver_bound=3), trees=TREE_FIGURES)
    report = check(claims, k=2, costs=COSTS, proofs=PlanProofs(PRICES, TREES_OF_PATH))
    assert list(report.to_dict().items()) == [
        ("verified", False), ("complete", True), ("edges", 3), ("average_degree", 1.5), ("max_degree", 2),
        ("support", 1.0), ("split_topics", 0), ("k", 2), ("weak_topics", 2), ("total_cost", 8.0),
        ("lower_bound", 3), ("gap", 0.0), ("at_degree", None), ("bound_at_degree", None),
        ("gap_at_degree", None), ("degree_bound", None), ("trees", 2), ("unreachable", 0),
        ("cost_checked", True), ("unchecked", ["solver_bound"]), ("disagreements", []),
    ]  # fmt: skip
    assert check(claims).to_dict()["cost_checked"] is False
    plain = check(claims_of(support=0.5)).to_dict()
    assert (plain["cost_checked"], plain["weak_topics"]) == (None, None)
    assert plain["disagreements"] == ["support is 1.0, the plan states 0.5"]
    partial = check(claims_of(**PARTIAL_FIGURES), PARTIAL).to_dict()
    assert (partial["verified"], partial["complete"], partial["split_topics"]) == (False, False, 1)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_figures_agree_if_they_are_nearly_equal(found: float, stated: float) -> None:
    """Agreement is symmetric, holds for equals, and is that of the relative difference."""
    report = without_proofs(claims_of(support=stated), replace(verify_overlay(PATH), support=found))
    near = found == stated or abs(found - stated) <= 1e-9 * max(abs(found), abs(stated))
    assert report.ok == near
