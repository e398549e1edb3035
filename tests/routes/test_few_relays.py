"""Trees of groups: the count of relayed deliveries is that of the prediction, and it never grows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import seeds
from meshwright.deploy.proof.prediction import predict
from meshwright.filters.filter_plan import PlannedFilters, plan_filters
from meshwright.filters.mqtt import example
from meshwright.interest import Interest
from meshwright.overlay import unchecked_overlay
from meshwright.routes import Trees, route
from meshwright.routes.choose import GroupTree, prefer_few_relays, relayed_deliveries, wanted_sets
from naive_filters import filters
from routed_plans import grouped_trees


@st.composite
def routed_groups(draw: st.DrawFn) -> tuple[PlannedFilters, Trees]:
    """Draw brokers with overlapping filters, a connected overlay with loops, and its trees."""
    size = draw(st.integers(2, 8))
    held = {f"b{number}": draw(st.sets(filters, min_size=1, max_size=3)) | {"#"} for number in range(size)}
    for broker in list(held)[1:]:
        held[broker] -= {"#"} if len(held[broker]) > 1 else set()
    planned = plan_filters(Interest.from_dict({broker: sorted(own) for broker, own in held.items()}))
    rng = np.random.default_rng(draw(seeds))
    links = {(int(rng.integers(child)), child) for child in range(1, size)}
    links |= {tuple(sorted(rng.choice(size, 2, replace=False).tolist())) for _ in range(size)}
    u, v = np.array(sorted(links), dtype=np.int32).T.copy()
    return planned, route(unchecked_overlay(planned.groups, u, v, np.zeros(len(u), np.int32)))


def naive_relayed(planned: PlannedFilters, trees: Trees) -> dict[str, int]:
    """Predict each message by itself, from each broker of a tree."""
    return {
        topic: sum(
            len(predict(tree, origin, example(one)).relays)
            for one in tree.all_filters
            for origin in tree.carriers
        )
        for topic, tree in grouped_trees(planned, trees).trees.items()
        if tree.links and tree.filters and not tree.relays
    }


@settings(max_examples=40)
@given(routed_groups())
def test_fewer_deliveries_are_relayed_at_the_same_depth(made: tuple[PlannedFilters, Trees]) -> None:
    """The trees span the same brokers inside the overlay, are not deeper, and relay no more."""
    planned, trees = made
    better = prefer_few_relays(trees, planned)
    before, after = naive_relayed(planned, trees), naive_relayed(planned, better)
    links = set(zip(trees.overlay.u.tolist(), trees.overlay.v.tolist(), strict=True))
    for topic, name in enumerate(planned.groups.topic_names.to_pylist()):
        piece = slice(int(trees.ptr[topic]), int(trees.ptr[topic + 1]))
        assert set(better.nodes[piece].tolist()) == set(trees.nodes[piece].tolist())
        pairs = [tuple(sorted(pair)) for pair in better.edges_of(topic)]
        assert len(set(pairs)) == max(0, piece.stop - piece.start - 1)
        assert set(pairs) <= links
        for place, (u, v) in enumerate(pairs, start=piece.start + 1):
            edge = int(better.links[place])
            assert (trees.overlay.u[edge], trees.overlay.v[edge]) == (u, v)
        assert depth(better, topic) <= depth(trees, topic)
        assert after.get(name, 0) <= before.get(name, 0)


def depth(trees: Trees, topic: int) -> int:
    """Return the number of links from the root to the deepest broker."""
    depths: list[int] = []
    for above in trees.above[trees.ptr[topic] : trees.ptr[topic + 1]].tolist():
        depths.append(0 if above < 0 else depths[above] + 1)
    return max(depths, default=0)


@settings(max_examples=40)
@given(routed_groups())
def test_relayed_deliveries_are_counted_as_predicted(made: tuple[PlannedFilters, Trees]) -> None:
    """The count by smallest subtrees equals that of a prediction for every single message."""
    planned, trees = made
    expected = naive_relayed(planned, trees)
    for topic, name in enumerate(planned.groups.topic_names.to_pylist()):
        piece = slice(int(trees.ptr[topic]), int(trees.ptr[topic + 1]))
        if name in expected and not trees.relay[piece].any():
            parents = tuple(max(0, parent) for parent in trees.above[piece].tolist())
            tree = GroupTree(parents, tuple(range(len(parents))), 0)
            wanted = wanted_sets(planned, topic, trees.nodes[piece].tolist())
            assert relayed_deliveries(tree, wanted) == expected[name]
