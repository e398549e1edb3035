"""Weighted growth, two pickers on the engine's state: by contribution over cost, and by prices."""

from __future__ import annotations

import numpy as np

from meshwright.arrays import Floats, Ids, frozen
from meshwright.costs.cost_tables import PairTable, Places
from meshwright.costs.link_costs import LinkCosts
from meshwright.errors import InputError
from meshwright.greedy import layout
from meshwright.greedy.engine import Driver, check_budgets, limit_of
from meshwright.greedy.kernels.by_value import PricedPairs, begin_by_price, run_by_cost, run_by_price
from meshwright.greedy.kernels.weighted_rows import SIZE, Costs, RowCounts, ValueRows
from meshwright.greedy.rules import Rule
from meshwright.interest import Interest
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.progress import Progress

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
    """Add, one at a time, the link that the rule picks by its contribution over its cost.

    It ends when no link contributes. Ties go to the smallest (u, v). Low-ODA's rule compares values too: the
    best link that does not raise the maximum degree is taken if it is worth at least 1/k of the best. Where
    all costs are equal, the links are those of `meshwright.greedy.grow`.

    Parameters
    ----------
    interest
        Who subscribes to what.
    rule
        `rules.gm`, `rules.minmax` or `rules.low(k)`.
    costs
        What links cost.
    max_edges, max_degree
        Budgets: how many links may be added; a link that would push either end over `max_degree` is not a
        candidate.
    progress
        Called every few tenths of a second; what it raises ends the run.
    window
        How many of its best pairs a row keeps: changes the speed only.

    Raises
    ------
    InputError
        For a negative budget, costs of another interest, or a strict rule, which knows no costs.
    """
    check_budgets(max_edges, max_degree)
    if rule.strict:
        raise InputError("strict and costs cannot be combined: leave one of them out")
    if not costs.fit(interest):
        raise InputError("the link costs are those of another interest: make them for this one")
    # Contributions are checked one by one, so bits over topics pay where they fit.
    state = layout.lay_out_components(interest, limit_of(max_degree), node_bits=None)
    whole, sparing = (lay_out_rows(interest, window, sparing=sparing) for sparing in (False, True))
    held, scratch = lay_out_costs(costs), lay_out_counts(interest)
    k = 0.0 if rule.k is None else rule.k
    driver = Driver(state, max_edges=max_edges, progress=progress)
    driver.run(lambda goal, links: run_by_cost(state, held, whole, sparing, scratch, k, goal, links))
    return unchecked_overlay(interest, *driver.links())


def lay_out_rows(interest: Interest, window: int, *, sparing: bool) -> ValueRows:
    """Return rows before the first look: all in the heap, each worth no more than infinity.

    The heap of the sparing rows is empty: at first no link spares the maximum degree.
    """
    nodes = interest.num_nodes
    bound, outside = (np.full(nodes, np.inf) for _ in range(2))
    outside_node, length, adopted = (np.zeros(nodes, dtype=np.int32) for _ in range(3))
    cost, value = (np.empty((nodes, window)) for _ in range(2))
    cursor = np.zeros(4, dtype=np.int64)
    cursor[SIZE] = 0 if sparing else nodes
    return ValueRows(
        bound=bound,
        outside=outside,
        outside_node=outside_node,
        length=length,
        node=np.empty((nodes, window), dtype=np.int32),
        cost=cost,
        value=value,
        adopted=adopted,
        heap=np.arange(nodes, dtype=np.int32),
        cursor=cursor,
    )


def lay_out_costs(costs: LinkCosts) -> Costs:
    """Return costs as the kernels take them: a table and places, one of them empty."""
    nothing = frozen(np.zeros(0), np.float64)
    if isinstance(costs.source, PairTable):
        return Costs(costs.source, Places(nothing, nothing, 0.0))
    no_pairs = PairTable(frozen(np.zeros(1), np.int64), frozen(np.zeros(0), np.int32), nothing)
    return Costs(no_pairs, costs.source)


def lay_out_counts(interest: Interest) -> RowCounts:
    """Return the working memory for counting a row."""
    # One more than nodes: a node is written after the last one found before it is known to count.
    counts, found = (np.zeros(interest.num_nodes + 1, dtype=np.int32) for _ in range(2))
    return RowCounts(counts, found)


def price_greedy(
    interest: Interest,
    pairs: Ids,
    weights: Floats,
    *,
    costs: Floats | None = None,
    max_degree: int | None = None,
    progress: Progress | None = None,
) -> Overlay:
    """Add, one at a time, the pair with the largest Σ of max(weight at u, weight at v) over what it merges.

    The sum is divided by the cost of the pair. Only the listed pairs may be linked; ties go to the pair
    listed first.

    Parameters
    ----------
    interest
        Who subscribes to what.
    pairs
        Two columns of node ids, u < v.
    weights
        One number for each subscription, in the order of `interest.node_topics`.
    costs
        One number above 0 for each pair; 1 by default.
    max_degree
        A pair that would push either end over it is not a candidate.
    progress
        Called with the number of links, after each stride.
    """
    state = layout.lay_out_components(interest, limit_of(max_degree))
    priced = PricedPairs(
        weight=frozen(weights, np.float64),
        u=frozen(pairs[:, 0], np.int32),
        v=frozen(pairs[:, 1], np.int32),
        cost=frozen(np.ones(len(pairs)) if costs is None else costs, np.float64),
        value=np.empty(len(pairs)),
        heap=np.empty(len(pairs), dtype=np.int32),
        size=np.zeros(1, dtype=np.int64),
    )
    begin_by_price(state, priced)
    driver = Driver(state, progress=progress)
    driver.run(lambda goal, links: run_by_price(state, priced, goal, links))
    return unchecked_overlay(interest, *driver.links())
