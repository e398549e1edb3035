"""Recompute the figures of sound trees: hops between subscribers, and the loads of links and brokers.

A load counts the messages that a link carries, or the copies that a broker passes on: to every neighbour in
the tree but the one that it got the message from. Each topic counts as one message: a plan does not keep the
rates that its trees may have been made with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOADS = ("max_link_load", "mean_link_load", "max_broker_load")
"""The figures that depend on rates."""


class TreeRows(NamedTuple):
    """The brokers of all trees, each with its parent."""

    topics: NDArray[np.int64]
    brokers: NDArray[np.int64]
    parents: NDArray[np.int64]
    """The parent of each, -1 for a root."""
    subscribes: NDArray[np.bool_]
    """Whether each subscribes to the topic; if not, it is a relay."""


def hop_figures(rows: TreeRows) -> dict[str, int | float]:
    """Return the figures of hops from each subscriber to every other, in trees that are sound.

    >>> path = TreeRows(*(np.array(column) for column in ([0, 0, 0], [4, 5, 6], [5, -1, 5], [True] * 3)))
    >>> hop_figures(path)["max_hops"]
    2
    """
    from meshwright.verify.kernels import count_hops

    width = max(int(rows.brokers.max(initial=0)) + 1, 1)
    order = np.argsort(rows.topics * width + rows.brokers)
    topics, parents = rows.topics[order], rows.parents[order]
    keys = topics * width + rows.brokers[order]
    above = np.where(parents < 0, np.arange(len(keys)), np.searchsorted(keys, topics * width + parents))
    # Parents come before their children: by topic, then by depth.
    outwards = np.lexsort((_depths(above), topics))
    position = np.empty_like(outwards)
    position[outwards] = np.arange(len(outwards))
    _, sizes = np.unique(topics, return_counts=True)
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    total, pairs, usual, most = count_hops(
        ptr, position[above[outwards]].astype(np.int64), rows.subscribes[order][outwards]
    )
    return {
        "mean_hops": float(total.sum() / max(int(pairs.sum()), 1)),
        "usual_hops": int(usual.max(initial=0)),
        "max_hops": int(most.max(initial=0)),
        "mean_max_hops": float(most.mean()) if len(most) else 0.0,
    }


def _depths(above: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how far each position is from its root, which is above itself; every step doubles the reach."""
    depths = (above != np.arange(len(above))).astype(np.int64)
    while (beyond := depths[above]).any():
        depths += beyond
        above = above[above]
    return np.asarray(depths)


def load_figures(rows: TreeRows, links: NDArray[np.int64], overlay_links: int) -> dict[str, float]:
    """Return the loads if each topic has one message; `links` names the link of each row with a parent."""
    below = rows.parents >= 0
    of_link = np.unique(links, return_counts=True)[1]
    # The neighbours of a broker in a tree: its children, and its parent if it has one.
    neighbours = np.concatenate((rows.brokers[below], rows.parents[below]))
    size = int(rows.brokers.max(initial=0)) + 1
    copies = np.bincount(neighbours, minlength=size) - np.bincount(rows.brokers, minlength=size)
    figures = (of_link.max(initial=0), len(links) / max(overlay_links, 1), copies.max(initial=0))
    return dict(zip(LOADS, map(float, figures), strict=True))
