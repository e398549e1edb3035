"""Relays of topics whose subscribers are apart: plain arrays in, plain arrays out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import compiled
from meshwright.measure.steiner.kernels import steiner

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.interest import Ids, Offsets

    Counts: TypeAlias = NDArray[np.int64]


@compiled
def relays(topic_ptr: Offsets, topic_nodes: Ids, ptr: Offsets, nodes: Ids) -> tuple[Counts, Ids]:
    """Return for each topic how many relays an approximate Steiner tree has (-1: none can), and which."""
    topics = len(topic_ptr) - 1
    most = np.max(np.diff(topic_ptr)) if topics else 0
    owner, marked = np.full(len(ptr), -1, dtype=np.int32), np.full(len(ptr), -1, dtype=np.int32)
    depth, parent = np.empty(len(ptr), dtype=np.int32), np.empty(len(ptr), dtype=np.int32)
    queue, groups = np.empty(len(ptr), dtype=np.int32), np.empty(most, dtype=np.int32)
    counts, found = np.zeros(topics, dtype=np.int64), np.empty(topics * len(ptr), dtype=np.int32)
    filled = 0
    for topic in range(topics):
        terminals = topic_nodes[topic_ptr[topic] : topic_ptr[topic + 1]]
        counts[topic], _, reached = steiner(
            terminals, ptr, nodes, owner, depth, parent, marked, queue, groups, topic
        )
        for i in range(reached):
            if counts[topic] >= 0 and marked[queue[i]] == topic:
                found[filled] = queue[i]
                filled += 1
            owner[queue[i]] = -1
    return counts, found[:filled].copy()
