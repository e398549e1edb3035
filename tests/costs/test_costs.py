"""Link costs: what is accepted, what is refused and with which error, and what they report."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds
from meshwright import Interest, Overlay
from meshwright.costs import cost_tables
from meshwright.costs.link_costs import LinkCosts, total_cost
from meshwright.errors import InputError
from meshwright.overlay import unchecked_overlay
from naive_weighted import by_place, some_costs, table
from strategies import interests

TRIO = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"x", "y"}, "idle": set()})
GOOD = {("a", "b"): 1.0, ("a", "c"): 2.0, ("b", "c"): 1.5}


def pairs(rows: dict[tuple[str, str], Any], **options: Any) -> LinkCosts:
    """Make costs for the trio from a table."""
    return LinkCosts.from_pairs(
        TRIO, [u for u, _ in rows], [v for _, v in rows], list(rows.values()), **options
    )


def coordinates(rows: list[tuple[Any, Any, Any]]) -> LinkCosts:
    """Make costs for the trio from places."""
    nodes, x, y = ([row[i] for row in rows] for i in range(3))
    return LinkCosts.from_coordinates(TRIO, nodes, x, y)


def refused(make: Any, *given: Any, **options: Any) -> str:
    """Return the one line of the error that a call raises."""
    with pytest.raises(InputError) as caught:
        make(*given, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@settings(max_examples=examples(40, 40))
@given(interests(), seeds)
def test_costs_are_those_given(interest: Interest, seed: int) -> None:
    """Each pair costs what the table says, or its distance, in both directions and to the last bit."""
    costs, cost = some_costs(np.random.default_rng(seed), interest)
    u, v = np.array(list(cost), dtype=np.int32).reshape(-1, 2).T
    for found in (costs.of(u, v), costs.of(v, u)):
        assert found.tolist() == list(cost.values())


@settings(max_examples=40)
@given(interests(), seeds)
def test_order_and_direction_do_not_matter(interest: Interest, seed: int) -> None:
    """Rows in any order, in one direction or both, make the same costs and the same digest."""
    rng = np.random.default_rng(seed)
    names = interest.node_names.to_pylist()
    once = [(names[a], names[b], float(rng.random() + 0.1)) for a, b in combinations(range(len(names)), 2)]
    both = [*once, *((b, a, price) for a, b, price in once), *((name, name, 0.0) for name in names)]
    mixed = [both[i] for i in rng.permutation(len(both))]
    made = [
        LinkCosts.from_pairs(interest, [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])
        for rows in (once, mixed)
    ]
    assert made[0].fingerprint == made[1].fingerprint
    u, v = np.array(list(permutations(range(len(names)), 2)), dtype=np.int32).reshape(-1, 2).T
    assert made[0].of(u, v).tolist() == made[1].of(u, v).tolist()


def test_different_costs_have_different_digests() -> None:
    """A changed cost or place changes the digest; integer names count as strings."""
    base = pairs(GOOD)
    assert base.description == f"pairs {base.fingerprint[:12]}"
    assert pairs({**GOOD, ("a", "b"): 1.25}).fingerprint != base.fingerprint
    spread = [("a", 0, 0), ("b", 1, 0), ("c", 0, 2), ("idle", 5, 5)]
    placed = coordinates(spread)
    assert placed.description == f"coordinates {placed.fingerprint[:12]}"
    assert coordinates([("a", -0.0, 0), *spread[1:]]).fingerprint == placed.fingerprint
    assert coordinates([*spread[:3], ("idle", 5, 4)]).fingerprint != placed.fingerprint
    numbers = Interest.from_dict({v: {"x"} for v in range(8, 13)})
    ends = list(combinations(range(8, 13), 2))
    made = [
        LinkCosts.from_pairs(kind, [a for a, _ in ends], [b for _, b in ends], range(1, 11))
        for kind in (numbers, numbers.canonical())
    ]
    assert made[0].fingerprint == made[1].fingerprint
    maps = [
        LinkCosts.from_coordinates(kind, range(8, 13), range(5), range(5))
        for kind in (numbers, numbers.canonical())
    ]
    assert maps[0].fingerprint == maps[1].fingerprint


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, -math.inf])
def test_costs_must_be_above_zero(bad: float) -> None:
    """Zero, negative, missing and infinite costs are refused; the first five pairs are named."""
    line = refused(pairs, {**GOOD, ("a", "c"): bad})
    assert f"link costs ('a', 'c', {float(bad)}) are not finite numbers above zero" in line
    crowd = Interest.from_dict({number: {"x"} for number in range(9)})
    rows = list(combinations(range(9), 2))
    line = refused(LinkCosts.from_pairs, crowd, [u for u, _ in rows], [v for _, v in rows], [bad] * len(rows))
    assert f"(0, 5, {float(bad)}) and 31 more" in line


@pytest.mark.parametrize("bad", [1e-200, 1e200])
def test_costs_out_of_range(bad: float) -> None:
    """Costs so small or large that quotients overflow are refused, and another unit is suggested."""
    assert "choose another unit" in refused(pairs, {**GOOD, ("a", "c"): bad})


def test_costs_must_be_symmetric() -> None:
    """Two directions, or two rows, that differ are refused with both figures; equal ones are accepted."""
    line = refused(pairs, {**GOOD, ("b", "a"): 3.0})
    assert "pairs ('a', 'b', 1.0, 3.0) have two different costs" in line
    assert len(pairs({**GOOD, ("b", "a"): 1.0}).of(np.array([0]), np.array([1]))) == 1
    line = refused(LinkCosts.from_pairs, TRIO, ["a", "a"], ["b", "b"], [1, 2])
    assert "two different costs" in line
    line = refused(LinkCosts.from_pairs, TRIO, ["a", "b", "b"], ["b", "a", "a"], [1, 1, 2])
    assert "('a', 'b', 1.0, 2.0)" in line


def test_a_node_and_itself() -> None:
    """Cost 0 from a node to itself, as in a full matrix, is ignored; any other cost is refused."""
    assert repr(pairs({**GOOD, ("a", "a"): 0.0})) == "LinkCosts(3 pairs of 4 nodes)"
    assert "nodes ('b', 'b', 2.0) have a cost to themselves that is not 0" in refused(
        pairs, {**GOOD, ("b", "b"): 2.0}
    )


def test_unknown_nodes() -> None:
    """Unknown nodes are refused; the first five are named."""
    more = {("a", f"n{number}"): 1.0 for number in range(7)}
    line = refused(pairs, {**GOOD, **more})
    assert "'n0', 'n1', 'n2', 'n3', 'n4' and 2 more that the interest does not know" in line
    assert "'mars'" in refused(coordinates, [("mars", 0, 0)])


@settings(max_examples=examples(40, 30))
@given(crowds(nodes=(2, 15), topics=(1, 8), subscriptions=40), seeds)
def test_missing_pairs(interest: Interest, seed: int) -> None:
    """A table is refused if and only if it lacks a pair that shares a topic; the first five are named."""
    rng = np.random.default_rng(seed)
    topics = naive.topic_sets(interest)
    every = list(combinations(range(interest.num_nodes), 2))
    there = {pair: 1.0 for pair in every if rng.random() < rng.choice([0.5, 0.9, 1.0])}
    missing = [(u, v) for u, v in every if topics[u] & topics[v] and (u, v) not in there]
    if not missing:
        table(interest, there)
        return
    line = refused(table, interest, there)
    for pair in missing[:5]:
        assert repr(pair) in line
    assert (f" and {len(missing) - 5} more" in line) == (len(missing) > 5)
    assert line.count("(") == min(5, len(missing))


def test_pairs_that_share_nothing_may_be_left_out() -> None:
    """A pair without common topics needs no cost; asking for its cost raises an error that names it."""
    costs = pairs(GOOD)
    overlay = Overlay(TRIO, np.array([0, 0]), np.array([1, 3]), np.array([1, 0]))
    assert "lacks ('a', 'idle')" in refused(total_cost, overlay, costs)
    assert total_cost(overlay.prefix(1), costs) == 1.0


@settings(max_examples=examples(65, 40))
@given(st.integers(0, 7), seeds)
def test_the_triangle_inequality(nodes: int, seed: int) -> None:
    """Costs are refused if and only if a detour is cheaper than a direct link; missing pairs are ignored."""
    rng = np.random.default_rng(seed)
    # No two nodes share a topic, so no pair is required.
    interest = Interest.from_dict({node: {node} for node in range(nodes)})
    whole = list(combinations(range(nodes), 2))
    cost = {pair: float(rng.uniform(*rng.choice([[1, 2], [1, 3]]))) for pair in whole if rng.random() < 0.9}
    both = {**cost, **{(v, u): price for (u, v), price in cost.items()}}
    broken = [
        (u, v, w)
        for u, v, w in permutations(range(nodes), 3)
        if {(u, v), (u, w), (w, v)} <= set(both) and both[u, w] + both[w, v] < both[u, v] * (1 - 1e-9)
    ]
    ends = [u for u, _ in cost], [v for _, v in cost]
    if not broken:
        LinkCosts.from_pairs(interest, *ends, list(cost.values()), check_triangle=True)
        return
    line = refused(LinkCosts.from_pairs, interest, *ends, list(cost.values()), check_triangle=True)
    said = [
        f"{u} to {v} costs {both[u, v]}, by way of {w} only {both[u, w]} + {both[w, v]}:"
        for u, v, w in broken
    ]
    assert any(words in line for words in said)


@pytest.mark.parametrize(("direct", "accepted"), [(3.0, True), (3.0 + 2e-9, True), (3.0 + 4e-9, False)])
def test_rounding_breaks_no_triangle(direct: float, accepted: bool) -> None:
    """A detour that is cheaper by a billionth is accepted, and any detour is without the check."""
    rows = {("a", "b"): 1.0, ("b", "c"): 2.0, ("a", "c"): direct}
    pairs(rows)
    if accepted:
        pairs(rows, check_triangle=True)
    else:
        assert "'a' to 'c'" in refused(pairs, rows, check_triangle=True)


def test_the_triangle_check_works_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checking one row at a time finds a break in any row, and finds none where there is none."""
    monkeypatch.setattr(cost_tables, "TRIPLES_AT_ONCE", 1)
    for first in range(3):
        order = ["a", "b", "c"][first:] + ["a", "b", "c"][:first]
        rows = {(order[0], order[1]): 9.0, (order[1], order[2]): 1.0, (order[0], order[2]): 2.0}
        assert "break the triangle inequality" in refused(pairs, rows, check_triangle=True)
    pairs({**GOOD, ("a", "c"): 2.5}, check_triangle=True)


@settings(max_examples=60)
@given(interests(), seeds)
def test_places_keep_the_triangle_inequality(interest: Interest, seed: int) -> None:
    """Distances are a metric and above zero, also for nodes at one place."""
    x, y = np.random.default_rng(seed).integers(0, 3, (2, interest.num_nodes)).astype(float)
    cost = by_place(x.tolist(), y.tolist())
    assert all(price > 0 for price in cost.values())
    names = interest.node_names.to_pylist()
    LinkCosts.from_pairs(
        interest,
        [names[u] for u, _ in cost],
        [names[v] for _, v in cost],
        LinkCosts.from_coordinates(interest, names, x, y).of(
            *np.array(list(cost), dtype=np.int64).reshape(-1, 2).T
        ),
        check_triangle=True,
    )


def test_nodes_at_one_place() -> None:
    """A link between nodes at one place costs a millionth of the diagonal; 1 where all are at one place."""
    costs = coordinates([("a", 0, 0), ("b", 3, 4), ("c", 0, 0), ("idle", 0, 0)])
    assert costs.of(np.array([0, 0]), np.array([2, 1])).tolist() == [5 * 1e-6, 5.0]
    costs = coordinates([(name, 7, 7) for name in ("a", "b", "c", "idle")])
    assert costs.of(np.array([0, 1]), np.array([1, 2])).tolist() == [1.0, 1.0]


def test_bad_places() -> None:
    """Nodes without a place, with two places, or with invalid coordinates are refused and named."""
    spread = [("a", 0, 0), ("b", 1, 0), ("c", 0, 2), ("idle", 5, 5)]
    assert repr(coordinates(spread)) == "LinkCosts(places of 4 nodes)"
    assert "no place for nodes 'b', 'idle'" in refused(coordinates, [spread[0], spread[2]])
    assert "nodes 'a' have more than one place" in refused(coordinates, [*spread, ("a", 0, 0)])
    for bad in (math.nan, math.inf, -math.inf, 1e101):
        assert f"places ('c', 0.0, {bad}) are not finite" in refused(
            coordinates, [*spread[:2], ("c", 0, bad), spread[3]]
        )


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ((["a"], ["b", "c"], [1]), "1 ends u but 2 ends v"),
        ((["a"], ["b"], [1, 2]), "cost has 2 rows and not 1"),
        ((["a"], ["b"], ["dear"]), "cost must be all numbers"),
        ((["a"], ["b"], [None]), "not finite numbers above zero"),
        ((["a"], ["b"], pa.array(["1", "dear"])), "cost must be all numbers"),
        (([["a"]], ["b"], [1]), "u must be node names"),
        (([1, "a"], ["b", "b"], [1, 1]), "u must be node names"),
        (([None], ["b"], [1]), "no u in row 1 "),
    ],
)
def test_bad_columns(columns: tuple[Any, Any, Any], said: str) -> None:
    """Columns of wrong length or type are refused by name."""
    assert said in refused(LinkCosts.from_pairs, TRIO, *columns)


def test_columns_of_any_kind() -> None:
    """Lists, arrays and Arrow columns give the same costs; integer names equal their strings."""
    expected = pairs(GOOD).fingerprint
    u, v, cost = [u for u, _ in GOOD], [v for _, v in GOOD], list(GOOD.values())
    for kind in (list, np.array, pa.array, lambda column: pa.chunked_array([column]), tuple):
        assert LinkCosts.from_pairs(TRIO, kind(u), kind(v), kind(cost)).fingerprint == expected
    named = Interest.from_dict({"7": {"x"}, "8": {"x"}})
    numbered = Interest.from_dict({7: {"x"}, 8: {"x"}})
    assert (
        LinkCosts.from_pairs(named, [7], [8], [1]).fingerprint
        == LinkCosts.from_pairs(numbered, ["7"], ["8"], [1]).fingerprint
    )


def test_the_order_of_links_does_not_change_the_total() -> None:
    """The total cost is the exact sum, rounded once."""
    costs = pairs({("a", "b"): 0.1, ("a", "c"): 0.2, ("b", "c"): 0.3})
    for order in permutations([(0, 1), (0, 2), (1, 2)]):
        u, v = np.array(order).T
        assert total_cost(unchecked_overlay(TRIO, u, v, np.zeros(3, np.int32)), costs) == math.fsum(
            [0.1, 0.2, 0.3]
        )
