"""Price-greedy: grow by topics weighted by what connecting them is worth at either end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.greedy import layout
from meshwright.greedy.driver import Driver, limit_of
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Floats, Ids
    from meshwright.greedy.kernels.state import Goal, Links
    from meshwright.interest import Interest


def price_greedy(
    interest: Interest, pairs: Ids, weights: Floats, *, max_degree: int | None = None
) -> Overlay:
    """Add, one at a time, the pair with the largest Σ of max(weight at u, weight at v) over what it merges.

    Only the listed pairs may be linked; ties go to the pair listed first.

    Parameters
    ----------
    interest
        Who subscribes to what.
    pairs
        Two columns of node ids, u < v.
    weights
        One number for each subscription, in the order of `interest.node_topics`.
    max_degree
        A pair that would push either end over it is not a candidate.
    """
    from meshwright.greedy.kernels.priced import PricedPairs, begin, run

    state = layout.lay_out_components(interest, limit_of(max_degree))
    priced = PricedPairs(
        weight=frozen(weights, np.float64),
        u=frozen(pairs[:, 0], np.int32),
        v=frozen(pairs[:, 1], np.int32),
        value=np.empty(len(pairs)),
        heap=np.empty(len(pairs), dtype=np.int32),
        size=np.zeros(1, dtype=np.int64),
    )
    begin(state, priced)

    def step(goal: Goal, links: Links) -> int:
        return run(state, priced, goal, links)

    driver = Driver(state)
    driver.run(step)
    return Overlay(interest, *driver.links())
