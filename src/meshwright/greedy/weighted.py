"""Greedy growth by contribution over cost, on the engine's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.costs.link_costs import LinkCosts
from meshwright.costs.pair_table import PairTable
from meshwright.errors import InputError
from meshwright.greedy import Tuning, layout
from meshwright.greedy.candidates import everything
from meshwright.greedy.kernels.start import begin
from meshwright.greedy.kernels.weighted_rows import SIZE, Costs, Rows, Scratch
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.greedy.kernels.state import State
    from meshwright.greedy.rules import Rule
    from meshwright.interest import Interest
    from meshwright.progress import Progress


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


WORKING = "linking"
NO_LIMIT = np.iinfo(np.int32).max
STRIDE = 50_000_000
"""Work between two looks at progress and at Ctrl-C: some tenths of a second."""
ROOM = 1024
"""Room for so many edges at first."""
WINDOW = 24
"""How many of its best pairs a row keeps."""


def grow(
    interest: Interest,
    rule: Rule,
    costs: LinkCosts,
    *,
    max_edges: int | None = None,
    max_degree: int | None = None,
    progress: Progress | None = None,
    window: int = WINDOW,
) -> Overlay:
    """Add, one at a time, the edge that the rule picks by its contribution over its cost.

    It goes on until none contributes. Ties go to the smallest (u, v). Low-ODA's rule looks at values too: the
    best edge that does not raise the maximum degree is taken if it is worth at least 1/k of the best. Where
    all costs are equal, the edges are those of `meshwright.greedy.grow`.

    Parameters
    ----------
    interest
        Who subscribes to what.
    rule
        `rules.gm`, `rules.minmax` or `rules.low(k)`.
    costs
        What links cost.
    max_edges, max_degree
        Budgets: how many edges may be added; an edge that would push either end over `max_degree` is no
        candidate.
    progress
        Called now and then; what it raises ends the run.
    window
        How many of its best pairs a row keeps: changes the speed only.

    Raises
    ------
    InputError
        For a negative budget, or costs of another interest.
    """
    from meshwright.greedy.kernels.state import BROKEN, EDGES, EXHAUSTED, FULL, MERGES, WORK
    from meshwright.greedy.kernels.weighted_sweep import run

    for name, budget in (("max_edges", max_edges), ("max_degree", max_degree)):
        if budget is not None and (not isinstance(budget, (int, np.integer)) or budget < 0):
            raise InputError(f"{name} is {budget}: give a whole number of zero or more, or leave it out")
    if not costs.fit(interest):
        raise InputError("the link costs are those of another interest: make them for this one")
    limit = NO_LIMIT if max_degree is None else min(int(max_degree), NO_LIMIT)
    most = np.int64(NO_LIMIT if max_edges is None else min(int(max_edges), NO_LIMIT))
    state = lay_out_state(interest, limit)
    whole, calm = (lay_out_rows(interest, window, calm=calm) for calm in (False, True))
    held, scratch = lay_out_costs(costs), lay_out_scratch(interest)
    k = 0.0 if rule.k is None else rule.k
    to_merge = max(1, int(np.maximum(np.diff(interest.topic_ptr) - 1, 0).sum()))
    columns = [np.empty(min(ROOM, int(most)), dtype=np.int32) for _ in range(3)]
    status = -1
    while status != EXHAUSTED:
        status = run(state, held, whole, calm, scratch, k, most, state.tally[WORK] + STRIDE, *columns)
        if status == BROKEN:
            raise AssertionError("weighted growth lost count of a contribution: this is a fault of ours")
        if status == FULL:
            columns = [np.resize(column, 2 * len(column)) for column in columns]
        if progress is not None:
            support = min(1.0, float(state.tally[MERGES] / to_merge))
            progress(int(state.tally[EDGES]), support, WORKING)
    return Overlay(interest, *(column[: state.tally[EDGES]] for column in columns))
