"""The graph that a page shows: places, links and a tree per topic, packed for `web/src/payload.ts`.

`layout` places brokers on a plane, linked ones near each other: computed once, for any view. The start is
PivotMDS (Brandes and Pich, 2006): distances to a few pivots, projected on the two main axes. Then forces
refine it, as Fruchterman and Reingold (1991) do: links pull, brokers push. The push of all brokers is a
convolution of their density with the force of one broker, so a round costs one FFT of a fixed grid, whatever
the number of brokers.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright.report.page import visible
from meshwright.routes import Trees

Places = NDArray[np.float64]

PIVOTS = 40
ROUNDS = 200
GRIDS = (64, 192)
"""Cells of the density in each direction, for few and for many brokers; the FFT has twice as many, so that it
does not wrap around."""
FEW = 500
SEED = 7
"""The layout is the same for the same overlay."""
GRAVITY = 0.5
"""Pull towards the centre, which keeps components together."""
APART = 0.08
"""Distance from the linked brokers to the rows of those without links."""


def layout(nodes: int, u: NDArray[Any], v: NDArray[Any]) -> Places:
    """Return a place for each node, from 0 to 1 in both directions; the longer one is used in full.

    Parameters
    ----------
    nodes
        The number of nodes.
    u, v
        The two ends of each link.

    Examples
    --------
    >>> places = layout(3, np.array([0, 1]), np.array([1, 2]))
    >>> places.shape, float(places.min()), float(places.max())
    ((3, 2), 0.0, 1.0)
    """
    if not nodes:
        return np.zeros((0, 2))
    linked = np.zeros(nodes, dtype=bool)
    linked[u], linked[v] = True, True
    number = np.cumsum(linked) - 1
    places = np.empty((nodes, 2))
    places[linked] = _place_linked(int(linked.sum()), number[u], number[v])
    places[~linked] = _rows(int((~linked).sum()))
    return _unit(places)


def _place_linked(nodes: int, u: NDArray[Any], v: NDArray[Any]) -> Places:
    if not nodes:
        return np.zeros((0, 2))
    first = _unit(_pivot_mds(nodes, u, v))
    jitter = np.random.default_rng(SEED).normal(scale=0.02, size=first.shape)
    return _unit(_refine(first + jitter, u, v))


def _rows(nodes: int) -> Places:
    """Return places in rows below the unit square."""
    columns = max(12, int(np.ceil(np.sqrt(6 * nodes))))
    row, column = np.divmod(np.arange(nodes), columns)
    return np.column_stack(((column + 0.5) / columns, -APART - row / columns))


def _unit(places: Places) -> Places:
    """Scale places into the unit square, centred, without changing their proportions."""
    low, high = places.min(axis=0), places.max(axis=0)
    extent = float((high - low).max()) or 1.0
    scaled: Places = 0.5 + (places - (low + high) / 2) / extent
    return scaled


def _pivot_mds(nodes: int, u: NDArray[Any], v: NDArray[Any]) -> Places:
    """Return first places: the two main components of the distances to pivots that are far apart."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    # Before scipy 1.15, dijkstra takes 32-bit indices only.
    ends = (u.astype(np.int32), v.astype(np.int32))
    graph = coo_array((np.ones(len(u)), ends), shape=(nodes, nodes)).tocsr()
    nearest = np.full(nodes, np.inf)
    degrees = np.bincount(np.concatenate((u, v)), minlength=nodes)
    pivot, columns = int(degrees.argmax()), []
    for _ in range(min(PIVOTS, nodes)):
        distances = dijkstra(graph, directed=False, indices=[pivot], unweighted=True)[0]
        columns.append(distances)
        nearest = np.minimum(nearest, distances)
        pivot = int(np.where(np.isfinite(nearest), nearest, -1).argmax())
    table = np.stack(columns, axis=1)
    reached = np.isfinite(table)
    table[~reached] = table[reached].max(initial=0.0) + 2  # other components: a little further than any
    squares = table**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    first: Places = left[:, :2] * sizes[:2]
    return first if first.shape[1] == 2 else np.column_stack((first[:, 0], np.zeros(nodes)))


class _Push(NamedTuple):
    """The force of one broker on its surroundings, transformed, for the two directions."""

    x: NDArray[np.complex128]
    y: NDArray[np.complex128]


def _push_of_one(grid: int) -> _Push:
    """Return the transformed force 1 / distance, away from the middle of the doubled grid."""
    from scipy.fft import rfft2

    offset = np.fft.fftfreq(2 * grid, 1 / (2 * grid))
    dx, dy = np.meshgrid(offset, offset, indexing="ij")
    squares = np.maximum(dx**2 + dy**2, 0.5)
    return _Push(rfft2(dx / squares), rfft2(dy / squares))


def _refine(places: Places, u: NDArray[Any], v: NDArray[Any]) -> Places:
    """Let links pull and brokers push, with steps that become shorter."""
    nodes = len(places)
    one = _push_of_one(GRIDS[nodes > FEW])
    ideal = 1 / np.sqrt(nodes)
    degrees = np.maximum(np.bincount(np.concatenate((u, v)), minlength=nodes), 1)
    for at in range(ROUNDS):
        force = ideal**2 * _push(places, one)
        along = places[v] - places[u]
        pull = along * (np.sqrt((along**2).sum(axis=1)) / ideal)[:, None]
        for axis in (0, 1):
            force[:, axis] += np.bincount(u, weights=pull[:, axis], minlength=nodes)
            force[:, axis] -= np.bincount(v, weights=pull[:, axis], minlength=nodes)
        force /= np.sqrt(degrees)[:, None]  # hubs are pulled by many: without this they shake
        force += GRAVITY * (places.mean(axis=0) - places)
        length = np.sqrt((force**2).sum(axis=1))
        longest = 0.1 * (1 - at / ROUNDS) ** 2 + 0.1 * ideal
        places = places + force * np.minimum(1, longest / np.maximum(length, 1e-12))[:, None]
    return places


def _push(places: Places, one: _Push) -> Places:
    """Return how all brokers push each: their density, convolved with the force of one."""
    from scipy.fft import irfft2, rfft2

    low, grid = places.min(axis=0), len(one.x) // 2
    cell = float((places.max(axis=0) - low).max()) / (grid - 2) or 1.0
    at = (places - low) / cell
    whole = at.astype(np.int64)
    part = at - whole
    density = np.zeros((2 * grid, 2 * grid))
    corners = [
        (i, j, (part[:, 0] if i else 1 - part[:, 0]) * (part[:, 1] if j else 1 - part[:, 1]))
        for i in (0, 1)
        for j in (0, 1)
    ]
    for i, j, weight in corners:  # each broker is spread over the four cells around it
        np.add.at(density, (whole[:, 0] + i, whole[:, 1] + j), weight)
    spectrum = rfft2(density)
    pushed = np.zeros_like(places)
    for axis, force in enumerate(one):
        field = irfft2(spectrum * force, s=density.shape)
        for i, j, weight in corners:
            pushed[:, axis] += weight * field[whole[:, 0] + i, whole[:, 1] + j]
    return pushed / cell


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
