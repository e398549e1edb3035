"""What is true of trees: hops, stretch, load of brokers and links, relays.

Publisher-only brokers are in none of these but their number: a one-way link may lie outside of the overlay,
and rates are known by topic, not by publisher. From such a broker it is one hop more than from its carrier.
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
"""About how many steps the measure of stretch may take: some seconds."""


@dataclass(frozen=True, eq=False)
class Hops:
    """Hops in the tree from a subscriber that publishes to every other: of each topic, and of all pairs."""

    mean_of_topic: NDArray[np.float64]
    usual_of_topic: NDArray[np.int64]
    """The 95th percentile."""
    most_of_topic: NDArray[np.int64]
    mean: float
    most: int


@dataclass(frozen=True, eq=False)
class Stretch:
    """Hops in the tree over hops in the whole overlay, from some brokers to all that they reach."""

    mean: float
    most: float
    sources: int
    """How many brokers were looked at: all, where that takes seconds, or evenly spaced ones."""


@dataclass(frozen=True, eq=False)
class Loads:
    """Messages a second: each link carries every message of the trees that use it once, either way.

    A broker's load is what it passes on: a message to every neighbour in the tree but the one it came from.
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
    """Compare ways in the trees with the shortest ways in the whole overlay, whoever is on them."""
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
    """Add up what every link carries and every broker passes on."""
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
    """Sum everything up, as a plan states it."""
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
