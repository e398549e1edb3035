"""Which node is the next hub: what is known of each one's score, `over / under`, and a tournament of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.compiling import inner

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.greedy.kernels.state import Int
    from meshwright.interest import Ids, Offsets

    Flags: TypeAlias = NDArray[np.bool_]

NEIGHBOURS, WEIGHT, DENSITY = 0, 1, 2
"""What scores a node: its neighbours n (CD-ODA), their weight w (CD-ODA-I), or w / n (CD-ODA-II)."""


class Scores(NamedTuple):
    """What is known of each node's score, and who leads."""

    remaining: Flags
    """By topic: whether it has two subscribers and no star yet."""
    hub: Ids
    """By topic: the hub of its star, or −1."""
    weight: Offsets
    """By node: the other subscribers of its remaining topics, each as often as it shares one."""
    topics: Ids
    """By node: how many topics remain."""
    fewest: Offsets
    """By node: a lower bound of its neighbours."""
    over: Offsets
    under: Offsets
    """By node: its score is at most over / under."""
    exact: Flags
    """By node: whether that is its score."""
    winner: Ids
    """A tournament: entry i is the better of 2i and 2i + 1; the second half are the nodes, then −1."""


@inner
def match(scores: Scores, i: Int) -> None:
    """Let the two below place i of the tournament meet; a tie goes to the first, the smaller node."""
    a, b = scores.winner[2 * i], scores.winner[2 * i + 1]
    if b >= 0 and scores.over[b] * scores.under[a] > scores.over[a] * scores.under[b]:
        a = b
    scores.winner[i] = a


@inner
def replay(scores: Scores, v: Int) -> None:
    """Play again the matches that node v takes part in."""
    i = (len(scores.winner) // 2 + v) // 2
    while i > 0:
        match(scores, i)
        i //= 2


@inner
def replay_all(scores: Scores) -> None:
    """Play the whole tournament."""
    for i in range(len(scores.winner) // 2 - 1, 0, -1):
        match(scores, np.int64(i))


@inner
def estimate(scores: Scores, u: Int, kind: Int) -> None:
    """Bound u's score from above after some of its topics were done."""
    scores.exact[u] = False
    if kind == DENSITY:
        scores.over[u] = scores.weight[u]
        # No neighbour shares more than all topics that remain.
        least = -(-scores.weight[u] // max(scores.topics[u], 1))
        scores.under[u] = max(scores.fewest[u], least, 1)
