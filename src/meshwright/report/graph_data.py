"""The graph that a page shows: places, links and a tree per topic, packed for `web/src/payload.ts`."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshwright.report.page import visible
from meshwright.report.positions import layout
from meshwright.routes import Trees

MOST_BROKERS, MOST_LINKS = 10_000, 50_000
"""Larger overlays are sampled."""
MOST_TREE_LINKS = 1_500_000
"""The links of all trees together that a page contains: a few megabytes."""
SCALE = 10_000
"""Places are whole numbers from 0 to this."""


@dataclass(frozen=True, eq=False)
class GraphData:
    """The part of an overlay that a page shows, and where it is."""

    brokers: NDArray[np.int64]
    """The brokers shown, ascending."""
    links: NDArray[np.int64]
    """The links shown, ascending."""
    topics: NDArray[np.int64]
    """The topics whose trees are shown, ascending."""
    places: NDArray[np.float64]
    payload: str
    notes: tuple[str, ...]
    """What is not shown, in sentences."""

    def broker(self, node: int) -> int | None:
        """Return the number of a broker in the view; None if it is not shown."""
        return _place(self.brokers, node)

    def topic(self, topic: int) -> int | None:
        """Return the number of a topic in the view; None if its tree is not shown."""
        return _place(self.topics, topic)


def _place(ids: NDArray[np.int64], asked: int) -> int | None:
    place = int(np.searchsorted(ids, asked))
    return place if place < len(ids) and ids[place] == asked else None


def graph_data(trees: Trees, *, first_topics: Sequence[int] = ()) -> GraphData:
    """Choose what to show, lay it out, and pack it.

    Of large overlays, the brokers with the most links are shown, and the first links between them. Of many
    trees, those of `first_topics`, then those of the topics with the most brokers.
    """
    overlay = trees.overlay
    interest = overlay.interest
    degrees = np.bincount(np.concatenate((overlay.u, overlay.v)), minlength=interest.num_nodes)
    brokers = np.sort(np.argsort(-degrees, kind="stable")[:MOST_BROKERS])
    number = np.full(interest.num_nodes, -1)
    number[brokers] = np.arange(len(brokers))
    links = np.flatnonzero((number[overlay.u] >= 0) & (number[overlay.v] >= 0))[:MOST_LINKS]
    topics = _choose_topics(trees, first_topics)
    u, v = number[overlay.u[links]], number[overlay.v[links]]
    places = layout(len(brokers), u, v)
    names = interest.node_names.to_pylist()
    whole = (places * SCALE).round().astype(np.int64)
    content = {
        "brokers": {
            "names": [visible(names[node]) for node in brokers.tolist()],
            "x": whole[:, 0].tolist(),
            "y": whole[:, 1].tolist(),
            "degrees": degrees[brokers].tolist(),
            "topics": np.diff(interest.node_ptr)[brokers].tolist(),
        },
        "links": {"u": u.tolist(), "v": v.tolist()},
        "topics": _topics(trees, topics, number, links),
    }
    notes = tuple(_notes(trees, len(brokers), len(links), len(topics)))
    return GraphData(brokers, links, topics, places, pack(content), notes)


def _choose_topics(trees: Trees, first: Sequence[int]) -> NDArray[np.int64]:
    """Return the topics whose trees fit into a page."""
    sizes = np.diff(trees.ptr)
    order = np.argsort(-sizes, kind="stable")
    order = np.concatenate((np.array(first, dtype=np.int64), order[~np.isin(order, first)]))
    order = order[sizes[order] > 0]
    return np.sort(order[np.cumsum(sizes[order]) <= MOST_TREE_LINKS])


def _topics(
    trees: Trees, topics: NDArray[np.int64], number: NDArray[Any], links: NDArray[np.int64]
) -> dict[str, Any]:
    """Return names, sizes, trees, roots and relays of the topics, in the numbers of the view."""
    interest = trees.overlay.interest
    place = np.full(len(trees.overlay), -1)
    place[links] = np.arange(len(links))
    ways, roots, relays = [], [], {}
    for at, topic in enumerate(topics.tolist()):
        piece = slice(trees.ptr[topic], trees.ptr[topic + 1])
        way = place[trees.links[piece][trees.above[piece] >= 0]]
        ways.append(np.diff(np.sort(way[way >= 0]), prepend=0).tolist())
        root = trees.nodes[piece][trees.above[piece] < 0]
        roots.append(int(number[root[0]]) if len(root) else -1)
        passing = number[trees.nodes[piece][trees.relay[piece]]]
        if len(passing):
            relays[str(at)] = passing[passing >= 0].tolist()
    names = interest.topic_names.to_pylist()
    return {
        "names": [visible(names[topic]) for topic in topics.tolist()],
        "subscribers": np.diff(interest.topic_ptr)[topics].tolist(),
        "trees": ways,
        "roots": roots,
        "relays": relays,
    }


def _notes(trees: Trees, brokers: int, links: int, topics: int) -> list[str]:
    nodes, edges = trees.overlay.interest.num_nodes, len(trees.overlay)
    notes = []
    if brokers < nodes:
        notes.append(f"The graph shows the {brokers:,} brokers with the most links, of {nodes:,}.")
    if links < edges:
        notes.append(f"The graph shows {links:,} of {edges:,} links.")
    if topics < len(trees):
        notes.append(f"The graph has the trees of {topics:,} of {len(trees):,} topics.")
    return [*notes, "All figures count everything."] if notes else []


def pack(content: dict[str, Any]) -> str:
    """Return JSON, deflated, in base64: small, and no name in it can end the element that holds it."""
    text = json.dumps(content, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
