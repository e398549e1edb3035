"""Figures of trees: hops, stretch, load of brokers and links, relays.

Publisher-only brokers are only counted: a one-way link may lie outside the overlay, and rates are known by
topic, not by publisher. A message from such a broker takes one hop more than from its carrier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.measure.adjacency import adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.routes.trees import Trees

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


def hops(trees: Trees) -> Hops:
    """Count the hops between all pairs of subscribers of each topic, exactly."""
    from meshwright.routes.kernels import paths as kernels

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
    from meshwright.routes.kernels import paths as kernels

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
        trees.ptr, trees.nodes, trees.above, frozen(~trees.relay, np.bool_), *links,
    )  # fmt: skip
    return Stretch(total / max(pairs, 1), worst, count)


def loads(trees: Trees) -> Loads:
    """Sum the messages that every link carries and every broker forwards."""
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
