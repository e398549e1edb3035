"""Whom to link with when few links are wanted: nodes that have much of what is broken, and links to spare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.churn.kernels.state import rest_of, topic_at
from meshwright.compiling import compiled
from meshwright.search.kernels.net import NONE, draw, has_topic
from meshwright.words import popcount

if TYPE_CHECKING:
    from meshwright.churn.kernels.state import Live
    from meshwright.interest import Ids
    from meshwright.search.kernels.net import Bits, Int

SAMPLE = 96
"""How many subscribers of a topic are looked at."""
PARTNERS = 64
"""How many are chosen."""


@compiled
def add_partners(live: Live, asked: Bits, cap: Int, out: Ids, count: Int) -> Int:
    """Write nodes with fewer links than `cap` and the most of some topics behind `count` others.

    Of each topic some subscribers are looked at, from a random place on. Returns how many there are then.
    """
    topics = np.int64(0)
    for place in range(len(asked)):
        topics += popcount(asked[place])
    listed = np.empty(min(np.int64(len(live.degree)), topics * SAMPLE), dtype=np.int32)
    found = 0
    for place in range(len(asked)):
        word = asked[place]
        while word:
            topic = topic_at(place, word)
            word = rest_of(word)
            length, start = np.int64(live.member_length[topic]), live.member_start[topic]
            at = np.int64(draw(live, length))
            for _ in range(min(length, np.int64(SAMPLE))):
                u = live.members[start + at]
                at = at + 1 if at + 1 < length else np.int64(0)
                if live.mark[u] == NONE and live.degree[u] < cap and has_topic(live, u, topic):
                    live.mark[u] = 1
                    listed[found] = u
                    found += 1
    spread = np.zeros(64 * len(asked) + 1, dtype=np.int32)
    score = np.empty(found, dtype=np.int32)
    for i in range(found):
        live.mark[listed[i]] = NONE
        common = np.int64(0)
        for place in range(len(asked)):
            common += popcount(live.bits[listed[i], place] & asked[place])
        score[i] = common
        spread[common] += 1
    least, more = len(spread) - 1, 0
    while least > 0 and more + spread[least] <= PARTNERS:
        more += spread[least]
        least -= 1
    # All above the score that fills the places, and of those with that score the first.
    left = PARTNERS - more
    for i in range(found):
        if score[i] > least or (score[i] == least and left > 0):
            left -= int(score[i] == least)
            out[count] = listed[i]
            count += 1
    return count
