"""An overlay from prices: greedy by what connecting each topic is worth, where the prices say it pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright import bounds, search
from meshwright.greedy import grow, rules

if TYPE_CHECKING:
    from meshwright.bounds import Prices
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay

SLACK = 0.1
"""Pairs that carry at least 1 less this are worth a link."""
PAIRS_PER_NODE = 100


def priced(interest: Interest, prices: Prices, greedy: Overlay, *, max_degree: int | None = None) -> Overlay:
    """Choose among the tight pairs and a greedy overlay's links, each time the one of most worth.

    With `max_degree` no node is given more links than that, but where topics would stay split: MinMax-ODA
    connects these, at as low a degree as it can.
    """
    tight = bounds.tight_pairs(prices, most=PAIRS_PER_NODE * interest.num_nodes, slack=SLACK)
    pairs = np.concatenate((np.column_stack((tight.u, tight.v)), np.column_stack((greedy.u, greedy.v))))
    overlay = search.price_greedy(interest, np.unique(pairs, axis=0), prices.q, max_degree=max_degree)
    return grow(interest, rules.gm if max_degree is None else rules.minmax, start=overlay)
