"""Designs by name: lookup, checks of parameters, figures and summaries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshwright as mw
from calls import triples
from meshwright.designs.best import best
from meshwright.designs.design import design
from meshwright.designs.front import front
from meshwright.designs.registry import DESIGNS, PARAMETERS, find
from meshwright.errors import InputError
from meshwright.formatting import percentage
from meshwright.greedy import grow, rules
from meshwright.verify import verify_overlay
from meshwright.workloads import unif, zipf
from strategies import interests

BUDGETS: dict[str, dict[str, Any]] = {
    "gpa": {"max_edges": 20},
    "gpm": {"max_degree": 3},
    "spidercastm": {"max_degree": 3},
    "randoma": {"max_edges": 20},
    "randomm": {"max_degree": 3},
}
GIVEN = {**BUDGETS, "best": {"steps": 50}, "exact": {"time_limit": 0.5}}
"""What each design is called with here, if anything."""


@pytest.fixture(scope="module")
def interest() -> mw.Interest:
    return zipf(50, 20, size=5, seed=1)


def test_an_unknown_algorithm_lists_the_known_ones(interest: mw.Interest) -> None:
    """A misspelled name is answered with the list of all names."""
    for ask in (find, lambda name: design(interest, name)):
        with pytest.raises(InputError, match="no algorithm 'gn': did you mean 'gm'") as caught:
            ask("gn")
        for name in DESIGNS:
            assert f" {name}" in str(caught.value)


@pytest.mark.parametrize(("algorithm", "known"), [("ring", "none"), ("gpa", "max_edges"), ("low", "k, max")])
def test_an_unknown_parameter_lists_the_known_ones(interest: mw.Interest, algorithm: str, known: str) -> None:
    """A parameter that the design does not take is named, with those that it takes."""
    with pytest.raises(
        InputError, match=f"{algorithm} takes no parameter 'colour': leave it out; it takes: {known}"
    ):
        design(interest, algorithm, colour="red", **BUDGETS.get(algorithm, {}))


@pytest.mark.parametrize(("algorithm", "missing"), [(name, next(iter(BUDGETS[name]))) for name in BUDGETS])
def test_a_missing_parameter_is_named(interest: mw.Interest, algorithm: str, missing: str) -> None:
    """A design that needs a budget does not run without it, or with None for it."""
    chosen: list[dict[str, Any]] = [{}, {missing: None}]
    for parameters in chosen:
        with pytest.raises(InputError, match=f"{algorithm} needs {missing}, the budget"):
            design(interest, algorithm, **parameters)


@pytest.mark.parametrize("parameters", [{"max_edges": -1}, {"max_degree": 1.5}, {"rounds": 0}])
def test_bad_values_are_rejected_by_the_design(interest: mw.Interest, parameters: dict[str, Any]) -> None:
    """An error of the engine or of the design is passed on unchanged."""
    with pytest.raises(InputError, match=r": give "):
        design(interest, "gm", **parameters)


@pytest.mark.parametrize("algorithm", ["gm", "ring", "randoma"])
@pytest.mark.parametrize("seed", ["x", "1", -1, 1.5, True, None])
def test_a_bad_seed_is_rejected(interest: mw.Interest, algorithm: str, seed: Any) -> None:
    """A plan states its seed, so it is a whole number of at least 0 also where nothing is random."""
    with pytest.raises(InputError, match=f"^seed is {seed!r}: give a whole number of 0 or more$"):
        design(interest, algorithm, seed=seed, **BUDGETS.get(algorithm, {}))
    with pytest.raises(InputError, match="seed is "):
        front(interest, steps=0, seed=seed)


@pytest.mark.parametrize("search", [best, front, mw.advise])
def test_two_limits_of_any_search_are_rejected(interest: mw.Interest, search: Any) -> None:
    """Also where `design` is not in between, and even if the seconds are the default."""
    with pytest.raises(InputError, match=r"^seconds and steps both limit the search: give one of them$"):
        search(interest, seconds=20.0, steps=1)


def test_two_limits_of_a_search_are_rejected(interest: mw.Interest) -> None:
    """A search stops after seconds or after steps: with both, one would be ignored."""
    with pytest.raises(InputError, match="seconds and steps both limit the search: give one of them"):
        design(interest, "best", seconds=1, steps=1)
    assert design(interest, "best", seconds=None, steps=0).parameters == {"steps": 0}


@pytest.mark.parametrize("algorithm", DESIGNS)
def test_figures_agree_with_what_is_measured(interest: mw.Interest, algorithm: str) -> None:
    """A plan's figures are those that independent code finds in its edges, and it states how it was made."""
    plan = design(interest, algorithm, seed=4, **GIVEN.get(algorithm, {}))
    found, figures = verify_overlay(plan.overlay), plan.figures
    assert (plan.algorithm, plan.parameters, plan.seed) == (algorithm, GIVEN.get(algorithm, {}), 4)
    assert found.contributions_agree
    assert found.connected == (algorithm not in BUDGETS)
    assert figures == {
        "nodes": 50,
        "topics": 20,
        "edges": len(plan.overlay),
        "average_degree": pytest.approx(2 * len(plan.overlay) / 50),
        "max_degree": found.degrees.maximum,
        "support": pytest.approx(plan.overlay.contribution.sum() / (250 - 20)),
        "seconds": plan.seconds,
        **({"solver_bound": plan.solver_bound, "gap": plan.figures["gap"]} if algorithm == "exact" else {}),
        # Every topic has more than two subscribers here, so each subscription is two ends of links.
        **({"parallel_edges": 250, "parallel_average_degree": 10} if algorithm == "ring" else {}),
    }
    assert plan.seconds > 0


@pytest.mark.parametrize("algorithm", DESIGNS)
@settings(max_examples=5)
@given(interests(6, 4), st.data())
def test_overlays_of_every_design_pass(algorithm: str, interest: mw.Interest, data: st.DataObject) -> None:
    """Whoever builds the same overlay passes the check of contributions; not with one of them wrong."""
    made = design(interest, algorithm, **GIVEN.get(algorithm, {})).overlay
    assert mw.Overlay(interest, made.u, made.v, made.contribution).edges == made.edges
    if len(made):
        wrong = made.contribution.copy()
        wrong[data.draw(st.integers(0, len(made) - 1))] += data.draw(st.sampled_from([-1, 1]))
        with pytest.raises(InputError, match=r"Overlay\.from_edges"):
            mw.Overlay(interest, made.u, made.v, wrong)


@pytest.mark.parametrize("algorithm", DESIGNS)
def test_summary_says_the_figures(interest: mw.Interest, algorithm: str) -> None:
    """The summary is a few lines with name, parameters, links, degrees and support."""
    plan = design(interest, algorithm, **GIVEN.get(algorithm, {}))
    first, second, third, *_ = plan.summary().splitlines()
    assert first.startswith(algorithm)
    assert f": {len(plan.overlay)} links over 50 nodes and 20 topics" in first
    for name, value in plan.parameters.items():
        assert f"({name} = {value})" in first
    assert second.endswith(f"{plan.figures['max_degree']} at most")
    assert percentage(plan.figures["support"]) in third


@pytest.mark.parametrize(
    ("algorithm", "parameters", "rule", "options"),
    [
        ("gm", {}, rules.gm, {}),
        ("gm", {"max_edges": 9, "max_degree": 2}, rules.gm, {"max_edges": 9, "max_degree": 2}),
        ("minmax", {}, rules.minmax, {}),
        ("low", {}, rules.low(3), {}),
        ("low", {"k": 1.5, "max_degree": 3}, rules.low(1.5), {"max_degree": 3}),
        ("low", {"strict": True}, rules.low(3, strict=True), {}),
        ("low", {"k": 1, "strict": True}, rules.gm, {}),
        ("low", {"literal": True, "max_edges": 30}, rules.low(3), {"max_edges": 30}),
        ("gpa", {"max_edges": 20}, rules.gm, {"max_edges": 20}),
        ("gpm", {"max_degree": 3}, rules.minmax, {"max_degree": 3}),
    ],
)
def test_designs_are_calls_of_the_engine(
    interest: mw.Interest, algorithm: str, parameters: Any, rule: rules.Rule, options: Any
) -> None:
    """Each greedy design is the engine under its rule and budgets; threads change nothing."""
    expected = triples(grow(interest, rule, **options))
    assert triples(design(interest, algorithm, **parameters).overlay) == expected
    assert triples(design(interest, algorithm, threads=2, **parameters).overlay) == expected


@pytest.mark.parametrize("algorithm", DESIGNS)
def test_nothing_to_design(algorithm: str) -> None:
    """Every design answers for an interest without nodes, and for one node: no links, support 1."""
    for empty in (mw.Interest.from_dict({}), mw.Interest.from_dict({"a": {"x"}})):
        plan = design(empty, algorithm, **BUDGETS.get(algorithm, {}))
        assert len(plan.overlay) == 0
        assert plan.figures["support"] == 1
        assert "0 links" in plan.summary()


@pytest.mark.parametrize("name", DESIGNS)
def test_designs_say_what_they_are(name: str) -> None:
    """Each is listed under its own name, with a guarantee and a reference, and needs only what it takes."""
    chosen = find(name)
    assert chosen.name == name
    assert chosen.guarantee
    assert chosen.reference.startswith(("podc07", "icdcs10", "icdcs16", "ours"))
    assert chosen.required <= chosen.parameters.keys()


@pytest.mark.parametrize("algorithm", [name for name in DESIGNS if DESIGNS[name].seeded])
def test_the_seed_reaches_random_designs(interest: mw.Interest, algorithm: str) -> None:
    """A plan is the same for the same seed, and another for another one."""
    given = dict(GIVEN.get(algorithm, {}))
    if "coverage_greedy" in DESIGNS[algorithm].parameters:
        given["coverage_greedy"] = 0  # random picks come last, and a low limit leaves no room for them
    once, again, other = (
        triples(design(interest, algorithm, seed=seed, **given).overlay) for seed in (1, 1, 2)
    )
    assert once == again
    assert once != other


def test_a_split_plan_is_measured_at_its_own_limit() -> None:
    """A split plan has a proof at the limit of its degree; one that lacks only links has none."""
    interest = unif(40, 12, min_size=2, max_size=6, seed=1)
    budget = design(interest, "low", max_edges=5, certify=True)
    both = design(interest, "low", max_edges=5, max_degree=7, certify=True)
    assert budget.figures["support"] < 1
    assert both.figures["max_degree"] < 7
    assert budget.prices is not None
    assert budget.degree_proof is None
    assert both.figures["at_degree"] == 7


@pytest.mark.parametrize(("name", "variant"), [("cd1", "weight"), ("cd2", "density")])
def test_variants_have_the_names_of_the_paper(interest: mw.Interest, name: str, variant: str) -> None:
    """A variant's name makes the same links as its design with that parameter, and stays in the plan."""
    named = design(interest, name)
    assert triples(named.overlay) == triples(design(interest, "cd", variant=variant).overlay)
    assert (named.algorithm, named.parameters) == (name, {})
    assert triples(named.overlay) != triples(design(interest, "cd").overlay)
    with pytest.raises(InputError, match=f"{name} takes no parameter 'variant': leave it out, or take cd"):
        design(interest, name, variant=variant)


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_is_declared_with_its_values(name: str) -> None:
    """Each belongs to a design, which says what it means, and refuses values of another type or range."""
    declared = PARAMETERS[name]
    assert any(name in known.parameters for known in DESIGNS.values())
    wrong: list[Any] = ["x", True if declared.kind is not bool else 1]
    wrong += [] if declared.least is None else [declared.least - 1, float("nan")]
    wrong += [] if declared.most is None else [declared.most + 0.5]
    for value in wrong:
        with pytest.raises(InputError, match=f"^{name} is {value!r}: (give|choose) "):
            declared.check(name, value)


def test_every_parameter_of_a_design_is_declared() -> None:
    """All but the table of link costs have a type and a range."""
    assert {name for known in DESIGNS.values() for name in known.parameters} == {*PARAMETERS, "costs"}
