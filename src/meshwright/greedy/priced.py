"""Price-greedy: Greedy Merge with each topic weighed by what connecting it is worth at either end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.greedy.candidates import Candidates
from meshwright.greedy.layout import Tuning
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.interest import Interest

NO_LIMIT = np.iinfo(np.int32).max


def price_greedy(
    interest: Interest, pairs: Ids, weights: NDArray[np.float64], *, max_degree: int | None = None
) -> Overlay:
    """Add, again and again, the pair with the largest Σ of max(weight at u, weight at v) over what it merges.

    `weights` has one number for each subscription, in the order of `interest.node_topics`; `pairs` are two
    columns, u < v. Weights do not change, so values only fall, and looking again at the best alone is exact.
    Ties go to the pair that stands first.
    """
    from meshwright.greedy import layout
    from meshwright.greedy.kernels.priced import grow_by_value

    limit = NO_LIMIT if max_degree is None else max_degree
    only = Candidates(pairs=np.zeros((0, 2), dtype=np.int32))
    state = layout.lay_out_state(interest, only, limit, Tuning(node_bits=False))
    u, v = (
        np.ascontiguousarray(pairs[:, 0], dtype=np.int32),
        np.ascontiguousarray(pairs[:, 1], dtype=np.int32),
    )
    heap, taken, gains = (np.empty(len(u), dtype=np.int32) for _ in range(3))
    count = grow_by_value(state, weights, u, v, heap, np.empty(len(u)), taken, gains)
    chosen = taken[:count]
    return Overlay(interest, u[chosen], v[chosen], gains[:count].copy())
