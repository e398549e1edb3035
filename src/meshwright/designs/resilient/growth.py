"""Linking every topic in two ways: greedy growth by weighted contributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.interest import Interest
from meshwright.measure import contributions
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.designs.resilient.kernels.blocks import State
    from meshwright.designs.resilient.kernels.growth import Links, Rows
    from meshwright.progress import Progress

WINDOW = 32
"""How many of its best pairs a row keeps."""
STRIDE = 100_000_000
"""Work between two looks at progress and at Ctrl-C: some tenths of a second."""
WORKING = "linking"


def grow_twofold(
    interest: Interest,
    phases: Sequence[tuple[int, int, int]],
    *,
    progress: Progress | None = None,
    window: int = WINDOW,
) -> Overlay:
    """Add, one at a time, the link that counts most, until none counts, in one phase after the other.

    A phase is a triple of weights. In each topic of both its ends a link counts the first if they are in
    different components, the second for each of them that has less than two links there (or less than one,
    if it is one of two subscribers), and the third if they share no block. Ties go to the smallest (u, v). If
    the last phase weighs blocks, no failure of one node splits a topic. `window` changes the speed only.
    """
    from meshwright.designs.resilient.kernels.blocks import WORK
    from meshwright.designs.resilient.kernels.growth import LINKS, Weights, begin, sweep

    state = _lay_out_state(interest)
    links = _lay_out_links(interest, int(state.wanting.sum() + state.merges.sum()))
    rows = _lay_out_rows(interest, max((sum(weights) + weights[1] for weights in phases), default=0), window)
    whole = max(1, int(state.merges.sum()))
    for phase in phases:
        weights = Weights(*phase)
        begin(state, rows, weights)
        done = False
        while not done:
            done = sweep(state, links, rows, weights, state.tally[WORK] + STRIDE)
            if progress is not None:
                progress(int(rows.cursor[LINKS]), 1 - float(state.merges.sum()) / whole, WORKING)
    count = int(rows.cursor[LINKS])
    u, v = links.u[:count], links.v[:count]
    return Overlay(interest, u, v, contributions(interest, u, v))


def slots_of(interest: Interest) -> Ids:
    """Return, by position in `node_topics`, the position of the same subscription in `topic_nodes`."""
    slots = np.empty(interest.num_subscriptions, dtype=np.int32)
    slots[interest.topic_slots] = np.arange(interest.num_subscriptions, dtype=np.int32)
    return slots


def wanted_links(interest: Interest) -> Ids:
    """Return, by position in `topic_nodes`, how many links the subscriber must have in the topic."""
    popularity = np.diff(interest.topic_ptr)
    return np.repeat(np.clip(popularity - 1, 0, 2), popularity).astype(np.int32)


def _lay_out_state(interest: Interest) -> State:
    """Return the state before any link: each subscriber a component, and no block."""
    from meshwright.designs.resilient.kernels.blocks import State

    slots, popularity = interest.num_subscriptions, np.diff(interest.topic_ptr)
    return State(
        node_ptr=frozen(interest.node_ptr, np.int64),
        node_topics=frozen(interest.node_topics, np.int32),
        topic_ptr=frozen(interest.topic_ptr, np.int64),
        topic_nodes=frozen(interest.topic_nodes, np.int32),
        slot=frozen(slots_of(interest), np.int32),
        label=np.arange(slots, dtype=np.int32),
        following=np.arange(slots, dtype=np.int32),
        size=np.ones(slots, dtype=np.int32),
        above=np.full(slots, -1, dtype=np.int32),
        top=np.full(slots, -1, dtype=np.int32),
        joined=np.arange(slots, dtype=np.int32),
        passed=np.zeros(slots, dtype=np.int64),
        missing=wanted_links(interest),
        pieces=popularity.astype(np.int32),
        wanting=popularity * np.clip(popularity - 1, 0, 2),
        merges=np.maximum(2 * popularity - 3, 0),
        tally=np.zeros(2, dtype=np.int64),
    )


def _lay_out_links(interest: Interest, room: int) -> Links:
    """Return room for links; what is never touched takes no memory."""
    from meshwright.designs.resilient.kernels.growth import Links

    u, v, earlier = (np.empty(room, dtype=np.int32) for _ in range(3))
    return Links(u, v, earlier, latest=np.full(interest.num_nodes, -1, dtype=np.int32))


def _lay_out_rows(interest: Interest, weight: int, window: int) -> Rows:
    """Return empty windows; `weight` is the most that a link can count in a topic."""
    from meshwright.designs.resilient.kernels.growth import Rows

    nodes = interest.num_nodes
    most = weight * int(np.diff(interest.node_ptr).max(initial=0))
    bound, threshold, length, counts, found = (np.zeros(nodes, dtype=np.int32) for _ in range(5))
    return Rows(
        bound=bound,
        threshold=threshold,
        length=length,
        node=np.empty((nodes, window), dtype=np.int32),
        most=np.empty((nodes, window), dtype=np.int32),
        counts=counts,
        found=found,
        of_count=np.zeros(most + 1, dtype=np.int32),
        cursor=np.zeros(3, dtype=np.int64),
    )
