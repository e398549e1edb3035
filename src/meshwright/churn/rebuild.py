"""The contrast to repair: design the overlay anew after every change, and move to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.churn import growth
from meshwright.churn.kernels.state import link_all, unlink_all
from meshwright.greedy import grow, rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.churn.state import Body


def rebuild(body: Body) -> tuple[Ids, Ids]:
    """Replace the links by those of Low-ODA(ρ) from scratch; return the links made and lost, by slots."""
    interest, rank = body.snapshot()
    there = np.flatnonzero(rank >= 0)
    slots = np.empty(len(there), dtype=np.int32)
    slots[rank[there]] = there
    design = grow(interest, rules.low(body.rule.k))
    old, new = _keys(*body.slot_pairs()), _keys(slots[design.u], slots[design.v])
    lost, made = _pairs(np.setdiff1d(old, new)), _pairs(np.setdiff1d(new, old))
    unlink_all(body.live, lost)
    body.live = growth.with_links(body.live, len(made), len(there))
    link_all(body.live, made[:, 0].copy(), made[:, 1].copy())
    return made, lost


def _keys(u: Ids, v: Ids) -> NDArray[np.int64]:
    return np.minimum(u, v).astype(np.int64) << 32 | np.maximum(u, v)


def _pairs(keys: NDArray[np.int64]) -> Ids:
    return np.column_stack((keys >> 32, keys & 0xFFFFFFFF)).astype(np.int32)
