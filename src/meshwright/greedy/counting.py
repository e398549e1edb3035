"""Which topics are counted for each pair of nodes, instead of being summed by their bit rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.interest import Interest, settled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.greedy.candidates import Candidates
    from meshwright.greedy.rules import Rule
    from meshwright.greedy.tuning import Tuning


MOST_PAIRS = 2**26
"""A byte for each pair, up to this many: some 11,000 nodes."""
FEWEST_TOPICS = 2048
"""With fewer topics than this, little is gained."""


def counted_below(interest: Interest, rule: Rule, candidates: Candidates, tuning: Tuning) -> int:
    """Return the number of subscribers below which topics are counted for each pair; 0 if that does not pay.

    It pays for rules that look at degrees, where topics with few subscribers are about as many as nodes: the
    more topics, the more phases, and the fewer subscribers, the fewer pairs to count.
    """
    if candidates.pairs is not None or np.diff(interest.node_ptr).max(initial=0) > np.iinfo(np.uint16).max:
        return 0  # rows are never rebuilt, or a node's topics are too many for ranks
    if tuning.counted is not None:
        return tuning.counted
    nodes = interest.num_nodes
    if rule.k is None or nodes**2 // 2 > MOST_PAIRS:
        return 0
    few = max(nodes // 25, 2)
    light = int((_popularity(interest) < few).sum())
    return few if light >= max(0.75 * nodes, FEWEST_TOPICS) else 0


def popular_first(interest: Interest) -> Interest:
    """Return the interest with its topics in order of their number of subscribers, most first."""
    from scipy.sparse import csr_array

    order = np.argsort(-_popularity(interest), kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    unused = np.zeros(interest.num_subscriptions, dtype=np.uint8)
    shape = (interest.num_nodes, interest.num_topics)
    rows = csr_array((unused, rank[interest.node_topics], interest.node_ptr), shape=shape)
    rows.sort_indices()
    names = interest.topic_names.take(order)
    return Interest(interest.node_names, names, interest.node_ptr, settled(rows.indices))


def _popularity(interest: Interest) -> NDArray[np.int64]:
    """Return how many subscribers each topic has, without laying the interest out by topics."""
    return np.bincount(interest.node_topics, minlength=interest.num_topics)
