"""Greedy Merge as podc07 prints it (Alg. 2 and 3): the competitor of the engine.

All pairs are in memory, each with its contribution, row by row of the upper triangle. LINKCONTRIB, the sets
of pairs with equal contribution, is one array sorted by contribution. When a contribution drops by one, the
pair swaps places with the first pair of its set, and the border of the set moves by one. NODES[v][t], the
component of v in topic t, is a label per subscription and a circular list of members. A merge relabels the
smaller component. As in the paper, the time is Σ_t |V_t|², and the memory is ten bytes per pair of nodes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from meshwright.interest import Interest

Function = TypeVar("Function", bound=Callable[..., Any])
Int: TypeAlias = NDArray[Any]

MOST_NODES = 65_536
"""Pair numbers are int32."""


def compiled(function: Function) -> Function:
    """Compile at the first call, cache the result on disk, and keep the Python types."""
    return cast("Function", njit(cache=True, nogil=True, error_model="numpy")(function))


class Subscriptions(NamedTuple):
    """The interest, indexed by node and by topic."""

    node_ptr: Int
    node_topics: Int
    topic_ptr: Int
    topic_nodes: Int


class Pairs(NamedTuple):
    """All pairs with their contributions, and the index of pairs by contribution."""

    nodes: int
    contribution: Int  # of each pair
    order: Int  # pairs with positive contribution, sorted by it
    place: Int  # of each pair in `order`
    begin: Int  # begin[c]: where the pairs with contribution c start in `order`


def paper_gm(interest: Interest) -> tuple[Int, Int, Int]:
    """Return the edges u < v and their contributions, in the order they are added.

    The paper leaves ties open. Here they depend on the current order of the index.
    """
    nodes = interest.num_nodes
    if nodes > MOST_NODES:
        raise ValueError(f"{nodes} nodes: pair numbers of more than {MOST_NODES} nodes do not fit into int32")
    held = Subscriptions(interest.node_ptr, interest.node_topics, interest.topic_ptr, interest.topic_nodes)
    # Allocate in numpy, not in the kernels: numpy requests huge pages, which speed up random access.
    contribution = np.zeros(nodes * (nodes - 1) // 2, dtype=np.int16)
    count_common(held, contribution)
    order = np.empty(np.count_nonzero(contribution), dtype=np.int32)
    place = np.empty(len(contribution), dtype=np.int32)
    begin = sort_pairs(contribution, order, place)
    return construct(held, Pairs(nodes, contribution, order, place, begin))


@compiled
def count_common(held: Subscriptions, contribution: Int) -> None:
    """Count the common topics of each pair (Alg. 2, lines 4 and 5)."""
    nodes = len(held.node_ptr) - 1
    after = held.topic_ptr[:-1].copy()  # first subscriber of the topic after the current node
    for u in range(nodes):
        row = u * (2 * nodes - u - 1) // 2 - u - 1
        for i in range(held.node_ptr[u], held.node_ptr[u + 1]):
            t = held.node_topics[i]
            after[t] += 1
            for j in range(after[t], held.topic_ptr[t + 1]):
                contribution[row + held.topic_nodes[j]] += 1


@compiled
def sort_pairs(contribution: Int, order: Int, place: Int) -> Int:
    """Sort the pairs by contribution (Alg. 2, lines 6 to 8); return where each set begins."""
    highest = 0
    for c in contribution:
        highest = max(highest, c)
    begin = np.zeros(highest + 2, dtype=np.int64)
    for c in contribution:
        if c > 0:
            begin[c + 1] += 1
    for c in range(1, highest + 2):
        begin[c] += begin[c - 1]
    following = begin.copy()
    for pair in range(len(contribution)):
        c = contribution[pair]
        if c > 0:
            order[following[c]] = pair
            place[pair] = following[c]
            following[c] += 1
    return begin


@compiled
def construct(held: Subscriptions, pairs: Pairs) -> tuple[Int, Int, Int]:
    """Add an edge with the highest contribution, lower the pairs that it connects, and repeat (Alg. 3)."""
    node_ptr, node_topics = held.node_ptr, held.node_topics
    nodes, subscriptions = len(node_ptr) - 1, len(node_topics)
    slot = np.empty(
        subscriptions, dtype=np.int32
    )  # of a node's i-th topic: the position among the topic's subscribers
    following = held.topic_ptr[:-1].copy()
    for i in range(subscriptions):
        slot[i] = following[node_topics[i]]
        following[node_topics[i]] += 1
    label = np.arange(subscriptions).astype(np.int32)
    successor = label.copy()
    size = np.ones(subscriptions, dtype=np.int32)
    ones, others = np.empty(nodes, dtype=np.int32), np.empty(nodes, dtype=np.int32)
    edges = np.empty((3, 64), dtype=np.int32)
    count = 0
    highest = len(pairs.begin) - 2
    while True:
        # The highest contribution never rises, so the search continues downwards from the last one.
        while highest > 0 and pairs.begin[highest] == pairs.begin[highest + 1]:
            highest -= 1
        if highest == 0:
            return edges[0, :count].copy(), edges[1, :count].copy(), edges[2, :count].copy()
        u, v = ends_of(pairs.order[pairs.begin[highest + 1] - 1], nodes)
        if count == edges.shape[1]:
            edges = np.concatenate((edges, edges), axis=1)
        edges[0, count], edges[1, count], edges[2, count] = u, v, highest
        count += 1
        # Merge the components of u and v in each common topic: both topic lists are sorted.
        i, j = node_ptr[u], node_ptr[v]
        while i < node_ptr[u + 1] and j < node_ptr[v + 1]:
            if node_topics[i] < node_topics[j]:
                i += 1
            elif node_topics[i] > node_topics[j]:
                j += 1
            else:
                a, b = slot[i], slot[j]
                i += 1
                j += 1
                if label[a] == label[b]:
                    continue
                if size[label[a]] > size[label[b]]:
                    a, b = b, a
                few = members(a, successor, held.topic_nodes, ones)
                many = members(b, successor, held.topic_nodes, others)
                lower_all(ones[:few], others[:many], pairs)
                size[label[b]] += few
                for _ in range(few):
                    label[a] = label[b]
                    a = successor[a]
                # Swapping successors joins the two circular lists.
                successor[a], successor[b] = successor[b], successor[a]


@compiled
def ends_of(pair: int, nodes: int) -> tuple[int, int]:
    """Return the nodes u < v of a pair: u is the last row that begins at or before its number."""
    low, high = 0, nodes - 1
    while high - low > 1:
        middle = (low + high) // 2
        if middle * (2 * nodes - middle - 1) // 2 <= pair:
            low = middle
        else:
            high = middle
    return low, pair - low * (2 * nodes - low - 1) // 2 + low + 1


@compiled
def members(slot: int, successor: Int, topic_nodes: Int, into: Int) -> int:
    """Write the nodes of a component into `into`, and return their number."""
    count, at = 0, slot
    while True:
        into[count] = topic_nodes[at]
        count += 1
        at = successor[at]
        if at == slot:
            return count


@compiled
def lower_all(ones: Int, others: Int, pairs: Pairs) -> None:
    """Lower the contribution of each pair across two components by one (Alg. 3, lines 7 to 11)."""
    nodes, contribution, order, place, begin = pairs
    for x in ones:
        for y in others:
            u, v = min(x, y), max(x, y)
            pair = np.int64(u) * (2 * nodes - u - 1) // 2 + v - u - 1
            c = contribution[pair]
            # Move the pair to the front of its set, then move the border of the set past it.
            first, here = begin[c], place[pair]
            moved = order[first]
            order[here] = moved
            place[moved] = here
            order[first] = pair
            place[pair] = first
            begin[c] = first + 1
            contribution[pair] = c - 1
