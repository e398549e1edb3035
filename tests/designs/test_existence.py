"""Whether some overlay exists: answers agree with all overlays of small instances, and witnesses hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import overlay_of
from meshwright import measure
from meshwright.designs import existence, rings_and_stars
from meshwright.designs.design import design
from meshwright.designs.existence import Existence, Limits, soc_exists, tco_exists
from meshwright.designs.plan import Plan
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.jit.announce import Clock
from meshwright.overlay import Overlay
from meshwright.workloads import cuboid, lemma1, zipf
from strategies import interests

Measure = Literal["filtering", "diameter"]
MEASURES: list[Measure] = ["filtering", "diameter"]


def all_overlays(interest: Interest) -> list[Overlay]:
    """Return every overlay on the nodes."""
    pairs = list(combinations(range(interest.num_nodes), 2))
    return [
        overlay_of(interest, list(links))
        for count in range(len(pairs) + 1)
        for links in combinations(pairs, count)
    ]


def connects(overlay: Overlay) -> bool:
    return not (measure.components(overlay).of_topic > 1).any()


def exists(
    interest: Interest, degree: int | None, average: float | None, cost: int, measured: Measure
) -> set[str]:
    """Return the answers that looking at every overlay allows: what is certain, or both where none is."""
    verdicts = set()
    for overlay in all_overlays(interest):
        if average is not None and measure.degrees(overlay).average > average + 1e-9:
            continue
        limit = interest.num_nodes if degree is None else degree
        verdicts.add(measure.soc(overlay, degree=limit, cost=cost, measure=measured).verdict)
    if "yes" in verdicts:
        return {"yes", "unknown"}
    return {"no", "unknown", "yes"} if "unknown" in verdicts else {"no", "unknown"}


def check_witness(
    found: Existence, degree: int | None, average: float | None, cost: int, measured: Measure
) -> None:
    assert (found.witness is not None) == (found.answer == "yes")
    assert found.reason.startswith(f"{found.answer}: ")
    if found.witness is not None:
        overlay = found.witness.overlay
        limit = overlay.interest.num_nodes if degree is None else degree
        assert measure.soc(overlay, degree=limit, cost=cost, measure=measured).verdict == "yes"
        assert average is None or measure.degrees(overlay).average <= average + 1e-9


@settings(max_examples=20, deadline=None)
@given(interests(most_nodes=5, most_topics=4), st.integers(0, 7))
def test_links_agree_with_all_overlays(interest: Interest, links: int) -> None:
    """On small instances TCO(k) is decided, and as looking at every overlay says."""
    found = tco_exists(interest, links)
    fewest = min(len(overlay) for overlay in all_overlays(interest) if connects(overlay))
    assert found.answer == ("yes" if fewest <= links else "no")
    if found.witness is not None:
        assert connects(found.witness.overlay)
        assert len(found.witness.overlay) <= links


@settings(max_examples=30, deadline=None)
@given(
    interests(most_nodes=4, most_topics=3),
    st.booleans(),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from(MEASURES),
)
def test_answers_agree_with_all_overlays(
    interest: Interest, mean: bool, degree: int, cost: int, measured: Measure
) -> None:
    """Yes and no are never wrong; where every topic must be connected, there is always an answer."""
    average = degree * 0.75 if mean else None
    most = None if mean else degree
    found = soc_exists(interest, degree=most, average_degree=average, cost=cost, measure=measured)
    possible = exists(interest, most, average, cost, measured)
    assert found.answer in possible
    check_witness(found, most, average, cost, measured)
    if measured == "filtering" and cost == 0:
        assert found.answer != "unknown"


@pytest.mark.parametrize(("k", "m"), [(2, 3), (3, 4)])
def test_the_cuboid_is_decided(k: int, m: int) -> None:
    """GM's links are too many on the cuboid; the halves linked to all others are found, and one fewer not."""
    assert tco_exists(cuboid(k, m), 2 * k + 2 * m).answer == "yes"
    assert lemma1(6).num_nodes == 6
    assert tco_exists(lemma1(6), 5).answer == "yes"
    assert tco_exists(lemma1(6), 4).answer == "no"


def test_larger_instances() -> None:
    """Beyond enumeration: certified prices say no, designs say yes, and in between it is unknown."""
    interest = zipf(200, 30, size=5, seed=1)
    low, high = tco_exists(interest, 150, seconds=1), tco_exists(interest, 2000, seconds=1)
    assert (low.answer, high.answer) == ("no", "yes")
    quick = tco_exists(interest, 199, seconds=0)
    assert quick.answer in ("no", "unknown")
    assert soc_exists(interest, degree=1, cost=10**9, seconds=0).answer == "no"
    # A flat tree has few links, and nothing is far.
    far = soc_exists(interest, average_degree=2, cost=2, measure="diameter", seconds=0)
    assert far.answer == "yes"
    near = soc_exists(interest, degree=3, cost=3, measure="diameter", seconds=0)
    assert (near.answer, "reaches 21 nodes" in near.reason) == ("no", True)
    ring = soc_exists(interest, degree=2, cost=10**6, seconds=0)
    assert (ring.answer, measure.degrees(ring.witness.overlay).maximum) == ("yes", 2)  # type: ignore[union-attr]


def test_relays_save_links_only_so_far() -> None:
    """With some relays allowed, a bound on links still refutes a degree."""
    interest = Interest.from_dict(
        {f"{v}": {f"{u}-{w}" for u, w in combinations(range(8), 2) if v in (u, w)} for v in range(8)}
    )
    assert soc_exists(interest, degree=6, cost=0).answer == "no"
    found = soc_exists(interest, degree=2, cost=3, seconds=0)
    assert (found.answer, "links or more" in found.reason) == ("no", True)
    assert soc_exists(interest, degree=7, cost=0).answer == "yes"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"cost": 1}, "either degree or average_degree"),
        ({"degree": 1, "average_degree": 1.0, "cost": 1}, "either degree or average_degree"),
        ({"degree": -1, "cost": 1}, "zero or more"),
        ({"degree": 1, "cost": 1, "measure": "delay"}, "unknown measure"),
        ({"average_degree": np.inf, "cost": 1}, "an average degree of inf"),
    ],
)
def test_bad_questions_are_rejected(asked: dict[str, Any], message: str) -> None:
    """A missing, doubled or negative limit and an unknown measure are each one clear line."""
    with pytest.raises(InputError, match=message):
        soc_exists(lemma1(3), **asked)
    with pytest.raises(InputError, match="-1 links"):
        tco_exists(lemma1(3), -1)


PATH = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
"""Two links at `a` are needed, and enough."""


def slowly(
    limits: Limits, monkeypatch: pytest.MonkeyPatch, *, lower_bound: int, small: bool = True
) -> Existence:
    """Decide by a solver or search that finds GM's overlay, and proves a bound."""
    overlay = design(PATH, "gm").overlay
    found = SimpleNamespace(overlay=overlay, lower_bound=lower_bound, links_needed=2)
    monkeypatch.setattr(existence, "solve", lambda *_, **__: found)
    monkeypatch.setattr(existence, "design", lambda *_, **__: Plan(overlay, "best", {}, 0, 0.0))
    monkeypatch.setattr(existence, "SMALL", PATH.num_nodes if small else PATH.num_nodes - 1)
    return existence._slow_if_connected(PATH, limits, Clock(9.0), 0, None, 1, None)


def test_what_a_solver_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its overlay is a witness, its bound a proof; between both nothing is known but the links needed."""
    links, degree = Limits(1, None, 0, "filtering"), Limits(None, 1, 0, "filtering")
    found = slowly(replace(links, links=2), monkeypatch, lower_bound=2)
    assert (found.answer, found.best) == ("yes", 2)
    assert found.reason.startswith("yes: exact gives one with 2 links")
    found = slowly(links, monkeypatch, lower_bound=2)
    assert (found.answer, found.at_least, found.best) == ("no", 2, 2)
    assert found.reason == "no: connecting every topic takes at least 2 links, as exact proves"
    found = slowly(degree, monkeypatch, lower_bound=2)
    assert found.reason == "no: connecting every topic takes at least 2 links at some node, as exact proves"
    for limits in (links, degree):
        found = slowly(limits, monkeypatch, lower_bound=1)
        assert (found.answer, found.at_least, found.best) == ("unknown", 2, 2)


def test_what_a_search_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the solver's sizes, a search may find a witness, but proves nothing."""
    limits = Limits(2, None, 0, "filtering")
    found = slowly(limits, monkeypatch, lower_bound=9, small=False)
    assert (found.answer, found.best) == ("yes", 2)
    assert found.reason.startswith("yes: best gives one")
    found = slowly(replace(limits, links=1), monkeypatch, lower_bound=9, small=False)
    assert (found.answer, found.at_least, found.best) == ("unknown", 1, 2)


def test_links_that_are_needed_refute() -> None:
    """More links than are allowed, or than nodes of this degree have, are impossible; relays save some."""
    nodes = PATH.num_nodes
    for limits, most in ((Limits(4, None, 0, "filtering"), 4), (Limits(None, 2, 0, "filtering"), nodes)):
        assert existence.refute_by_links(PATH, limits, most) is None
        assert f"{most + 1} links or more" in (existence.refute_by_links(PATH, limits, most + 1) or "")
    assert existence.refute_by_links(PATH, Limits(None, 2, 3, "filtering"), nodes + 3) is None
    assert existence.refute_by_links(PATH, Limits(4, None, 0, "diameter"), 99) is None


def test_pairs_that_share_a_topic_refute() -> None:
    """Within one link, all pairs that share a topic are linked: that takes degrees and links."""
    star = Interest.from_dict({"hub": {"x", "y", "z"}, "a": {"x"}, "b": {"y"}, "c": {"z"}})
    assert "3 nodes" in (existence.refute_by_counting(star, Limits(None, 2, 1, "diameter")) or "")
    assert existence.refute_by_counting(star, Limits(None, 3, 1, "diameter")) is None
    triangle = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})
    assert "all 3 pairs" in (existence.refute_by_counting(triangle, Limits(2, None, 1, "diameter")) or "")
    assert existence.refute_by_counting(triangle, Limits(3, None, 1, "diameter")) is None


@pytest.mark.parametrize("seconds", [0.0, 5.0])
@pytest.mark.parametrize("cost", [0, 1])
def test_what_stays_open(monkeypatch: pytest.MonkeyPatch, seconds: float, cost: int) -> None:
    """Without a witness or proof the answer is unknown: with what is known, if every topic must connect."""
    monkeypatch.setattr(existence, "refute_by_counting", lambda *_: None)
    monkeypatch.setattr(existence, "refute_by_links", lambda *_: None)
    monkeypatch.setattr(existence.Limits, "met_by", lambda *_: False)
    slow = Existence("unknown", "", None, 7, 9)
    asked: list[object] = []

    def ask(*given: object) -> Existence:
        asked.append(given)
        return slow

    monkeypatch.setattr(existence, "_slow_if_connected", ask)
    found = soc_exists(PATH, degree=1, cost=cost, seconds=seconds)
    assert found.answer == "unknown"
    assert bool(asked) == (cost == 0 and seconds > 0)
    assert (found.at_least, found.best) == ((7, 9) if asked else (2, 2))
    expected = (
        "unknown: no overlay found satisfies both limits, and no proof excludes all"
        if cost
        else f"unknown: connecting every topic takes at least {found.at_least} links, and the best one found "
        f"has {found.best}; give more --seconds"
    )
    assert found.reason == expected
    assert existence._open(Limits(None, 1, 0, "filtering"), 3, None).endswith(
        "at least 3 links; give more --seconds"
    )


def test_plain_shapes() -> None:
    """A star, a ring, a tree with few links per node and all pairs connect what shares topics."""
    interest = Interest.from_dict({name: {"x"} for name in "abcdefg"} | {"p": {"y"}, "q": {"y"}, "z": {"w"}})
    budget = {"max_degree": 3}
    plans = {plan.algorithm: plan for plan in rings_and_stars.shapes(interest, 3, budget)}
    links = {name: len(plan.overlay) for name, plan in plans.items()}
    assert links == {"star": 7, "ring of all": 8, "tree": 7, "all pairs": 22}
    degrees = {name: measure.degrees(plan.overlay).maximum for name, plan in plans.items()}
    assert degrees == {"star": 6, "ring of all": 2, "tree": 3, "all pairs": 6}
    for plan in plans.values():
        assert connects(plan.overlay)
        assert (plan.parameters, plan.seed, plan.seconds) == (budget, 0, 0.0)
        u, v = plan.overlay.u, plan.overlay.v
        assert plan.overlay.contribution.tolist() == measure.contributions(interest, u, v).tolist()
    assert measure.diameters(plans["tree"].overlay).maximum == 4
    for degree in (None, 1):
        assert "tree" not in [plan.algorithm for plan in rings_and_stars.shapes(interest, degree, {})]
    assert rings_and_stars.partner_counts(interest).tolist() == [6] * 7 + [1, 1, 0]  # type: ignore[union-attr]


def test_too_many_pairs_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs are counted topic by topic; up to the limit they are looked at."""
    interest = Interest.from_dict({name: {"x", "y"} for name in "abc"})
    for most, few in ((6, True), (5, False)):
        monkeypatch.setattr(rings_and_stars, "MOST_PAIRS", most)
        assert rings_and_stars.few_pairs(interest) is few
        assert (rings_and_stars.partner_counts(interest) is not None) is few
        assert ("all pairs" in [plan.algorithm for plan in rings_and_stars.shapes(interest, None, {})]) is few
