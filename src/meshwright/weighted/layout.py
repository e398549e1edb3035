"""Laying out the arrays of weighted growth for an interest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.greedy import Tuning, layout
from meshwright.greedy.candidates import everything
from meshwright.greedy.kernels.beginning import begin
from meshwright.interest import frozen
from meshwright.weighted.kernels.state import SIZE, Costs, Rows, Scratch
from meshwright.weighted.pairs import PairTable

if TYPE_CHECKING:
    from meshwright.greedy.kernels.state import State
    from meshwright.interest import Interest
    from meshwright.weighted.costs import LinkCosts


def lay_out_state(interest: Interest, max_degree: int) -> State:
    """Return the engine's state before any edge, without bit rows: rows are counted node by node here."""
    state = layout.lay_out_state(interest, everything, max_degree, Tuning(heavy=interest.num_nodes + 1))
    begin(state, layout.no_sweep(), layout.no_sweep(), True)
    return state


def lay_out_rows(interest: Interest, window: int, *, calm: bool) -> Rows:
    """Return rows of which nothing is known: all in the heap, each worth no more than infinity.

    Calm ones are not in it: at first no link spares the maximum degree.
    """
    nodes = interest.num_nodes
    bound, outside = (np.full(nodes, np.inf) for _ in range(2))
    outside_node, length, taken = (np.zeros(nodes, dtype=np.int32) for _ in range(3))
    cost, value = (np.empty((nodes, window)) for _ in range(2))
    cursor = np.zeros(4, dtype=np.int64)
    cursor[SIZE] = 0 if calm else nodes
    return Rows(
        bound=bound,
        outside=outside,
        outside_node=outside_node,
        length=length,
        node=np.empty((nodes, window), dtype=np.int32),
        cost=cost,
        value=value,
        taken=taken,
        heap=np.arange(nodes, dtype=np.int32),
        cursor=cursor,
    )


def lay_out_costs(costs: LinkCosts) -> Costs:
    """Return costs as the kernels take them."""
    source, nothing = costs.source, frozen(np.zeros(0), np.float64)
    if isinstance(source, PairTable):
        return Costs(*source, x=nothing, y=nothing, least=0.0)
    ptr, partners = frozen(np.zeros(1), np.int64), frozen(np.zeros(0), np.int32)
    return Costs(ptr, partners, nothing, source.x, source.y, source.least)


def lay_out_scratch(interest: Interest) -> Scratch:
    """Return the working memory."""
    counts, found = (np.zeros(interest.num_nodes + 1, dtype=np.int32) for _ in range(2))
    return Scratch(counts, found)
