"""What must hold of the questions SOC(d, C)."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import overlay_of
from meshwright import Interest, Overlay
from meshwright.errors import InputError
from meshwright.measure import degrees, diameters, filtering_costs, routing_cost, soc
from meshwright.measure.routing_cost import RoutingCost
from strategies import overlays

measures: st.SearchStrategy[RoutingCost] = st.sampled_from(["filtering", "diameter"])


def line(*, relays: int) -> Overlay:
    """Return three subscribers of one topic on a line, with some relays between each two."""
    nodes = 3 + 2 * relays
    held = {v: ["x"] if v % (relays + 1) == 0 else [] for v in range(nodes)}
    return overlay_of(Interest.from_dict(held), [(v, v + 1) for v in range(nodes - 1)])


@settings(max_examples=35)
@given(overlays(), st.integers(0, 8), st.integers(0, 8), measures)
def test_the_answer_follows_from_the_bounds(overlay: Overlay, d: int, c: int, measure: RoutingCost) -> None:
    """`yes` if degree and upper bound are within, `no` if degree, lower bound or a topic is beyond."""
    answer = soc(overlay, degree=d, cost=c, measure=measure)
    if measure == "filtering":
        costs = filtering_costs(overlay)
        low, high, apart = costs.lower_total, costs.total, bool((costs.of_topic < 0).any())
    else:
        exact = diameters(overlay, scope="whole")
        low = high = exact.maximum
        apart = bool((exact.of_topic < 0).any())
    assert (answer.lower, answer.upper, len(answer.unreachable) > 0) == (low, high, apart)
    if degrees(overlay).maximum > d or apart or low > c:
        assert answer.verdict == "no"
    else:
        assert answer.verdict == ("yes" if high <= c else "unknown")


@settings(max_examples=35)
@given(overlays(), measures)
def test_looser_bounds_never_turn_yes_to_no(overlay: Overlay, measure: RoutingCost) -> None:
    """With its own degree and upper bound a connected overlay gets `yes`, with less it does not."""
    asked = soc(overlay, degree=99, cost=999, measure=measure)
    d, c = asked.degrees.maximum, asked.upper
    if len(asked.unreachable):
        assert asked.verdict == "no"
        return
    assert soc(overlay, degree=d, cost=c, measure=measure).verdict == asked.verdict == "yes"
    if d:
        assert soc(overlay, degree=d - 1, cost=c, measure=measure).verdict == "no"
    if c:
        assert soc(overlay, degree=d, cost=c - 1, measure=measure).verdict != "yes"


def test_between_the_bounds_it_is_unknown() -> None:
    """Three subscribers, three relays apart, need six; four are proven, so four and five are unknown."""
    answers = [soc(line(relays=3), degree=2, cost=c, measure="filtering").verdict for c in (3, 4, 5, 6)]
    assert answers == ["no", "unknown", "unknown", "yes"]
    assert soc(line(relays=3), degree=1, cost=5, measure="filtering").verdict == "no"


def test_a_ring_whose_diameter_is_only_bounded() -> None:
    """When searches are cut short, the diameter is known up to a factor of two, and so is the answer."""
    interest = Interest.from_dict({f"{v}": {"x"} for v in range(9)})
    ring = overlay_of(interest, [(v, v + 1) for v in range(8)] + [(0, 8)])
    with mock.patch.object(routing_cost, "STEPS", 0):
        answers = [soc(ring, degree=2, cost=c, measure="diameter").verdict for c in (3, 4, 7, 8)]
    assert answers == ["no", "unknown", "unknown", "yes"]
    assert soc(ring, degree=2, cost=4, measure="diameter").verdict == "yes"


def test_figures_of_each_topic() -> None:
    """Costs come for each topic and as a mean; topics with one subscriber do not count in the mean."""
    interest = Interest.from_dict({"a": {"x", "z"}, "b": {"y"}, "c": {"x"}, "d": {"y"}})
    overlay = overlay_of(interest, [(0, 1), (1, 2), (1, 3)])
    answer = soc(overlay, degree=3, cost=1, measure="filtering")
    assert (answer.of_topic.tolist(), answer.lower_of_topic.tolist()) == ([1, 0, 0], [1, 0, 0])
    assert (answer.mean, answer.verdict) == (0.5, "yes")
    far = soc(overlay, degree=3, cost=1, measure="diameter")
    assert (far.of_topic.tolist(), far.mean, far.verdict) == ([2, 1, 0], 1.5, "no")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"degree": -1}, "a degree of at most -1: give a whole number"),
        ({"cost": 1.5}, "a cost of at most 1.5: give a whole number"),
        ({"measure": "delay"}, "unknown measure 'delay': choose filtering or diameter"),
    ],
)
def test_bad_questions_are_rejected(bad: dict[str, Any], message: str) -> None:
    """A negative or broken bound and an unknown measure are each one clear line."""
    asked: dict[str, Any] = {"degree": 1, "cost": 1, "measure": "filtering"} | bad
    with pytest.raises(InputError, match=message):
        soc(line(relays=1), **asked)
