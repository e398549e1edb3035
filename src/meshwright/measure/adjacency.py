"""The links of each node: its neighbours, in the layout that kernels read, and its degree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, Offsets, frozen
from meshwright.overlay import Overlay


class Adjacency(NamedTuple):
    """The neighbours of node `v` are at the positions `ptr[v]` to `ptr[v + 1]`, ascending."""

    ptr: Offsets
    """By node: where its neighbours begin; one entry more than there are nodes."""
    nodes: Ids
    """The neighbours."""
    edges: Ids
    """By entry of `nodes`: the position of the edge in the overlay."""


def adjacency(overlay: Overlay) -> Adjacency:
    """Return the neighbours of each node of an overlay."""
    ends = np.concatenate((overlay.u, overlay.v))
    others = np.concatenate((overlay.v, overlay.u))
    order = np.lexsort((others, ends))
    counts = np.bincount(ends, minlength=overlay.interest.num_nodes)
    ptr = np.concatenate(([0], np.cumsum(counts)))
    edges = order % max(len(overlay), 1)
    return Adjacency(frozen(ptr, np.int64), frozen(others[order], np.int32), frozen(edges, np.int32))


@dataclass(frozen=True, eq=False)
class Degrees:
    """The number of links of each node."""

    average: float
    """Links per node; 0 without nodes."""
    maximum: int
    """The most of any node; 0 without nodes."""
    of_node: NDArray[np.int64]
    """By node: its links."""
    distribution: NDArray[np.int64]
    """How many nodes have 0, 1, 2 … links; empty without nodes."""


def degrees(overlay: Overlay | Any) -> Degrees:
    """Count each node's links.

    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})
    >>> star = Overlay(interest, np.array([0, 0]), np.array([1, 2]), np.array([1, 1]))
    >>> degrees(star).of_node.tolist()
    [2, 1, 1]
    >>> degrees(star).distribution.tolist()
    [0, 2, 1]
    """
    overlay = Overlay.of(overlay)
    nodes = overlay.interest.num_nodes
    of_node = np.bincount(overlay.u, minlength=nodes) + np.bincount(overlay.v, minlength=nodes)
    return Degrees(
        average=2 * len(overlay) / nodes if nodes else 0.0,
        maximum=int(of_node.max(initial=0)),
        of_node=of_node,
        distribution=np.bincount(of_node),
    )
