"""Grow towards 2-connected topics: a picker on the engine's state, with the blocks of every topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.greedy import Tuning, layout
from meshwright.greedy.candidates import everything
from meshwright.greedy.driver import NO_LIMIT, Driver
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.designs.resilient.kernels.blocks import Blocks
    from meshwright.designs.resilient.kernels.growth import CountedRow
    from meshwright.greedy.kernels.state import Goal, Links
    from meshwright.interest import Interest
    from meshwright.progress import Progress

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
    from meshwright.designs.resilient.kernels.growth import Weights, begin, run

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
    return Overlay(interest, *driver.links())


def slots_of(interest: Interest) -> Ids:
    """Return, by position in `node_topics`, the position of the same subscription in `topic_nodes`."""
    slots = np.empty(interest.num_subscriptions, dtype=np.int32)
    slots[interest.topic_slots] = np.arange(interest.num_subscriptions, dtype=np.int32)
    return slots


def needed_links(interest: Interest) -> Ids:
    """Return, by position in `topic_nodes`, how many links the subscriber needs in the topic."""
    popularity = np.diff(interest.topic_ptr)
    return np.repeat(np.clip(popularity - 1, 0, 2), popularity).astype(np.int32)


def _lay_out_blocks(interest: Interest) -> Blocks:
    """Return the blocks before any link: there are none."""
    from meshwright.designs.resilient.kernels.blocks import Blocks

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
    from meshwright.designs.resilient.kernels.growth import CountedRow

    # The most that a link can count in one topic, and in all.
    weight = max((components + 2 * missing + blocks for components, missing, blocks in phases), default=0)
    most = weight * int(np.diff(interest.node_ptr).max(initial=0))
    counts, found = (np.zeros(interest.num_nodes, dtype=np.int32) for _ in range(2))
    return CountedRow(counts, found, histogram=np.zeros(most + 1, dtype=np.int32))
