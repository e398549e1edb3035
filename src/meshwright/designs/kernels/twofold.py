"""What a link counts towards every topic being linked in two ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.compiling import inlined, inner
from meshwright.designs.kernels.blocks import block_above, share_block

if TYPE_CHECKING:
    from meshwright.designs.kernels.blocks import State
    from meshwright.greedy.kernels.state import Int
    from meshwright.interest import Ids


class Weights(NamedTuple):
    """What a link counts for in each topic of both its ends."""

    pieces: int
    """If the ends are in different components."""
    missing: int
    """For each end that lacks links."""
    blocks: int
    """If the ends share no block."""


@inlined
def is_open(state: State, weights: Weights, topic: Int) -> bool:
    """Say whether some link may still count in a topic."""
    return bool(
        (weights.pieces > 0 and state.pieces[topic] > 1)
        or (weights.missing > 0 and state.wanting[topic] > 0)
        or (weights.blocks > 0 and state.merges[topic] > 0)
    )


@inner
def contribution(state: State, weights: Weights, u: Int, v: Int) -> int:
    """Return what the link (u, v) counts, if it is not there yet."""
    i, j, count = state.node_ptr[u], state.node_ptr[v], 0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second:
            mine, yours = np.int64(state.slot[i]), np.int64(state.slot[j])
            count += weights.missing * (int(state.missing[mine] > 0) + int(state.missing[yours] > 0))
            if state.label[mine] != state.label[yours]:
                count += weights.pieces + weights.blocks
            elif weights.blocks > 0 and not share_block(state, mine, yours):
                count += weights.blocks
        i += int(first <= second)
        j += int(second <= first)
    return count


@inlined
def count_topic(state: State, weights: Weights, counts: Ids, topic: Int, mine: Int) -> None:
    """Add what a link from slot `mine` counts in its topic to the counts of all later subscribers."""
    base = weights.missing * int(state.missing[mine] > 0)
    # Unsigned indices need no look at their sign.
    first, last = np.uint64(mine + 1), np.uint64(state.topic_ptr[topic + 1])
    label = state.label[mine]
    if weights.blocks == 0 or state.merges[topic] == 0:
        for other in range(first, last):
            count = base + weights.missing * int(state.missing[other] > 0)
            count += weights.pieces * int(state.label[other] != label)
            counts[np.uint32(state.topic_nodes[other])] += count
    else:
        block = block_above(state, mine)
        top = np.uint64(state.top[block]) if block >= 0 else last
        for other in range(first, last):
            count = base + weights.missing * int(state.missing[other] > 0)
            if state.label[other] != label:
                count += weights.pieces + weights.blocks
            else:
                yours = block_above(state, other)
                shared = block >= 0 and (block == yours or top == other)
                if not shared and not (yours >= 0 and state.top[yours] == mine):
                    count += weights.blocks
            counts[np.uint32(state.topic_nodes[other])] += count
