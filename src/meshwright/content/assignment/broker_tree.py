"""All brokers connected by one tree that every message takes: the paper's acyclic variation (cbps, II)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.assignment.cost import Cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Floats

    Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BrokerTree:
    """A tree of all brokers with the traffic on its links."""

    u: Numbers
    """The smaller end of each link."""
    v: Numbers
    """The larger end of each link."""
    traffic: Floats
    """The traffic on each link, both ways together."""
    core: float
    """The cost of the traffic on all links. Access links cost the same as without the tree."""


def broker_tree(known: Cost) -> BrokerTree:
    """Connect the brokers of an assignment by one tree: the minimum spanning tree or the cheapest star.

    A message takes the tree from its broker to all brokers with a subscriber and crosses each link on the way
    once. Brokers without a subscriber may have to forward it. Finding the cheapest tree is a hard problem; we
    take the cheapest one, for this traffic, of the minimum spanning tree and all stars.
    """
    core = known.workload.core
    order, up = _minimum_spanning_tree(core)
    traffic = tree_traffic(known, order, up)
    best = float((traffic * core[order[1:], order[up[1:]]]).sum())
    leaf_traffic = _leaf_traffic(known)
    stars = core @ leaf_traffic
    centre = int(np.argmin(stars))
    if stars[centre] < best:
        others = np.delete(np.arange(len(core), dtype=np.int64), centre)
        order = np.concatenate((np.array([centre], dtype=np.int64), others))
        up = np.zeros(len(order), dtype=np.int64)
        traffic, best = leaf_traffic[others], float(stars[centre])
    child, parent = order[1:], order[up[1:]]
    return BrokerTree(np.minimum(child, parent), np.maximum(child, parent), traffic, best)


def tree_traffic(known: Cost, order: Numbers, up: Numbers) -> Floats:
    """Return the traffic on the links of any tree in which `order[up[k]]` is the parent of `order[k]`.

    Parents come before their children in `order`. A link carries what is sent below it on channels with
    subscribers above it, and the other way round.
    """
    sent = np.ascontiguousarray(known.rate.T[order])
    wanted = np.ascontiguousarray(known.audience.T[order]).astype(np.int64)
    all_sent, all_wanted = sent.sum(axis=0), wanted.sum(axis=0)
    traffic = np.zeros(len(order) - 1)
    # From the leaves up: each row collects what is sent and wanted at or below its broker.
    for place in range(len(order) - 1, 0, -1):
        traffic[place - 1] = _crossing(sent[place], wanted[place], all_sent, all_wanted)
        sent[up[place]] += sent[place]
        wanted[up[place]] += wanted[place]
    return traffic


def _leaf_traffic(known: Cost) -> Floats:
    """Return, for each broker, the traffic on its only link if it is a leaf."""
    all_sent, all_wanted = known.rate.sum(axis=1), known.audience.sum(axis=1, dtype=np.int64)
    crossing = [
        _crossing(sent, wanted, all_sent, all_wanted)
        for sent, wanted in zip(known.rate.T, known.audience.T, strict=True)
    ]
    return np.array(crossing)


def _crossing(sent: Floats, wanted: Numbers, all_sent: Floats, all_wanted: Numbers) -> float:
    """Return the traffic between one side of a link, by what it sends and wants by channel, and the other."""
    outward = sent[all_wanted > wanted].sum()
    inward = np.maximum(all_sent - sent, 0.0)[wanted > 0].sum()
    return float(outward + inward)


def _minimum_spanning_tree(core: Floats) -> tuple[Numbers, Numbers]:
    """Return all brokers in the order in which they join the tree, and the position of each one's parent."""
    from meshwright.content.assignment.kernels.spanning_trees import span

    order, up = np.arange(len(core), dtype=np.int64), np.zeros(len(core), dtype=np.int64)
    span(core, order, len(core), up, np.zeros(len(core)))
    return order, up
