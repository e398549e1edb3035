"""What must hold of topic diameters."""

from __future__ import annotations

from typing import Literal
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright import Interest, Overlay
from meshwright.errors import InputError
from meshwright.measure import diameters, routing_cost
from meshwright.overlay import unchecked_overlay
from strategies import overlays

Scope = Literal["induced", "whole"]
scopes = st.sampled_from(["induced", "whole"])


def naive_diameters(overlay: Overlay, scope: Scope) -> list[int]:
    """Return the diameter of each topic from all distances between its subscribers, by networkx."""
    interest = overlay.interest
    graph = nx.Graph(list(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True)))
    graph.add_nodes_from(range(interest.num_nodes))
    answer = []
    for topic in range(interest.num_topics):
        own = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]].tolist()
        where = graph.subgraph(own) if scope == "induced" else graph
        far = [nx.single_source_shortest_path_length(where, a) for a in own]
        apart = any(b not in reach for reach in far for b in own)
        answer.append(-1 if apart else max((reach[b] for reach in far for b in own), default=0))
    return answer


def path(nodes: int, *, chord: bool = False) -> Overlay:
    """Return one topic over a path, with or without the edge that makes it a ring."""
    interest = Interest.from_pairs(np.arange(nodes), np.zeros(nodes, dtype=np.int64))
    u = np.arange(nodes - 1, dtype=np.int32)
    u, v = (np.append(u, 0), np.append(u + 1, nodes - 1)) if chord else (u, u + 1)
    return unchecked_overlay(
        interest, u.astype(np.int32), v.astype(np.int32), np.zeros(len(u), dtype=np.int32)
    )


@settings(max_examples=35)
@given(overlays(most_nodes=9, most_topics=3), scopes)
def test_exact_diameters_equal_networkx(overlay: Overlay, scope: Scope) -> None:
    """With enough effort, every topic is exact and equals the longest of all shortest paths."""
    found = diameters(overlay, scope=scope)
    expected = naive_diameters(overlay, scope)
    assert found.of_topic.tolist() == expected
    assert found.exact.all()
    enough = diameters(overlay, scope=scope, effort=max(overlay.interest.num_nodes, 1))
    assert enough.of_topic.tolist() == expected
    assert enough.exact.all()
    measured = [d for d in expected if d > 0]
    assert found.maximum == max(measured, default=0)
    assert found.mean == pytest.approx(sum(measured) / max(len(measured), 1))


@settings(max_examples=35)
@given(overlays(most_nodes=9, most_topics=3), scopes, st.integers(1, 4))
def test_bounded_effort_never_overstates(overlay: Overlay, scope: Scope, effort: int) -> None:
    """A bounded search gives a lower bound, at least half the truth, and claims exactness only when right."""
    found = diameters(overlay, scope=scope, effort=effort)
    truth = np.array(naive_diameters(overlay, scope), dtype=np.int32)
    assert (found.of_topic <= truth).all()
    assert (2 * found.of_topic[truth > 0] >= truth[truth > 0]).all()
    assert (found.of_topic[found.exact] == truth[found.exact]).all()
    assert ((truth >= 0) == (found.of_topic >= 0)).all()


def test_double_sweep_finds_the_ends_of_a_path() -> None:
    """Two searches find the whole length of a path; one search in a ring finds a bound and says so."""
    assert diameters(path(9), effort=2).of_topic.tolist() == [8]
    once = diameters(path(9, chord=True), effort=1)
    assert (once.of_topic.tolist(), once.exact.tolist()) == ([4], [False])


def test_whole_overlay_may_be_a_shortcut() -> None:
    """Subscribers that are apart in their own sub-overlay may be connected through other nodes."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"y"}, "c": {"x"}})
    ends = (np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32))
    overlay = unchecked_overlay(interest, *ends, np.zeros(2, dtype=np.int32))
    assert diameters(overlay).of_topic.tolist() == [-1, 0]
    assert diameters(overlay, scope="whole").of_topic.tolist() == [2, 0]


@pytest.mark.parametrize("scope", ["induced", "whole"])
def test_default_effort_shrinks_to_a_double_sweep(scope: Scope) -> None:
    """Without any steps left, each topic gets two searches, and those that need more are marked as bounds."""
    with mock.patch.object(routing_cost, "STEPS", 0):
        found = diameters(path(9, chord=True), scope=scope)
    assert (found.of_topic.tolist(), found.exact.tolist()) == ([4], [False])


@pytest.mark.parametrize("scope", ["induced", "whole"])
@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"]}, {"a": ["x"], "b": ["y"]}])
def test_topics_without_two_subscribers(subscriptions: dict[str, list[str]], scope: Scope) -> None:
    """Topics with fewer than two subscribers have diameter 0; without topics the summary is 0."""
    found = diameters(Overlay.empty(Interest.from_dict(subscriptions)), scope=scope)
    assert found.of_topic.tolist() == [0] * len(found.exact)
    assert found.exact.all()
    assert (found.maximum, found.mean) == (0, 0.0)


def test_bad_parameters_are_named() -> None:
    """An unknown scope and an effort below one are rejected with the way out."""
    overlay = path(2)
    with pytest.raises(InputError, match="'outside': choose induced or whole"):
        diameters(overlay, scope="outside")  # type: ignore[arg-type]
    for effort in (0, 1.5):
        with pytest.raises(InputError, match=f"effort of {effort}.* give a whole number of at least 1"):
            diameters(overlay, effort=effort)  # type: ignore[arg-type]
