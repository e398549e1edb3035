"""What verification finds of an overlay is true, and does not come from the measures that plans state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshwright as mw
from calls import overlay_of
from meshwright import Interest, Overlay, measure
from meshwright.overlay import unchecked_overlay
from meshwright.verify import overlay_check, verify_overlay
from strategies import interests, overlays

PATH = overlay_of(
    Interest.from_dict({"a": {"x"}, "b": {"x", "y"}, "c": {"x", "y"}, "d": {"z"}}), [(0, 1), (1, 2)]
)


@given(overlays())
def test_it_finds_what_the_measures_find(overlay: Overlay) -> None:
    """Each field is what the measure of that name says, although scipy counts there and union-find here."""
    found = verify_overlay(overlay)
    counted, links = measure.components(overlay), measure.degrees(overlay)
    assert found.components.of_topic.tolist() == counted.of_topic.tolist()
    assert found.components.total == counted.total
    assert found.split_topics.tolist() == [t for t, pieces in enumerate(counted.of_topic) if pieces > 1]
    assert found.connected == (max(counted.of_topic, default=0) <= 1)
    assert found.support == measure.support(overlay)
    assert (found.degrees.average, found.degrees.maximum) == (links.average, links.maximum)
    assert found.degrees.of_node.tolist() == links.of_node.tolist()
    assert found.degrees.distribution.tolist() == links.distribution.tolist()


@given(overlays())
def test_wrong_contributions_are_those_that_differ(overlay: Overlay) -> None:
    """An edge is wrong if and only if it states another contribution than it has, given those before it."""
    truth = measure.contributions(overlay.interest, overlay.u, overlay.v)
    found = verify_overlay(overlay)
    assert found.wrong_contributions.tolist() == np.flatnonzero(truth != overlay.contribution).tolist()
    assert found.contributions_agree == (not len(found.wrong_contributions))
    assert verify_overlay(Overlay(overlay.interest, overlay.u, overlay.v, truth)).contributions_agree


def test_no_measure_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures of a plan come from the measures, so verification must not: it works without them."""
    for name in ("components", "support", "degrees", "contributions"):
        for module in (measure, measure.connectivity):
            monkeypatch.setattr(module, name, None, raising=False)
    assert verify_overlay(PATH).connected


@given(interests(most_nodes=7))
def test_rings_are_verified(interest: Interest) -> None:
    """A ring for each topic connects every topic and states its contributions correctly."""
    found = verify_overlay(mw.design(interest, "ring").overlay)
    assert found.connected
    assert found.contributions_agree
    assert found.support == 1.0


def test_an_example_by_hand() -> None:
    """Four brokers on a path and one apart: components, support, degrees and contributions."""
    found = verify_overlay(PATH)
    assert found.components.of_topic.tolist() == [1, 1, 1]
    assert found.components.total == 3
    assert found.degrees.of_node.tolist() == [1, 2, 1, 0]
    assert (found.degrees.average, found.degrees.maximum) == (1.0, 2)
    assert found.degrees.distribution.tolist() == [1, 2, 1]
    halved = verify_overlay(unchecked_overlay(PATH.interest, PATH.u[:1], PATH.v[:1], np.array([2])))
    assert (halved.connected, halved.support) == (False, 1 / 3)
    assert halved.split_topics.tolist() == [0, 1]
    assert halved.wrong_contributions.tolist() == [0]


@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"]}])
def test_nothing_to_connect_is_connected(subscriptions: dict[str, list[str]]) -> None:
    """Without anything to connect, the empty overlay is connected with support 1."""
    found = verify_overlay(Overlay.empty(Interest.from_dict(subscriptions)))
    assert found.connected
    assert found.contributions_agree
    assert (found.support, found.degrees.average, found.degrees.maximum) == (1.0, 0.0, 0)


@given(overlays(), st.integers(1, 4))
def test_batches_change_nothing(overlay: Overlay, at_once: int) -> None:
    """However few edges are joined at a time, the findings are the same, and progress rises to its end."""
    reports: list[tuple[int, float, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlay_check, "EDGES_AT_ONCE", at_once)
        found = verify_overlay(overlay, progress=lambda *report: reports.append(report))
    whole = verify_overlay(overlay)
    assert found.components.of_topic.tolist() == whole.components.of_topic.tolist()
    assert found.wrong_contributions.tolist() == whole.wrong_contributions.tolist()
    edges = len(overlay)
    steps = [min(done, edges) for done in range(at_once, edges + at_once, at_once)]
    assert reports == [(done, done / edges, "checked") for done in steps]
