"""What the graph view gets: the whole overlay with every tree, or a sample with a note."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import pytest

import meshwright as mw
from meshwright.report import graph_data as module
from meshwright.report.graph_data import graph_data, pack
from meshwright.routes import Trees
from meshwright.workloads import zipf


def unpack(payload: str) -> dict[str, Any]:
    """Return what `pack` was given."""
    content: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(payload)))
    return content


def test_no_name_ends_the_element_that_holds_it() -> None:
    """A payload has no markup of the names in it, and gives them back."""
    payload = pack({"names": ["</script>"]})
    assert "<" not in payload
    assert unpack(payload) == {"names": ["</script>"]}


@pytest.fixture(scope="module")
def trees() -> Trees:
    return mw.route(mw.design(zipf(60, 12, size=4, seed=2), "low").overlay)


def tree_of(content: dict[str, Any], topic: int) -> set[tuple[int, int]]:
    """Return the links of a topic's tree as pairs of brokers of the view."""
    links = np.cumsum(content["topics"]["trees"][topic])
    return {(content["links"]["u"][link], content["links"]["v"][link]) for link in links.tolist()}


def test_everything_is_there(trees: Trees) -> None:
    """Names, degrees, links and the tree of each topic are those of the plan."""
    made = graph_data(trees)
    content, overlay = unpack(made.payload), trees.overlay
    assert made.notes == ()
    assert content["brokers"]["names"] == overlay.interest.node_names.to_pylist()
    pairs = list(zip(content["links"]["u"], content["links"]["v"], strict=True))
    assert pairs == list(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))
    assert sum(content["brokers"]["degrees"]) == 2 * len(overlay)
    for place, topic in enumerate(made.topics.tolist()):
        expected = {(min(pair), max(pair)) for pair in trees.edges_of(topic)}
        assert tree_of(content, place) == expected
        assert content["topics"]["roots"][place] == trees.nodes[trees.ptr[topic]]
        assert made.topic(topic) == place


def test_large_overlays_are_sampled(trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    """The view keeps the brokers with the most links, says so, and every number refers to what is shown."""
    monkeypatch.setattr(module, "MOST_BROKERS", 20)
    monkeypatch.setattr(module, "MOST_LINKS", 15)
    monkeypatch.setattr(module, "MOST_TREE_LINKS", 60)
    made = graph_data(trees, first_topics=[7])
    content = unpack(made.payload)
    assert len(content["brokers"]["names"]) == 20
    assert len(content["links"]["u"]) <= 15
    assert made.topic(7) is not None
    assert len(made.topics) < len(trees)
    assert "20 brokers with the most links, of 60" in made.notes[0]
    shown = {(u, v) for u, v in zip(content["links"]["u"], content["links"]["v"], strict=True)}
    for place in range(len(made.topics)):
        assert tree_of(content, place) <= shown
    degrees = np.bincount(np.concatenate((trees.overlay.u, trees.overlay.v)))
    assert min(content["brokers"]["degrees"]) >= np.sort(degrees)[-20]
    hidden = next(node for node in range(60) if node not in made.brokers)
    assert made.broker(hidden) is None


def test_relays_are_marked() -> None:
    """A partial plan routes through brokers that did not ask for a topic."""
    interest = mw.Interest.of({"a": {"x", "y"}, "b": {"y", "z"}, "c": {"x", "z"}})
    overlay = mw.design(interest, "gm").overlay.prefix(2)
    trees = mw.route(overlay)
    relays = unpack(graph_data(trees).payload)["topics"]["relays"]
    assert sum(map(len, relays.values())) == int(trees.relay.sum()) == 1
