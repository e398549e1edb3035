"""The neighbours of each node, in the layout that kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import frozen

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets
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
