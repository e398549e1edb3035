"""Topics divided into overlapping parts, so that a star for each part connects the topic within two hops."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.interest import Interest

if TYPE_CHECKING:
    from meshwright.interest import Ids


def divide(interest: Interest, most: int) -> tuple[Interest, Ids]:
    """Return the topics in parts of at most about `most` subscribers, and the topic that each part is all of.

    A topic with more of them is dealt out into groups; each two groups together are a part. So any two of its
    subscribers are in one part, and within two hops if that is a star. It is −1 for such a part.
    """
    whole = np.diff(interest.topic_ptr) <= max(most, 2)
    if whole.all():
        return interest, np.arange(interest.num_topics, dtype=np.int32)
    kept = np.flatnonzero(whole)
    undivided = interest.restrict(kept)
    nodes, parts, count = [undivided.node_of_slot], [undivided.node_topics], interest.num_topics
    for topic in np.flatnonzero(~whole).tolist():
        subscribers = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]]
        groups = -(-2 * len(subscribers) // max(most, 2))
        for one, other in combinations(range(groups), 2):
            for group in (one, other):
                nodes.append(subscribers[group::groups])
                parts.append(np.full(len(nodes[-1]), count, dtype=np.int32))
            count += 1
    topic_of = np.full(count, -1, dtype=np.int32)
    topic_of[kept] = kept
    names = pa.array(np.arange(count))
    divided = Interest.from_ids(interest.node_names, names, np.concatenate(nodes), np.concatenate(parts))
    return divided, topic_of
