"""Trees: for each topic, the paths of its messages; and their figures: hops, stretch, loads, relays.

In the figures, publisher-only brokers are only counted: a one-way link may lie outside the overlay, and rates
are known by topic, not by publisher. A message from such a broker takes one hop more than from its carrier.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrays import Ids, Offsets, check_within, frozen
from meshwright.arrow import from_numpy
from meshwright.errors import InputError
from meshwright.formatting import counted, shown
from meshwright.measure.connectivity import adjacency
from meshwright.overlay import Overlay


@dataclass(frozen=True, eq=False)
class Trees:
    """One dissemination tree for each topic with at least two subscribers, inside an overlay.

    The tree of topic `t` has the nodes `nodes[ptr[t]:ptr[t + 1]]`, from the root outwards. `above` is the
    position of a node's parent within that slice (-1 for the root), and `links` is the overlay's edge to it.
    All nodes except relays are subscribers. A publisher-only broker is attached by a one-way link and is not
    among the nodes: `publishers` has a row of topic, broker and carrier for each.

    >>> import meshwright as mw
    >>> trees = mw.route(mw.design({"a": {"x"}, "b": {"x"}, "c": {"x"}}, "gm"))
    >>> trees
    Trees(1 topic, 0 relays, by hops)
    >>> trees.to_arrow().column("child").to_pylist()
    ['a', 'c', 'b']
    """

    overlay: Overlay
    objective: str
    rates: NDArray[np.float64]
    """Messages per second of each topic."""
    ptr: Offsets
    nodes: Ids
    above: Ids
    links: Ids
    unreachable: NDArray[np.int64]
    """Topics whose subscribers cannot reach each other even through relays: they have no tree."""
    publishers: NDArray[np.int32]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", frozen(self.rates, np.float64))
        object.__setattr__(self, "ptr", frozen(self.ptr, np.int64))
        object.__setattr__(self, "publishers", frozen(self.publishers.reshape(-1, 3), np.int32))
        for column in ("nodes", "above", "links"):
            object.__setattr__(self, column, frozen(getattr(self, column), np.int32))
        self._check_form()

    def _check_form(self) -> None:
        """Check what kernels rely on: each topic's nodes are one tree over links, parents first."""
        ptr, nodes, above, overlay = self.ptr, self.nodes, self.above, self.overlay
        topics, most = overlay.interest.num_topics, overlay.interest.num_nodes
        if len(ptr) != topics + 1 or ptr[0] or ptr[-1] != len(nodes) or (np.diff(ptr) < 0).any():
            raise InputError(
                f"the nodes of trees are not divided among {topics} topics: give the end of each"
            )
        if not len(nodes) == len(above) == len(self.links) or len(self.rates) != topics:
            raise InputError("the nodes, parents and links of trees differ in number: give one of each")
        check_within(nodes, most, "nodes")
        check_within(self.publishers[:, 0], topics, "topics")
        check_within(self.publishers[:, 1:], most, "nodes")
        place = np.arange(len(nodes)) - ptr[self.topics]
        if ((above < 0) != (place == 0)).any() or (above >= np.maximum(place, 1)).any():
            raise InputError("the nodes of trees are not in order: a root first, and parents before children")
        below = np.flatnonzero(above >= 0)
        links = self.links[below]
        check_within(links, len(overlay), "links")
        ends = np.sort(np.stack((nodes[below], self.parents[below])), axis=0)
        if (ends != np.stack((overlay.u[links], overlay.v[links]))).any():
            raise InputError("the links of trees do not join their nodes: give the link to each parent")

    def __len__(self) -> int:
        """Return the number of topics with a tree."""
        return int(np.count_nonzero(np.diff(self.ptr)))

    def __repr__(self) -> str:
        relays = counted(int(self.relay.sum()), "relay")
        return f"Trees({counted(len(self), 'topic')}, {relays}, by {self.objective})"

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_table

        rows = [(name, shown(value)) for name, value in figures(self).items() if value is not None]
        return html_table(rows, caption=repr(self))

    @cached_property
    def topics(self) -> Ids:
        """The topic of each entry of `nodes`."""
        return np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int32), np.diff(self.ptr))

    @cached_property
    def parents(self) -> Ids:
        """The parent of each entry of `nodes`, -1 for roots."""
        parent = self.nodes[self.ptr[self.topics] + np.maximum(self.above, 0)]
        return np.where(self.above < 0, -1, parent).astype(np.int32)

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """The position of each entry of `nodes` in the interest's `topic_nodes`, -1 for relays."""
        interest = self.overlay.interest
        size = max(interest.num_nodes, 1)
        owners = np.repeat(np.arange(interest.num_topics), np.diff(interest.topic_ptr))
        held = owners * size + interest.topic_nodes
        asked = self.topics.astype(np.int64) * size + self.nodes
        place = np.searchsorted(held, asked)
        found = np.append(held, -1)[place] == asked
        return np.where(found, place, -1)

    @cached_property
    def relay(self) -> NDArray[np.bool_]:
        """Whether each entry of `nodes` is a relay: it forwards messages without subscribing."""
        return frozen(self.slots < 0, np.bool_)

    def edges_of(self, topic: int) -> list[tuple[int, int]]:
        """Return a tree as pairs of parent and child."""
        piece = slice(self.ptr[topic], self.ptr[topic + 1])
        pairs = zip(self.parents[piece].tolist(), self.nodes[piece].tolist(), strict=True)
        return [(parent, child) for parent, child in pairs if parent >= 0]

    def to_arrow(self) -> pa.Table:
        """Return a table `topic, parent, child` of names, as a plan stores it; the root has no parent.

        Publisher-only brokers are the last children of their topics.
        """
        interest = self.overlay.interest
        topics = np.concatenate((self.topics, self.publishers[:, 0]))
        parents = np.concatenate((self.parents, self.publishers[:, 2]))
        children = np.concatenate((self.nodes, self.publishers[:, 1]))
        order = np.argsort(topics, kind="stable")
        brokers = interest.node_names.cast(pa.string())
        return pa.table(
            {
                "topic": interest.topic_names.cast(pa.string()).take(from_numpy(topics[order])),
                "parent": brokers.take(from_numpy(parents[order], nulls=parents[order] < 0)),
                "child": brokers.take(from_numpy(children[order])),
            }
        )


STEPS = 200_000_000
"""Approximate limit of steps for the measure of stretch: a few seconds."""


@dataclass(frozen=True, eq=False)
class Hops:
    """Hops in the tree from each subscriber to every other, by topic and over all pairs."""

    mean_of_topic: NDArray[np.float64]
    usual_of_topic: NDArray[np.int64]
    """The 95th percentile."""
    most_of_topic: NDArray[np.int64]
    mean: float
    most: int


@dataclass(frozen=True, eq=False)
class Stretch:
    """Hops in the tree divided by hops in the whole overlay, from sampled brokers to all they reach."""

    mean: float
    most: float
    sources: int
    """Number of sampled brokers: all of them if that takes seconds, otherwise evenly spaced ones."""


@dataclass(frozen=True, eq=False)
class Loads:
    """Messages per second: each link carries every message of the trees that use it once, either way.

    A broker forwards a message to every neighbour in the tree except the one it came from; that is its load.
    """

    of_link: NDArray[np.float64]
    of_broker: NDArray[np.float64]


def _require_trees(trees: object) -> None:
    if not isinstance(trees, Trees):
        raise InputError(f"{type(trees).__name__} is not trees: give what mw.route returns")


def hops(trees: Trees) -> Hops:
    """Count the hops between all pairs of subscribers of each topic, exactly."""
    _require_trees(trees)
    from meshwright.routes import spanning_trees as kernels

    total, pairs, usual, most = kernels.count_hops(trees.ptr, trees.above, frozen(~trees.relay, np.bool_))
    return Hops(
        total / np.maximum(pairs, 1),
        usual,
        most,
        float(total.sum() / max(int(pairs.sum()), 1)),
        int(most.max(initial=0)),
    )


def stretch(trees: Trees) -> Stretch:
    """Compare paths in the trees with the shortest paths in the whole overlay."""
    _require_trees(trees)
    from meshwright.routes import spanning_trees as kernels

    links, sizes = adjacency(trees.overlay), np.diff(trees.ptr)
    entries = np.flatnonzero(~trees.relay)
    entries = entries[np.argsort(trees.nodes[entries], kind="stable")]
    brokers, first = np.unique(trees.nodes[entries], return_index=True)
    if not len(brokers):
        return Stretch(1.0, 1.0, 0)
    work = np.bincount(trees.nodes[entries], weights=sizes[trees.topics[entries]])[brokers]
    each = float(work.mean()) + len(links.nodes) + trees.overlay.interest.num_nodes
    count = int(min(len(brokers), max(1, STEPS // each)))
    chosen = np.linspace(0, len(brokers) - 1, count).round().astype(np.int64)
    ends = np.append(first[1:], len(entries))
    pieces = [entries[first[i] : ends[i]] for i in chosen.tolist()]
    taken = np.concatenate(pieces)
    total, pairs, worst = kernels.stretch(
        frozen(brokers[chosen], np.int32),
        frozen(np.concatenate(([0], np.cumsum([len(piece) for piece in pieces]))), np.int64),
        frozen(taken, np.int64),
        frozen(trees.topics[taken], np.int32),
        trees.ptr, trees.nodes, trees.above, frozen(~trees.relay, np.bool_), links,
    )  # fmt: skip
    return Stretch(total / max(pairs, 1), worst, count)


def loads(trees: Trees) -> Loads:
    """Sum the messages that every link carries and every broker forwards."""
    _require_trees(trees)
    below = trees.above >= 0
    rates = trees.rates[trees.topics]
    of_link: NDArray[np.float64] = np.bincount(
        trees.links[below], weights=rates[below], minlength=len(trees.overlay)
    ).astype(np.float64)
    nodes = trees.overlay.interest.num_nodes
    of_broker = np.bincount(trees.nodes[below], weights=rates[below], minlength=nodes)
    of_broker += np.bincount(trees.parents[below], weights=rates[below], minlength=nodes)
    of_broker -= np.bincount(trees.nodes, weights=rates, minlength=nodes)
    return Loads(of_link, np.maximum(of_broker, 0.0))


def figures(trees: Trees) -> dict[str, int | float]:
    """Return the figures of the trees as a plan records them."""
    way, carried = hops(trees), loads(trees)
    there = np.diff(trees.ptr) > 0
    return {
        "trees": len(trees),
        "mean_hops": way.mean,
        "usual_hops": int(way.usual_of_topic.max(initial=0)),
        "max_hops": way.most,
        "mean_max_hops": float(way.most_of_topic[there].mean()) if there.any() else 0.0,
        "max_link_load": float(carried.of_link.max(initial=0.0)),
        "mean_link_load": float(carried.of_link.mean()) if len(carried.of_link) else 0.0,
        "max_broker_load": float(carried.of_broker.max(initial=0.0)),
        "links_used": int(np.count_nonzero(np.bincount(trees.links[trees.above >= 0], minlength=1))),
        "relays": int(trees.relay.sum()),
        "publishers": len(trees.publishers),
        "unreachable": len(trees.unreachable),
    }
