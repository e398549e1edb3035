"""Count how many topics some nodes share with all others, to estimate how long lists of pairs would be.

A node meets the subscribers of each of its topics. A node met for the first time is noted, so that what
was counted can be added up and forgotten in as many steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import kernel

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets


@kernel
def count_shared(
    node_ptr: Offsets,
    topic_ptr: Offsets,
    node_topics: Ids,
    topic_nodes: Ids,
    drawn: Ids,
    shared: Ids,
    met: Ids,
    pairs: Offsets,
) -> None:
    """Add to `pairs[c]` the pairs of a drawn node and another one that share c ≥ 1 topics.

    `shared` and `met` are working memory by node; `shared` is 0 between nodes. Each subscription of a drawn
    node costs the subscribers of its topic.
    """
    for number in range(len(drawn)):
        u = np.int64(drawn[number])
        others = 0
        for i in range(node_ptr[u], node_ptr[u + 1]):
            topic = np.int64(node_topics[i])
            for slot in range(topic_ptr[topic], topic_ptr[topic + 1]):
                v = np.int64(topic_nodes[slot])
                # Written in any case, kept if v is met for the first time: without a branch.
                met[others] = v
                others += int((shared[v] == 0) & (v != u))
                shared[v] += int(v != u)
        for i in range(others):
            pairs[shared[met[i]]] += 1
            shared[met[i]] = 0
