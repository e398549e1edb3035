"""Arrays of the designs that do not run on the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import Bits, Ids, bit_rows, check_whole
from meshwright.interest import Interest

if TYPE_CHECKING:
    from meshwright.designs.kernels.topic_rows import TopicRows


WORD = 64
RARE = 400
"""A topic with fewer than 1/`RARE` of the nodes has no bit row; its subscribers are listed."""


def lay_out_topics(interest: Interest) -> TopicRows:
    """Return the interest with a bit row per popular topic: at most `RARE` / 8 bytes per subscription."""
    from meshwright.designs.kernels.topic_rows import TopicRows, fill_rows

    is_popular = np.diff(interest.topic_ptr) >= max(2, -(-interest.num_nodes // RARE))
    popular = int(is_popular.sum())
    topic_row = np.full(interest.num_topics, -1, dtype=np.int32)
    topic_row[is_popular] = np.arange(1, popular + 1)
    held = TopicRows(
        node_ptr=interest.node_ptr,
        node_topics=interest.node_topics,
        topic_ptr=interest.topic_ptr,
        topic_nodes=interest.topic_nodes,
        topic_row=topic_row,
        bits=bit_rows(1 + popular, interest.num_nodes),
    )
    fill_rows(held)
    return held


def bit_set(nodes: int) -> Bits:
    """Return the set of all nodes as a bit row."""
    whole: Bits = bit_rows(1, nodes)[0]
    whole[:] = np.packbits(np.arange(len(whole) * WORD) < nodes, bitorder="little").view(np.uint64)
    return whole


def slots_of(interest: Interest) -> Ids:
    """Return, by position in `node_topics`, the position of the same subscription in `topic_nodes`."""
    slots = np.empty(interest.num_subscriptions, dtype=np.int32)
    slots[interest.topic_slots] = np.arange(interest.num_subscriptions, dtype=np.int32)
    return slots


def most_topics(interest: Interest) -> int:
    """Return the largest number of topics of a node."""
    return int(np.diff(interest.node_ptr).max(initial=0))


def streams(seed: int, count: int) -> Bits:
    """Return the initial states of `count` streams of random numbers; no state may be zero."""
    check_whole("seed", seed)
    return np.maximum(np.random.PCG64(seed).random_raw(count), np.uint64(1))
