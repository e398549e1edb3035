"""The check of trees finds every fault, and nothing where there is none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import examples, overlay_of, seeds
from meshwright import Interest, Overlay
from meshwright.plan_tables import ROLES, TREES, LinkTable, TableError, TreeTables
from meshwright.store.plan_parts import edge_table
from meshwright.verify import tree_faults
from naive import topic_sets
from strategies import overlays

Row = dict[str, str | None]

INTEREST = Interest.from_dict(
    {"a": {"far", "lost", "x"}, "b": {"x"}, "c": {"x", "y"}, "d": {"far", "y"}, "e": {"lost", "z"}}
)
OVERLAY = overlay_of(INTEREST, [(0, 1), (1, 2), (2, 3)])
"""A path a, b, c, d, and e apart: `far` needs the relays b and c, `lost` cannot have a tree."""
COUNTS = {"trees": 3, "relays": 2, "publishers": 2, "links_used": 3, "unreachable": 1}
HOPS = {"mean_hops": 8 / 5, "usual_hops": 3, "max_hops": 3, "mean_max_hops": 2.0}
FIGURES = {**COUNTS, **HOPS, "max_link_load": 2.0, "mean_link_load": 2.0, "max_broker_load": 2.0}
NOTHING = {name: type(value)() for name, value in FIGURES.items()}


def tree_rows() -> list[Row]:
    triples = [
        ("far", None, "a"), ("far", "a", "b"), ("far", "b", "c"), ("far", "c", "d"),
        ("x", None, "b"), ("x", "b", "a"), ("x", "b", "c"), ("x", "c", "d"),
        ("y", None, "c"), ("y", "c", "d"),
        ("z", "e", "b"),
    ]  # fmt: skip
    return [{"topic": topic, "parent": parent, "child": child} for topic, parent, child in triples]


def role_rows() -> list[Row]:
    triples = [
        ("far", "b", "relay"), ("far", "c", "relay"), ("x", "d", "publisher"), ("z", "b", "publisher"),
        ("z", "e", "alone"),
    ]  # fmt: skip
    return [{"topic": topic, "broker": broker, "role": role} for topic, broker, role in triples]


def tables_on(overlay: Overlay, trees: list[Row], roles: list[Row]) -> TreeTables:
    links = LinkTable(edge_table(overlay))
    return TreeTables(links, pa.Table.from_pylist(trees, TREES), pa.Table.from_pylist(roles, ROLES))


def faults(trees: list[Row], roles: list[Row], stated: dict[str, object] | None = None) -> tuple[str, ...]:
    tables = tables_on(OVERLAY, trees, roles)
    return tree_faults(OVERLAY, tables, FIGURES | (stated or {}))


def without(rows: list[Row], *positions: int) -> list[Row]:
    return [row for position, row in enumerate(rows) if position not in positions]


def changed(rows: list[Row], position: int, **values: str | None) -> list[Row]:
    return [{**row, **values} if place == position else row for place, row in enumerate(rows)]


def test_sound_trees_have_no_faults() -> None:
    """Trees, relays and publishers as they should be: nothing is wrong."""
    assert faults(tree_rows(), role_rows()) == ()


NOT_THERE = (
    "the trees of topics {} should not be there: fewer than two subscribers, or some that links cannot reach"
)
TAMPERED: dict[str, tuple[Callable[[list[Row]], list[Row]], tuple[str, ...]]] = {
    "a leaf is missing": (
        lambda rows: without(rows, 3),
        ("the trees of topics 'far' leave out subscribers",),
    ),
    "a whole tree is missing": (
        lambda rows: without(rows, 8, 9),
        ("the trees of topics 'y' leave out subscribers", "routes: trees is 2, the plan states 3"),
    ),
    "a broker that does not subscribe": (
        lambda rows: [*rows, {"topic": "y", "parent": "c", "child": "b"}],
        ("the trees of topics 'y' have brokers that are neither subscribers nor relays",),
    ),
    "a tree of a topic that cannot have one": (
        lambda rows: [*rows, {"topic": "lost", "parent": None, "child": "a"}],
        (NOT_THERE.format("'lost'"), "routes: trees is 4, the plan states 3"),
    ),
    "an unknown topic": (
        lambda rows: [*rows, {"topic": "q", "parent": None, "child": "a"}],
        ("trees name the unknown 'q'",),
    ),
    "an unknown parent and child": (
        lambda rows: [*changed(rows, 10, parent="o"), {"topic": "q", "parent": None, "child": "p"}],
        ("trees name the unknown 'q', 'o', 'p'",),
    ),
    "a publisher without a carrier": (
        lambda rows: changed(rows, 7, parent=None),
        ("publishers are not attached to a carrier of their topic, or subscribe themselves",),
    ),
    "a publisher at a broker that does not carry its topic": (
        lambda rows: changed(rows, 7, parent="e"),
        ("publishers are not attached to a carrier of their topic, or subscribe themselves",),
    ),
    "a publisher is missing": (
        lambda rows: without(rows, 7),
        ("routes: publishers is 1, the plan states 2",),
    ),
    "a tree uses fewer links": (
        lambda rows: without(rows, 3, 9),
        (
            "the trees of topics 'far', 'y' leave out subscribers",
            "routes: links_used is 2, the plan states 3",
        ),
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_faults_of_rows_are_found(what: str) -> None:
    """Each fault is named with its topics, and nothing else is."""
    tamper, expected = TAMPERED[what]
    assert faults(tamper(tree_rows()), role_rows()) == expected


def test_a_publisher_without_a_parent_is_not_taken_for_another_broker() -> None:
    """The last broker carries the topic before: a missing carrier must not be mistaken for it."""
    interest = Interest.from_dict({"a": {"s", "t"}, "b": {"s"}})
    overlay = overlay_of(interest, [(0, 1)])
    trees: list[Row] = [
        {"topic": "s", "parent": None, "child": "a"},
        {"topic": "s", "parent": "a", "child": "b"},
        {"topic": "t", "parent": None, "child": "b"},
    ]
    roles: list[Row] = [{"topic": "t", "broker": "b", "role": "publisher"}]
    tables = tables_on(overlay, trees, roles)
    stated = {**NOTHING, "trees": 1, "publishers": 1, "links_used": 1}
    assert len(tree_faults(overlay, tables, stated)) == 1


RELAYS = "the trees of topics {} name relays that subscribe or are not in them"
TAMPERED_ROLES: dict[str, tuple[Callable[[list[Row]], list[Row]], tuple[str, ...]]] = {
    "a relay is not named": (
        lambda rows: without(rows, 0),
        (
            "the trees of topics 'far' have brokers that are neither subscribers nor relays",
            "routes: relays is 1, the plan states 2",
        ),
    ),
    "a subscriber is named a relay": (
        lambda rows: [*rows, {"topic": "y", "broker": "d", "role": "relay"}],
        (RELAYS.format("'y'"), "routes: relays is 3, the plan states 2"),
    ),
    "a relay is in no tree": (
        lambda rows: [*rows, {"topic": "y", "broker": "a", "role": "relay"}],
        (RELAYS.format("'y'"), "routes: relays is 3, the plan states 2"),
    ),
    "a publisher subscribes": (
        lambda rows: [*rows, {"topic": "lost", "broker": "a", "role": "publisher"}],
        ("publishers are not attached to a carrier of their topic, or subscribe themselves",),
    ),
    "an unknown broker": (
        lambda rows: changed(rows, 4, broker="p"),
        ("trees name the unknown 'p'",),
    ),
    "an unknown topic": (
        lambda rows: changed(rows, 4, topic="q"),
        ("trees name the unknown 'q'",),
    ),
}


@pytest.mark.parametrize("what", TAMPERED_ROLES)
def test_faults_of_roles_are_found(what: str) -> None:
    """Each role that is not so is named with its topics, and nothing else is."""
    tamper, expected = TAMPERED_ROLES[what]
    assert faults(tree_rows(), tamper(role_rows())) == expected


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("stated", [0, None, "3", True, 3.5, 10**400, float("nan")])
def test_figures_that_are_not_so_are_found(name: str, stated: object) -> None:
    """Each figure must be stated as the number that it is."""
    expected = f"routes: {name} is {FIGURES[name]}, the plan states {stated}"
    assert faults(tree_rows(), role_rows(), {name: stated}) == (expected,)


@pytest.mark.parametrize("name", [name for name, value in FIGURES.items() if isinstance(value, int)])
def test_counts_are_whole_numbers(name: str) -> None:
    """A count that is stated as a number with a fraction of 0 is not one."""
    assert len(faults(tree_rows(), role_rows(), {name: float(FIGURES[name])})) == 1


def test_loads_at_rates_are_left_out() -> None:
    """Loads at rates that nobody knows are not compared; hops and counts are."""
    tables = tables_on(OVERLAY, tree_rows(), role_rows())
    stated = {**FIGURES, "max_link_load": 7.5, "mean_link_load": None, "max_broker_load": 0}
    assert len(tree_faults(OVERLAY, tables, stated)) == 3
    assert tree_faults(OVERLAY, tables, stated, rates=True) == ()
    assert tree_faults(OVERLAY, tables, {**stated, "max_hops": 2}, rates=True) == (
        "routes: max_hops is 3, the plan states 2",
    )


def test_one_is_not_true() -> None:
    """A count of 1 stated as `true` is wrong, although Python holds them to be equal."""
    interest = Interest.from_dict({"a": {"s"}, "b": {"s"}})
    rows: list[Row] = [
        {"topic": "s", "parent": None, "child": "a"},
        {"topic": "s", "parent": "a", "child": "b"},
    ]
    tables = tables_on(overlay_of(interest, [(0, 1)]), rows, [])
    stated: dict[str, object] = {name: type(value)(1) for name, value in FIGURES.items()}
    stated |= {"trees": True, "relays": 0, "publishers": 0, "unreachable": 0, "max_broker_load": 0.0}
    assert tree_faults(overlay_of(interest, [(0, 1)]), tables, stated) == (
        "routes: trees is 1, the plan states True",
    )


def test_no_trees_are_sound_where_none_are_needed() -> None:
    """Topics of fewer than two subscribers need no tree, and neither does an interest of nobody."""
    for subscriptions in ({}, {"a": ["s"], "b": []}):
        overlay = Overlay.empty(Interest.from_dict(subscriptions))
        assert tree_faults(overlay, tables_on(overlay, [], []), NOTHING) == ()


def tables_and_figures(overlay: Overlay, seed: int) -> tuple[list[Row], list[Row], dict[str, Any]]:
    """Make sound trees for an overlay in plain Python, with relays where they are needed, and publishers."""
    random, interest = np.random.default_rng(seed), overlay.interest
    brokers, names = interest.node_names.to_pylist(), interest.topic_names.to_pylist()
    links = {frozenset(link) for link in zip(overlay.u.tolist(), overlay.v.tolist(), strict=True)}
    trees: list[tuple[int, int | None, int]] = []
    roles: list[tuple[int, int, str]] = []
    publishing: list[tuple[int, int | None, int]] = []
    for topic in range(interest.num_topics):
        subscribers = [v for v, own in enumerate(topic_sets(interest)) if topic in own]
        random.shuffle(subscribers)
        parent = paths_from(subscribers[0], links, random) if subscribers else {}
        inside: dict[int, int | None] = {}
        if len(subscribers) > 1 and set(subscribers) <= parent.keys():
            for leaf in subscribers:
                path: list[int] = []
                here: int | None = leaf
                while here is not None:
                    path, here = [here, *path], parent[here]
                inside |= {v: parent[v] for v in path if v not in inside}
        trees += [(topic, parent_of_v, v) for v, parent_of_v in inside.items()]
        roles += [(topic, v, "relay") for v in inside if v not in subscribers]
        carriers = sorted({*inside, *subscribers})
        for v in range(interest.num_nodes):
            if carriers and v not in carriers and random.random() < 0.1:
                publishing.append((topic, int(random.choice(carriers)), v))
                roles.append((topic, v, "publisher"))
    stated = {
        "trees": len({topic for topic, _, _ in trees}),
        "relays": sum(role == "relay" for _, _, role in roles),
        "publishers": len(publishing),
        "links_used": len({frozenset((above, v)) for _, above, v in trees if above is not None}),
        "unreachable": sum(
            number > 1 and topic not in {own for own, _, _ in trees}
            for topic, number in Counter(interest.node_topics.tolist()).items()
        ),
        **hops_and_loads(trees, {(t, v) for t, v, role in roles if role == "relay"}, len(links)),
    }
    rows: list[Row] = [
        {"topic": str(names[t]), "parent": None if u is None else str(brokers[u]), "child": str(brokers[v])}
        for t, u, v in trees + publishing
    ]
    return rows, [{"topic": str(names[t]), "broker": str(brokers[v]), "role": r} for t, v, r in roles], stated


def hops_and_loads(
    trees: Sequence[tuple[Any, Any, Any]], relays: set[tuple[Any, Any]], links: int
) -> dict[str, int | float]:
    """Measure rows of topic, parent and child straight from the definitions, pair by pair."""
    ends = [(t, u, v) for t, u, v in trees if u is not None]
    carried = Counter(frozenset((u, v)) for _, u, v in ends)
    neighbours = Counter((t, v) for t, u, v in ends for v in (u, v))
    copies: Counter[Any] = Counter()
    for (_, v), number in neighbours.items():
        copies[v] += number - 1
    ways: list[list[int]] = []
    for topic in {t for t, _, _ in trees}:
        inside = [v for t, _, v in trees if t == topic]
        pairs = {frozenset((u, v)) for t, u, v in ends if t == topic}
        wanting = [v for v in inside if (topic, v) not in relays]
        ways.append(sorted(hops_between(u, v, pairs) for u, v in combinations(wanting, 2)))
    every = [hops for way in ways for hops in way]
    return {
        "mean_hops": sum(every) / max(len(every), 1),
        "usual_hops": max((way[math.ceil(len(way) * 95 / 100) - 1] for way in ways), default=0),
        "max_hops": max(every, default=0),
        "mean_max_hops": sum(max(way) for way in ways) / max(len(ways), 1),
        "max_link_load": float(max(carried.values(), default=0)),
        "mean_link_load": len(ends) / max(links, 1),
        "max_broker_load": float(max(copies.values(), default=0)),
    }


def hops_between(u: Any, v: Any, links: set[frozenset[Any]]) -> int:
    """Count the links on the way from one broker to another."""
    reached, hops = {u}, 0
    while v not in reached:
        reached, hops = reached.union(*(link for link in links if link & reached)), hops + 1
    return hops


def paths_from(root: int, links: set[frozenset[int]], random: np.random.Generator) -> dict[int, int | None]:
    """Return the parent of each broker that a root reaches, on random paths."""
    parent: dict[int, int | None] = {root: None}
    while ways := sorted(tuple(link) for link in links if len(link & parent.keys()) == 1):
        a, b = ways[int(random.integers(len(ways)))]
        parent.update({b: a} if a in parent else {a: b})
    return parent


@settings(max_examples=examples(60, 10))
@given(overlays(), seeds)
def test_sound_trees_of_any_overlay_have_no_faults(overlay: Overlay, seed: int) -> None:
    """Any trees that span their subscribers inside the overlay are sound, with relays and publishers."""
    trees, roles, stated = tables_and_figures(overlay, seed)
    tables = tables_on(overlay, trees, roles)
    assert tree_faults(overlay, tables, stated) == ()
    assert is_sound(overlay, trees, roles, stated)


@settings(max_examples=examples(100, 15))
@given(overlays(most_nodes=6), seeds, st.integers(1, 2))
def test_it_agrees_with_its_twin(overlay: Overlay, seed: int, changes: int) -> None:
    """After any changes of rows, trees have faults exactly if a check in plain Python finds some."""
    trees, roles, stated = tables_and_figures(overlay, seed)
    random = np.random.default_rng(seed + 1)
    brokers = [str(name) for name in overlay.interest.node_names.to_pylist()]
    for _ in range(changes if trees else 0):
        position, kind = int(random.integers(len(trees))), random.integers(4)
        if kind == 0:
            trees = without(trees, position)
        elif kind == 1:
            trees = changed(trees, position, parent=str(random.choice([*brokers, ""])) or None)
        elif kind == 2:
            trees = changed(trees, position, child=str(random.choice(brokers)))
        else:
            trees = [*trees, changed(trees, position, child=str(random.choice(brokers)))[position]]
        if not trees:
            break
    try:
        found = tree_faults(overlay, tables_on(overlay, trees, roles), stated) == ()
    except TableError:
        found = False
    assert found == is_sound(overlay, trees, roles, stated)


def is_sound(overlay: Overlay, trees: list[Row], roles: list[Row], stated: dict[str, Any]) -> bool:
    """Check trees in plain Python, topic by topic, straight from the definitions."""
    interest = overlay.interest
    brokers = [str(name) for name in interest.node_names.to_pylist()]
    links = {frozenset((brokers[u], brokers[v])) for u, v in zip(overlay.u, overlay.v, strict=True)}
    held = [{str(interest.topic_names[t].as_py()) for t in own} for own in topic_sets(interest)]
    named = {
        role: {(r["topic"], r["broker"]) for r in roles if r["role"] == role}
        for role in ("relay", "publisher")
    }
    sent = [row for row in trees if (row["topic"], row["child"]) in named["publisher"]]
    inside = [row for row in trees if row not in sent]
    used = set()
    for topic in {str(name) for name in interest.topic_names.to_pylist()}:
        rows = [row for row in inside if row["topic"] == topic]
        subscribers = {broker for broker, own in zip(brokers, held, strict=True) if topic in own}
        relays = {broker for of, broker in named["relay"] if of == topic}
        publishers = {broker for of, broker in named["publisher"] if of == topic}
        children = [row["child"] for row in rows]
        carriers = {*children, *subscribers}
        ends = [frozenset((row["parent"], row["child"])) for row in rows if row["parent"] is not None]
        used |= set(ends)
        if len(set(children)) < len(children) or not set(children) <= subscribers | relays:
            return False
        if not relays <= set(children) or relays & subscribers or publishers & subscribers:
            return False
        if any(row["parent"] not in carriers for row in sent if row["topic"] == topic):
            return False
        if not set(ends) <= links or (rows and not is_tree(rows)):
            return False
        if len(subscribers) > 1 and can_meet(subscribers, links):
            if not subscribers <= set(children):
                return False
        elif rows:
            return False
    counted = {
        "trees": len({row["topic"] for row in inside}),
        "relays": len(named["relay"]),
        "publishers": len(sent),
        "links_used": len(used),
    }
    measured = hops_and_loads(
        [(row["topic"], row["parent"], row["child"]) for row in inside], named["relay"], len(links)
    )
    return all(stated[name] == pytest.approx(found) for name, found in {**counted, **measured}.items())


def is_tree(rows: list[Row]) -> bool:
    """Say whether every broker reaches the one root by its parents, which have come before it."""
    parent = {row["child"]: row["parent"] for row in rows}
    if sum(above is None for above in parent.values()) != 1:
        return False
    known: set[str | None] = {None}
    for row in rows:
        if row["parent"] not in known:
            return False
        known.add(row["child"])
    return True


def can_meet(brokers: set[str], links: set[frozenset[str]]) -> bool:
    """Say whether links, through any brokers, join some brokers."""
    reached = {min(brokers)}
    while any(len(link & reached) == 1 for link in links):
        reached = reached.union(*(link for link in links if link & reached))
    return brokers <= reached
