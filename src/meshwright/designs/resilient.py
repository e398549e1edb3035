"""`resilient`: overlays in which no single broker failure splits a topic.

`grow_biconnected` adds links until every topic is 2-connected: a picker on the engine's state, with the
blocks of every topic. `remove_spare_links` then removes the links that no topic needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meshwright.arrays import Ids, frozen
from meshwright.designs.by_contribution import gm
from meshwright.designs.kernels.block_growth import CountedRow, Weights, begin, run
from meshwright.designs.kernels.blocks import (
    Blocks,
    Product,
    Search,
    count_neighbours,
    drop_spare_links,
    fill_neighbours,
)
from meshwright.designs.topic_sets import slots_of
from meshwright.errors import InputError
from meshwright.greedy import Tuning, layout
from meshwright.greedy.candidates import everything
from meshwright.greedy.engine import NO_LIMIT, Driver
from meshwright.greedy.kernels.state import Goal, Links
from meshwright.interest import Interest
from meshwright.measure import contributions
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.progress import Progress, part_of

RUNS = (((1, 1, 0), (0, 0, 1)), ((1, 1, 4),))
"""For each run and phase: what a link counts by components, by missing links and by blocks."""


def resilient(
    interest: Interest, *, k: float = 2, threads: int = 1, progress: Progress | None = None
) -> Overlay:
    """Link every topic so that it stays connected when any one of its subscribers fails.

    With k = 2 each topic's sub-overlay is 2-connected: of three or more subscribers, any one may fail and the
    others stay connected among themselves; two subscribers are linked. No link can be removed without losing
    that. With k = 1 it is GM, on `threads` threads. Larger k are not supported.

    A topic of n subscribers needs at least n links, as a ring has: hardly more than the n − 1 of a tree. So
    it does not pay to begin with trees, whose many leaves each need a second link later. Instead, from the
    start, a link counts in each topic of its ends 1 if it merges two components and 1 for each end with fewer
    than two links there. This is greedy growth of a submodular function. So, to connect every topic with two
    links at each subscriber, it needs at most H(3·c) ≤ 1 + ln(3·c) times the fewest links, where c is the
    most topics that two nodes share (Wolsey 1982). The few cuts that remain are then closed by links whose
    ends share no block in the most topics.

    Where large subscribers hold nearly all topics of small ones, it is better to link to the large ones. A
    second run therefore weighs blocks most from the start. Spare links are removed from both runs, and the
    run with fewer links is the answer (the first of equals).

    Each run takes a few passes over all pairs of subscribers of each topic, O(Σ_t n_t²), and O(Σ|T(v)|)
    memory.

    Raises
    ------
    InputError
        If k is neither 1 nor 2.

    Examples
    --------
    >>> from meshwright import Interest
    >>> resilient(Interest.from_dict({v: {"x"} for v in "abcd"})).edges
    [('a', 'b'), ('a', 'c'), ('b', 'd'), ('c', 'd')]
    """
    if k not in (1, 2):
        raise InputError(
            f"k is {k}: give 1 (connected) or 2 (connected when one broker fails); larger k are not supported"
        )
    if k == 1:
        return gm(interest, threads=threads, progress=progress)
    overlays = []
    for number, phases in enumerate(RUNS):
        part = part_of(progress, number / len(RUNS), (number + 1) / len(RUNS))
        overlays.append(remove_spare_links(grow_biconnected(interest, phases, progress=part)))
    return min(overlays, key=len)


WINDOW = 32
"""How many of its best pairs a row keeps."""


def grow_biconnected(
    interest: Interest,
    phases: Sequence[tuple[int, int, int]],
    *,
    progress: Progress | None = None,
    window: int = WINDOW,
) -> Overlay:
    """Add, one at a time, the link that counts most, until no link counts, in one phase after the other.

    A phase is a triple of weights. In each topic of both its ends a link counts the first weight if the ends
    are in different components; the second for each end with fewer than two links there (fewer than one, in a
    topic of two subscribers); and the third if the ends share no block. Ties go to the smallest (u, v).

    If the last phase weighs blocks, every topic survives the failure of any one node. `window` changes the
    speed only.
    """
    state = layout.lay_out_components(interest, NO_LIMIT)
    sweep = layout.lay_out_sweep(interest, everything, state, Tuning(window=window), sparing=False)
    blocks, row = _lay_out_blocks(interest), _lay_out_row(interest, phases)
    to_merge = max(1, int(blocks.merges.sum()))

    def share() -> float:
        return 1 - float(blocks.merges.sum()) / to_merge

    # A visit of a row may link it to all others before it returns.
    driver = Driver(state, progress=progress, share=share, room=interest.num_nodes)
    for phase in phases:
        weights = Weights(*phase)
        begin(state, blocks, sweep, weights)

        def step(goal: Goal, links: Links, weights: Weights = weights) -> int:
            return run(state, blocks, sweep, row, weights, goal, links)

        driver.run(step)
    return unchecked_overlay(interest, *driver.links())


def needed_links(interest: Interest) -> Ids:
    """Return, by position in `topic_nodes`, how many links the subscriber needs in the topic."""
    popularity = np.diff(interest.topic_ptr)
    return np.repeat(np.clip(popularity - 1, 0, 2), popularity).astype(np.int32)


def _lay_out_blocks(interest: Interest) -> Blocks:
    """Return the state before any link, when there are no blocks."""
    slots, popularity = interest.num_subscriptions, np.diff(interest.topic_ptr)
    wanting, merges = popularity * np.clip(popularity - 1, 0, 2), np.maximum(2 * popularity - 3, 0)
    return Blocks(
        slot=frozen(slots_of(interest), np.int32),
        label=np.arange(slots, dtype=np.int32),
        above=np.full(slots, -1, dtype=np.int32),
        top=np.full(slots, -1, dtype=np.int32),
        joined=np.arange(slots, dtype=np.int32),
        passed=np.zeros(slots, dtype=np.int64),
        stamp=np.zeros(1, dtype=np.int64),
        missing=needed_links(interest),
        wanting=wanting,
        merges=merges,
        # Each link lowers one of these two sums; memory that is never touched is never taken.
        earlier=np.empty(int(wanting.sum() + merges.sum()), dtype=np.int32),
        latest=np.full(interest.num_nodes, -1, dtype=np.int32),
    )


def _lay_out_row(interest: Interest, phases: Sequence[tuple[int, int, int]]) -> CountedRow:
    """Return the working memory for counting a row."""
    # The most that a link can count in one topic, and in all.
    weight = max((components + 2 * missing + blocks for components, missing, blocks in phases), default=0)
    most = weight * int(np.diff(interest.node_ptr).max(initial=0))
    counts, found = (np.zeros(interest.num_nodes, dtype=np.int32) for _ in range(2))
    return CountedRow(counts, found, histogram=np.zeros(most + 1, dtype=np.int32))


def remove_spare_links(overlay: Overlay) -> Overlay:
    """Remove, from the last link to the first, each one that no topic needs to stay 2-connected.

    Every topic of the overlay must be 2-connected. Afterwards no single link can be removed.
    """
    interest, slots = overlay.interest, overlay.interest.num_subscriptions
    product = _lay_out_product(overlay)
    search = Search(
        seen=np.zeros(slots, dtype=np.int64),
        before=np.empty(slots, dtype=np.int32),
        place=np.full(slots, -1, dtype=np.int32),
        path=np.empty(slots, dtype=np.int32),
        queue=np.empty(slots, dtype=np.int32),
    )
    drop_spare_links(product, search, frozen(needed_links(interest), np.int32))
    u, v = overlay.u[product.kept], overlay.v[product.kept]
    return unchecked_overlay(interest, u, v, contributions(interest, u, v))


def _lay_out_product(overlay: Overlay) -> Product:
    """Return the sub-overlays of all topics as one graph over slots."""
    interest = overlay.interest
    empty = np.zeros(0, dtype=np.int32)
    mine, yours = (np.empty(np.diff(interest.node_ptr).max(initial=0), dtype=np.int32) for _ in range(2))
    product = Product(
        node_ptr=interest.node_ptr,
        node_topics=interest.node_topics,
        slot=frozen(slots_of(interest), np.int32),
        u=frozen(overlay.u, np.int32),
        v=frozen(overlay.v, np.int32),
        kept=np.ones(len(overlay), dtype=np.bool_),
        degree=np.zeros(interest.num_subscriptions, dtype=np.int32),
        ptr=np.zeros(interest.num_subscriptions + 2, dtype=np.int64),
        slots=empty,
        links=empty,
        mine=mine,
        yours=yours,
    )
    count_neighbours(product)
    # Shifted by one: filling moves entry s + 1 from the begin of slot s to its end.
    product.ptr[2:] = np.cumsum(product.degree)
    slots, links = (np.empty(product.ptr[-1], dtype=np.int32) for _ in range(2))
    product = product._replace(slots=slots, links=links)
    fill_neighbours(product)
    return product
