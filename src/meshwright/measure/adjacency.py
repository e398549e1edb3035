"""An overlay's edges, arranged for the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.arrays import frozen

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets
    from meshwright.overlay import Overlay


class Adjacency(NamedTuple):
    """Node `v` is joined to `nodes[ptr[v]:ptr[v + 1]]`, ascending, by the edges at those positions."""

    ptr: Offsets
    nodes: Ids
    edges: Ids


def adjacency(overlay: Overlay) -> Adjacency:
    """Arrange the edges by node."""
    ends = np.concatenate((overlay.u, overlay.v))
    others = np.concatenate((overlay.v, overlay.u))
    order = np.lexsort((others, ends))
    counts = np.bincount(ends, minlength=overlay.interest.num_nodes)
    ptr = np.concatenate(([0], np.cumsum(counts)))
    edges = order % max(len(overlay), 1)
    return Adjacency(frozen(ptr, np.int64), frozen(others[order], np.int32), frozen(edges, np.int32))
