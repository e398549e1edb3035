"""Greedy Merge and Low-ODA with link costs: by name, in a plan, and which options they exclude."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import meshwright as mw
from calls import triples
from meshwright.costs.link_costs import LinkCosts, total_cost
from meshwright.designs.by_contribution import gm, low
from meshwright.designs.design import design
from meshwright.designs.registry import DESIGNS
from meshwright.errors import InputError
from meshwright.formatting import amount
from meshwright.greedy import Tuning, candidates, rules
from meshwright.greedy.weighted import grow
from meshwright.overlay import Overlay
from meshwright.report import comparison
from meshwright.report.tables import name_of
from meshwright.workloads import zipf


@pytest.fixture(scope="module")
def interest() -> mw.Interest:
    return zipf(50, 20, size=5, seed=1)


@pytest.fixture(scope="module")
def costs(interest: mw.Interest) -> LinkCosts:
    x, y = np.random.default_rng(3).random((2, 50))
    return LinkCosts.from_coordinates(interest, interest.node_names, x, y)


@pytest.mark.parametrize(
    ("algorithm", "parameters", "rule", "budgets"),
    [
        ("gm", {}, rules.gm, {}),
        ("gm", {"max_edges": 9, "max_degree": 2}, rules.gm, {"max_edges": 9, "max_degree": 2}),
        ("gm", {"rounds": 1}, rules.gm, {}),
        ("low", {}, rules.low(3), {}),
        ("low", {"k": 1.5, "max_degree": 3}, rules.low(1.5), {"max_degree": 3}),
    ],
)
def test_designs_are_calls_of_weighted_growth(
    interest: mw.Interest, costs: LinkCosts, algorithm: str, parameters: Any, rule: rules.Rule, budgets: Any
) -> None:
    """With costs, each design is weighted growth under its rule and budgets; threads change nothing."""
    expected = triples(grow(interest, rule, costs, **budgets))
    for threads in (1, 2):
        plan = design(interest, algorithm, costs=costs, threads=threads, **parameters)
        assert triples(plan.overlay) == expected
        assert plan.parameters == {**parameters, "costs": costs.description}
    assert expected != triples(design(interest, algorithm, **parameters).overlay)


def test_a_plan_states_its_total_cost(interest: mw.Interest, costs: LinkCosts) -> None:
    """Figures and summary contain the total cost if and only if the plan has costs."""
    plan = design(interest, "gm", costs=costs)
    assert plan.figures["total_cost"] == total_cost(plan.overlay, costs)
    assert f"cost: {amount(plan.figures['total_cost'])} in all" in plan.summary().splitlines()
    assert name_of(plan) == "Greedy Merge (by cost)"
    plain = design(interest, "ring")
    assert "total_cost" not in plain.figures
    assert "cost" not in plain.summary()
    priced = replace(plain, costs=costs)
    assert priced.figures == {**plain.figures, "total_cost": total_cost(plain.overlay, costs)}
    headings = [str(column.header) for column in comparison([plan, priced], verified=[True, True]).columns]
    assert [heading.replace("\n", " ") for heading in headings[-2:]] == ["total cost", " verified"]
    assert "total\ncost" not in [str(column.header) for column in comparison([plan, plain]).columns]


@pytest.mark.parametrize("algorithm", sorted(set(DESIGNS) - {"gm", "low"}))
def test_others_do_not_weigh_costs(interest: mw.Interest, costs: LinkCosts, algorithm: str) -> None:
    """A design that does not use costs rejects them instead of ignoring them."""
    with pytest.raises(InputError, match=f"{algorithm} takes no parameter 'costs'"):
        design(interest, algorithm, costs=costs)


def test_what_costs_cannot_be_combined_with(interest: mw.Interest, costs: LinkCosts) -> None:
    """Rounds, and engine options that weighted growth lacks, are rejected by name; None counts as absent."""
    with pytest.raises(InputError, match="costs and rounds cannot be combined"):
        gm(interest, costs=costs, rounds=2)
    options: dict[str, Any] = {
        "start": Overlay.empty(interest),
        "candidates": candidates.everything,
        "topics": [1],
        "tuning": Tuning(),
    }
    for name, value in options.items():
        for build in (gm, low):
            with pytest.raises(InputError, match=f"{name} and costs cannot be combined"):
                build(interest, costs=costs, **{name: value})
            nothing: dict[str, Any] = {name: None}
            assert len(build(interest, costs=costs, max_edges=3, **nothing)) == 3


def test_costs_must_be_link_costs(interest: mw.Interest) -> None:
    """Anything but LinkCosts is rejected, and the error says how to load them."""
    with pytest.raises(InputError, match="costs are str: make them by LinkCosts or load_costs"):
        design(interest, "gm", costs="places.csv")  # type: ignore[arg-type]
