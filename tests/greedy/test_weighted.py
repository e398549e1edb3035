"""Weighted growth is exact: its links are the naive twin's, and the engine's where all costs are equal."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import COMPILED, RULES, crowds, examples, seeds, triples
from meshwright import Interest
from meshwright.costs.link_costs import LinkCosts, total_cost
from meshwright.designs.design import design
from meshwright.errors import InputError
from meshwright.greedy import engine, rules, weighted
from meshwright.greedy.rules import Rule
from meshwright.greedy.weighted import grow
from meshwright.verify import verify_overlay
from meshwright.workloads import WORKLOADS, zipf
from naive_weighted import by_place, some_costs, table, twin
from strategies import interests

WITH_COSTS = {name: rule for name, rule in RULES.items() if not rule.strict}
every_rule = pytest.mark.parametrize("rule", WITH_COSTS.values(), ids=WITH_COSTS)
windows = st.sampled_from([1, 2, 3, 24])
small = st.one_of(interests(most_nodes=10, most_topics=5), crowds(nodes=(2, 22), subscriptions=90))


def planar(interest: Interest, seed: int) -> LinkCosts:
    """Place the nodes at random in the unit square."""
    x, y = np.random.default_rng(seed).random((2, interest.num_nodes))
    return LinkCosts.from_coordinates(interest, interest.node_names, x, y)


@every_rule
@settings(max_examples=examples(50, 15))
@given(small, seeds, windows)
def test_links_are_the_twins(rule: Rule, interest: Interest, seed: int, window: int) -> None:
    """Under any rule, budgets and costs, by table or by place, each link is the twin's, in order."""
    rng = np.random.default_rng(seed)
    costs, cost = some_costs(rng, interest)
    max_edges = int(rng.integers(2 * interest.num_nodes + 1)) if rng.random() < 0.3 else None
    max_degree = int(rng.integers(7)) if rng.random() < 0.4 else None
    grown = grow(interest, rule, costs, max_edges=max_edges, max_degree=max_degree, window=window)
    assert triples(grown) == twin(interest, rule, cost, max_edges=max_edges, max_degree=max_degree)


@every_rule
@settings(max_examples=examples(40, 8))
@given(crowds(), seeds, windows, st.sampled_from([0.1, 0.7, 1.0, 3.0, 1e9]))
def test_equal_costs_give_the_engines_links(
    rule: Rule, interest: Interest, seed: int, window: int, price: float
) -> None:
    """Where all links cost the same, the links are the unweighted engine's, in order."""
    pairs = combinations(range(interest.num_nodes), 2)
    costs, _ = table(interest, dict.fromkeys(pairs, price))
    here = np.full(interest.num_nodes, 0.3)
    at_one_place = LinkCosts.from_coordinates(interest, interest.node_names, here, here)
    rng = np.random.default_rng(seed)
    budget = int(rng.integers(7)) if rng.random() < 0.4 else None
    expected = triples(engine.grow(interest, rule, max_degree=budget))
    for same in (costs, at_one_place):
        assert triples(grow(interest, rule, same, max_degree=budget, window=window)) == expected


@settings(max_examples=examples(35, 15))
@given(crowds(), st.integers(1, 9), st.integers(1, 9), st.sampled_from([-math.inf, 0, math.inf]))
def test_any_k_gives_the_engines_links(interest: Interest, a: int, b: int, towards: float) -> None:
    """At equal costs, with ratios of contributions as k and the floats next to them, it equals the engine."""
    ratio = max(a, b) / min(a, b)
    rule = rules.low(max(1.0, math.nextafter(ratio, towards) if towards else ratio))
    costs, _ = table(interest, dict.fromkeys(combinations(range(interest.num_nodes), 2), 0.7))
    assert triples(grow(interest, rule, costs)) == triples(engine.grow(interest, rule))


@pytest.mark.parametrize("unit", [0.7, 1.0, 3.0])
@pytest.mark.parametrize(("k", "sparing"), [(3.0, True), (math.nextafter(3, 0), False), (2.0, False)])
def test_a_sparing_link_is_taken_if_good_enough(k: float, sparing: bool, unit: float) -> None:
    """For k = 3, a degree-sparing link is taken if it is worth at least a third of the best value."""
    interest = Interest.from_dict({0: range(9), 1: range(5), 2: range(5, 8), 3: [10], 4: [10]})
    cost = dict.fromkeys(combinations(range(5), 2), unit) | {(1, 2): 2 * unit}
    costs, _ = table(interest, cost)
    expected = [(0, 1, 5), *([(3, 4, 1), (0, 2, 3)] if sparing else [(0, 2, 3), (3, 4, 1)])]
    assert triples(grow(interest, rules.low(k), costs)) == twin(interest, rules.low(k), cost) == expected


def test_many_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result columns grow: a star is complete and in order."""
    monkeypatch.setattr(engine, "ROOM", 2)
    interest = Interest.from_dict({v: {"x"} for v in range(40)})
    here = np.zeros(40)
    costs = LinkCosts.from_coordinates(interest, interest.node_names, here, here)
    assert triples(grow(interest, rules.gm, costs)) == [(0, v, 1) for v in range(1, 40)]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("rule", [rules.gm, rules.low(3)], ids=lambda rule: rule.name)
def test_equal_costs_at_size(workload: str, rule: Rule) -> None:
    """Hundreds of nodes at one place are linked as the engine links them."""
    interest = WORKLOADS[workload](600 if COMPILED else 40, 50, size=6, seed=2)
    nowhere = np.zeros(interest.num_nodes)
    costs = LinkCosts.from_coordinates(interest, interest.node_names, nowhere, nowhere)
    assert triples(grow(interest, rule, costs)) == triples(engine.grow(interest, rule))


@every_rule
@settings(max_examples=examples(30, 6))
@given(small, seeds, st.integers(-40, 40))
def test_another_unit_changes_nothing(rule: Rule, interest: Interest, seed: int, power: int) -> None:
    """Multiplying all costs by a power of two changes no link, by table or by place."""
    rng = np.random.default_rng(seed)
    x, y = rng.random((2, interest.num_nodes))
    near = LinkCosts.from_coordinates(interest, interest.node_names, x, y)
    far = LinkCosts.from_coordinates(interest, interest.node_names, x * 2.0**power, y * 2.0**power)
    cheap = by_place(x.tolist(), y.tolist())
    tables = [
        table(interest, {pair: cost * unit for pair, cost in cheap.items()})[0] for unit in (1, 2**power)
    ]
    expected = triples(grow(interest, rule, near))
    for costs in (far, *tables):
        assert triples(grow(interest, rule, costs)) == expected


@every_rule
@settings(max_examples=examples(25, 5))
@given(crowds(nodes=(2, 25), subscriptions=100), seeds)
def test_every_number_of_edges_is_a_prefix(rule: Rule, interest: Interest, seed: int) -> None:
    """Under any rule, a run with `max_edges=m` is the first m links of the whole run."""
    costs, _ = some_costs(np.random.default_rng(seed), interest)
    whole = triples(grow(interest, rule, costs))
    for m in range(len(whole) + 2):
        assert triples(grow(interest, rule, costs, max_edges=m)) == whole[:m]


@settings(max_examples=examples(40, 15))
@given(small, seeds)
def test_the_cost_is_bounded(interest: Interest, seed: int) -> None:
    """All topics are connected, at no more than 1 + 1/2 + … + 1/c times the cost of another design."""
    costs, cost = some_costs(np.random.default_rng(seed), interest)
    overlay = grow(interest, rules.gm, costs)
    assert verify_overlay(overlay).connected
    assert verify_overlay(overlay).contributions_agree
    spent = total_cost(overlay, costs)
    assert spent == pytest.approx(sum(cost[u, v] for u, v, _ in triples(overlay)))
    most = int(overlay.contribution.max(initial=0))
    for name in ("gm", "ring"):
        others = total_cost(design(interest, name).overlay, costs)
        assert spent <= sum(1 / i for i in range(1, most + 1)) * others * (1 + 1e-9)


@settings(max_examples=examples(35, 15))
@given(crowds(), seeds)
def test_values_only_fall(interest: Interest, seed: int) -> None:
    """Along a run of Greedy Merge, contribution over cost never rises."""
    costs, _ = some_costs(np.random.default_rng(seed), interest)
    overlay = grow(interest, rules.gm, costs)
    values = overlay.contribution / costs.of(overlay.u, overlay.v)
    assert (values[1:] <= values[:-1]).all()


def test_places_are_linked_at_a_fraction_of_the_cost() -> None:
    """In the unit square, links cost a fraction of what the engine's links cost, and are hardly fewer."""
    nodes, fraction = (300, 0.5) if COMPILED else (60, 0.8)
    interest = zipf(nodes, 40, size=6, seed=1)
    costs = planar(interest, 1)
    for rule in (rules.gm, rules.low(3)):
        near, plain = grow(interest, rule, costs), engine.grow(interest, rule)
        assert verify_overlay(near).connected
        assert total_cost(near, costs) < total_cost(plain, costs) * fraction
        assert len(near) >= len(plain) * 0.95


@every_rule
@pytest.mark.parametrize(
    "interest",
    [Interest.from_dict({}), Interest.from_dict({"a": {"x"}}), Interest.from_dict({"a": {"x"}, "b": {"y"}})],
    ids=["no nodes", "one node", "no topic shared"],
)
def test_where_nothing_can_be_linked(interest: Interest, rule: Rule) -> None:
    """Without a pair to link, the overlay is empty and costs nothing; an empty table is accepted."""
    for costs in (planar(interest, 1), LinkCosts.from_pairs(interest, [], [], [])):
        overlay = grow(interest, rule, costs)
        assert len(overlay) == 0
        assert total_cost(overlay, costs) == 0


@pytest.mark.parametrize("budget", ["max_edges", "max_degree"])
@pytest.mark.parametrize("value", [-1, 1.5, "3", True])
def test_bad_budgets(budget: str, value: object) -> None:
    """A budget that is not a whole number of zero or more is refused, with its name."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    with pytest.raises(InputError, match=f"{budget} is {value}: give a whole number"):
        grow(interest, rules.gm, planar(interest, 1), **{budget: value})  # type: ignore[arg-type]


def test_costs_of_another_interest() -> None:
    """Costs are accepted for the interest they were made for, or an equal one, and refused for another."""
    interest, other = (Interest.from_dict({"a": {"x"}, "b": {"x"}, name: {"x"}}) for name in ("c", "d"))
    again = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})
    assert triples(grow(again, rules.gm, planar(interest, 1))) == twin(
        interest, rules.gm, by_place(*np.random.default_rng(1).random((2, 3)).tolist())
    )
    with pytest.raises(InputError, match="another interest"):
        grow(other, rules.gm, planar(interest, 1))
    with pytest.raises(InputError, match="another interest"):
        total_cost(engine.grow(other, rules.gm), planar(interest, 1))


@pytest.mark.parametrize("rule", [rules.gm, rules.low(3)], ids=lambda rule: rule.name)
def test_progress_only_grows(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it pauses, the links are the same; reports grow up to the whole overlay."""
    interest = zipf(400 if COMPILED else 40, 30, size=5, seed=1)
    costs = planar(interest, 2)
    expected = triples(grow(interest, rule, costs))
    monkeypatch.setattr(engine, "STRIDE", 120_000 if COMPILED else 6_000)
    reports: list[tuple[int, float, str]] = []
    assert triples(grow(interest, rule, costs, progress=lambda *report: reports.append(report))) == expected
    assert len(reports) > 5
    for (edges, support, _), (more_edges, more_support, _) in pairwise(reports):
        assert 0 <= edges <= more_edges
        assert 0 <= support <= more_support <= 1
    assert reports[-1][:2] == (len(expected), 1.0)


def test_an_exception_in_the_callback_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception from the callback, such as Ctrl-C, ends the run at once."""
    monkeypatch.setattr(engine, "STRIDE", 1)
    interest = zipf(30, 10, size=3, seed=1)
    reports: list[int] = []

    def interrupt(edges: int, support: float, phase: str) -> None:
        reports.append(edges)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grow(interest, rules.gm, planar(interest, 1), progress=interrupt)
    assert len(reports) == 1


def test_a_lost_count_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a link does not merge what was promised, the run ends with an error."""
    from meshwright.greedy.kernels.state import BROKEN

    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    grow(interest, rules.gm, planar(interest, 1))
    monkeypatch.setattr(weighted, "run_by_cost", lambda *arguments: BROKEN)
    with pytest.raises(AssertionError, match="lost count"):
        grow(interest, rules.gm, planar(interest, 1))
