"""What must hold of verification."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import meshwright as mw
from meshwright import Interest, Overlay
from meshwright.measure import components, contributions, degrees, support, verify
from strategies import interests, overlays


@given(overlays())
def test_verification_repeats_every_measure(overlay: Overlay) -> None:
    """Each field is what the measure of that name says."""
    found = verify(overlay)
    assert found.components.of_topic.tolist() == components(overlay).of_topic.tolist()
    assert found.split_topics.tolist() == [t for t, n in enumerate(found.components.of_topic) if n > 1]
    assert found.connected == (max(found.components.of_topic, default=0) <= 1)
    assert found.support == support(overlay)
    assert found.degrees.of_node.tolist() == degrees(overlay).of_node.tolist()


@given(overlays())
def test_contributions_agree_only_when_all_do(overlay: Overlay) -> None:
    """True contributions agree; one of them altered does not."""
    truth = contributions(overlay.interest, overlay.u, overlay.v)
    assert verify(Overlay(overlay.interest, overlay.u, overlay.v, truth)).contributions_agree
    if len(truth):
        altered = truth.copy()
        altered[-1] += 1
        assert not verify(Overlay(overlay.interest, overlay.u, overlay.v, altered)).contributions_agree


@given(interests(most_nodes=7))
def test_rings_are_verified(interest: Interest) -> None:
    """Ring per topic connects every topic and states its contributions truly."""
    found = verify(mw.design(interest, "ring").overlay)
    assert found.connected
    assert found.contributions_agree
    assert found.support == 1.0


def test_split_topics_are_told() -> None:
    """Topics in several pieces are listed, the others not."""
    interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
    overlay = Overlay(interest, *(np.array([i], dtype=np.int32) for i in (0, 1, 1)))
    found = verify(overlay)
    assert not found.connected
    assert found.split_topics.tolist() == [interest.topic_id("y")]
    assert found.support == 0.5


@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"]}])
def test_nothing_is_connected_as_it_is(subscriptions: dict[str, list[str]]) -> None:
    """Without anything to connect, the empty overlay is right."""
    found = verify(Overlay.empty(Interest.from_dict(subscriptions)))
    assert found.connected
    assert found.contributions_agree
    assert found.support == 1.0
