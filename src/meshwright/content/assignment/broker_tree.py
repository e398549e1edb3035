"""Brokers wired as one tree, which all messages take: the paper's acyclic variation (cbps, section II)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.assignment.cost import Cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.content.model.demand import Floats

    Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BrokerTree:
    """A tree of all brokers, and what crosses its links: link `k` joins `u[k]` and `v[k]`, u < v."""

    u: Numbers
    v: Numbers
    traffic: Floats
    core: float
    """What the traffic on all links costs; access links cost what they did."""


def broker_tree(known: Cost) -> BrokerTree:
    """Wire the brokers of an assignment as one tree: its minimum spanning tree, or the cheapest star.

    A message goes from its broker along the tree to all brokers with a subscriber, over each link between
    them once; brokers without one may have to pass it on. Which tree is the cheapest is a hard question; of
    the spanning tree of least weight and all stars the one is taken that costs least with this traffic.
    """
    core = known.workload.core
    spanning = _minimum_spanning_tree(core)
    traffic = tree_traffic(known, *spanning)
    best = float((traffic * core[spanning[0][1:], spanning[0][spanning[1][1:]]]).sum())
    order, up = spanning
    alone = _leaf_traffic(known)
    stars = core @ alone
    centre = int(np.argmin(stars))
    if stars[centre] < best:
        others = np.delete(np.arange(len(core), dtype=np.int64), centre)
        order = np.concatenate((np.array([centre], dtype=np.int64), others))
        up = np.zeros(len(order), dtype=np.int64)
        traffic, best = alone[others], float(stars[centre])
    child, parent = order[1:], order[up[1:]]
    return BrokerTree(np.minimum(child, parent), np.maximum(child, parent), traffic, best)


def tree_traffic(known: Cost, order: Numbers, up: Numbers) -> Floats:
    """Return what crosses the links of any tree: broker `order[k]` hangs on broker `order[up[k]]`.

    A link carries what is sent below it on channels with subscribers above, and the other way round.
    """
    sent = np.ascontiguousarray(known.rate.T[order])
    wanted = np.ascontiguousarray(known.audience.T[order]).astype(np.int64)
    all_sent, all_wanted = sent.sum(axis=0), wanted.sum(axis=0)
    traffic = np.zeros(len(order) - 1)
    for place in range(len(order) - 1, 0, -1):
        traffic[place - 1] = _crossing(sent[place], wanted[place], all_sent, all_wanted)
        sent[up[place]] += sent[place]
        wanted[up[place]] += wanted[place]
    return traffic


def _leaf_traffic(known: Cost) -> Floats:
    """Return what crosses each broker's one link if it is a leaf."""
    all_sent, all_wanted = known.rate.sum(axis=1), known.audience.sum(axis=1, dtype=np.int64)
    made = [
        _crossing(sent, wanted, all_sent, all_wanted)
        for sent, wanted in zip(known.rate.T, known.audience.T, strict=True)
    ]
    return np.array(made)


def _crossing(sent: Floats, wanted: Numbers, all_sent: Floats, all_wanted: Numbers) -> float:
    outward = sent[all_wanted > wanted].sum()
    inward = np.maximum(all_sent - sent, 0.0)[wanted > 0].sum()
    return float(outward + inward)


def _minimum_spanning_tree(core: Floats) -> tuple[Numbers, Numbers]:
    from meshwright.content.assignment.kernels.spanning_trees import span

    order, up = np.arange(len(core), dtype=np.int64), np.zeros(len(core), dtype=np.int64)
    span(core, order, len(core), up, np.zeros(len(core)))
    return order, up
