"""icdcs16: samples of social graphs, budgets by ratio, and limits on support are what they say."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshwright as mw
from meshwright.experiments.paper import Case
from meshwright.experiments.papers import icdcs16, icdcs16_budget_ratios, icdcs16_samples
from meshwright.experiments.results import Results

interests = st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=2, max_size=6).map(
    lambda held: mw.Interest.from_dict({f"n{i}": {f"t{t}" for t in own} for i, own in enumerate(held)})
)


@settings(max_examples=12)
@given(interests, st.integers(1, 3), st.integers(1, 4))
def test_no_overlay_supports_more_than_the_limit(interest: mw.Interest, degree: int, links: int) -> None:
    """Every overlay of a small interest keeps to the limits of its links and its maximum degree."""
    known = mw.design(interest, "gpm", max_degree=degree).overlay
    found = icdcs16_budget_ratios.most_support(known, links, degree)
    pairs = list(combinations(range(interest.num_nodes), 2))
    for size in range(min(len(pairs), 4) + 1):
        for chosen in combinations(pairs, size):
            u, v = np.array(chosen, dtype=np.int32).reshape(-1, 2).T
            overlay = mw.Overlay(interest, u, v, mw.measure.contributions(interest, u, v))
            support = mw.measure.support(overlay)
            if size <= links:
                assert support <= found["support_by_links"] + 1e-9
            if mw.measure.degrees(overlay).maximum <= degree:
                assert support <= found["support"] + 1e-9


@settings(max_examples=30)
@given(interests, st.integers(0, 4))
def test_contributions_of_all_pairs(interest: mw.Interest, links: int) -> None:
    """The matrix states for each pair what linking it next would merge."""
    overlay = mw.design(interest, "gm").overlay
    overlay = overlay.prefix(min(links, len(overlay)))
    weight = icdcs16_budget_ratios.contributions_of_all_pairs(overlay)
    for u, v in combinations(range(interest.num_nodes), 2):
        us, vs = np.append(overlay.u, u).astype(np.int32), np.append(overlay.v, v).astype(np.int32)
        assert weight[u, v] == weight[v, u] == mw.measure.contributions(interest, us, vs)[-1]


def test_topics_that_nobody_has() -> None:
    """More topics than subscriptions are no reason to read outside of an array."""
    interest = mw.workloads.unif(3, 5000, size=2, seed=1)
    assert interest.num_topics > interest.num_subscriptions
    weight = icdcs16_budget_ratios.contributions_of_all_pairs(mw.design(interest, "gm").overlay.prefix(0))
    shared = [
        len(set(interest.topics_of(one)) & set(interest.topics_of(other)))
        for one, other in combinations(interest.node_names.to_pylist(), 2)
    ]
    assert weight[np.triu_indices(3, 1)].tolist() == shared


@settings(max_examples=20)
@given(interests)
def test_prefixes_are_the_designs(interest: mw.Interest) -> None:
    """GPA and GPM read off one complete run are what the designs build with the same ratio."""
    rows = {
        (row["design"], row.get("percent")): row
        for row in icdcs16_budget_ratios.under_ratios(interest, (20, 50), 1)
    }
    for percent in (20, 50):
        plans = {
            "gpa": mw.design(interest, "gpa", ratio=percent / 100),
            "gpm": mw.design(interest, "gpm", ratio=percent / 100, literal=True),
        }
        for design, plan in plans.items():
            row = rows[design, float(percent)]
            assert (row["edges"], row["support"]) == (len(plan.overlay), plan.figures["support"])


@pytest.mark.parametrize("network", list(icdcs16_samples.NETWORKS))
def test_samples(network: str) -> None:
    """A sample has at most the wanted users and all relations among them; a seed gives it again."""
    whole, source = icdcs16_samples.whole_graph(Case({"network": network, "users": 3000}, 1))
    one, again = (icdcs16_samples.sample(whole, 300, 5) for _ in range(2))
    assert source == "synthetic"
    assert one.fingerprint == again.fingerprint
    assert one.num_nodes <= 300
    people = set(one.node_names.to_pylist()) | set(one.topic_names.to_pylist())
    assert len(people) <= 300
    for name in one.node_names.to_pylist():
        assert set(one.topics_of(name)) == set(whole.topics_of(name)) & people


def test_a_small_graph_is_its_own_sample() -> None:
    """A given graph with fewer users than wanted is taken whole, also users who follow nobody."""
    graph = mw.Interest.from_dict({"a": {"b", "c"}, "d": {"e"}})
    case = Case({"network": "twitter", "users": 10}, 1, {"twitter": graph})
    whole, source = icdcs16_samples.whole_graph(case)
    assert source == "given"
    assert icdcs16_samples.sample(whole, 100, 1).fingerprint == graph.fingerprint


def test_figure_3_never_compares_a_graph_with_itself() -> None:
    """A real graph with fewer users than wanted is sampled all the same: at most half of it."""
    whole = mw.workloads.social(60, min_size=1, max_size=9, seed=1)
    rows = icdcs16_samples.counts_cell(
        Case({"network": "twitter", "users": 10, "wanted": 10000}, 1, {"twitter": whole})
    )
    people = {
        part: next(row["people"] for row in rows if row["part"] == part) for part in ("whole", "sample")
    }
    assert 0 < people["sample"] <= 30 < people["whole"]


def test_ordered_accepts_two_complete_designs() -> None:
    """Above means more support, or that both connect every topic."""
    rows = [
        {"design": name, "x": 1, "support": support}
        for name, support in (("gpa", 1.0), ("gpm", 1.0), ("spidercastm", 0.5), ("randomm", 0.6))
    ]
    held = icdcs16_budget_ratios.ordered(Results(rows), "x")
    assert list(held.values()) == [True, True, False]


def test_small_samples_get_all_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of 1000 users are measured at every ratio of the figure, larger ones at 20 % only."""
    whole = mw.workloads.social(60, min_size=1, max_size=9, seed=1)
    monkeypatch.setattr(icdcs16, "under_ratios", lambda interest, percents, seed: [{"percents": percents}])
    for wanted, expected in ((icdcs16.SMALL, icdcs16.PERCENTS[False]), (10_000, (20,))):
        given_case = Case(
            {"network": "twitter", "users": 60, "wanted": wanted, "fine": 0}, 1, {"twitter": whole}
        )
        assert [row["percents"] for row in icdcs16.social_cell(given_case)] == [expected]
