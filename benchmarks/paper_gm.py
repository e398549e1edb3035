"""Greedy Merge as podc07 writes it (Alg. 2 and 3): the competitor that the engine is measured against.

All pairs are materialised, in the upper triangle row by row, each with its contribution. LINKCONTRIB, the
sets of pairs of equal contribution, lies in one array sorted by contribution: a pair that loses one changes
places with the first pair of its set, and the set's border moves by one. NODES[v][t], the component of v in
topic t, is a label for each subscription and a circular list; the smaller of two merged components is
relabelled. Time Σ_t |V_t|², memory ten bytes for each pair of nodes, as in the paper.
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
"""Pairs are numbered by int32."""


def compiled(function: Function) -> Function:
    """Compile when first called, once for each machine, with the types kept."""
    return cast("Function", njit(cache=True, nogil=True, error_model="numpy")(function))


class Subscriptions(NamedTuple):
    """The interest, both ways."""

    node_ptr: Int
    node_topics: Int
    topic_ptr: Int
    topic_nodes: Int


class Pairs(NamedTuple):
    """Every pair's contribution, the pairs of positive contribution sorted by it, and each one's place."""

    nodes: int
    contribution: Int
    order: Int
    place: Int
    begin: Int  # where the pairs of contribution c begin in `order`


def paper_gm(interest: Interest) -> tuple[Int, Int, Int]:
    """Return the edges u < v and their contributions, in the order in which they are added.

    Ties are broken by where a pair happens to lie; the paper leaves them open.
    """
    nodes = interest.num_nodes
    if nodes > MOST_NODES:
        raise ValueError(f"{nodes} nodes: all pairs of at most {MOST_NODES} can be held")
    held = Subscriptions(interest.node_ptr, interest.node_topics, interest.topic_ptr, interest.topic_nodes)
    # Made by numpy, not in the kernels: numpy asks for huge pages, which the random access below likes.
    contribution = np.zeros(nodes * (nodes - 1) // 2, dtype=np.int16)
    count_common(held, contribution)
    order = np.empty(np.count_nonzero(contribution), dtype=np.int32)
    place = np.empty(len(contribution), dtype=np.int32)
    begin = sort_pairs(contribution, order, place)
    return construct(held, Pairs(nodes, contribution, order, place, begin))


@compiled
def count_common(held: Subscriptions, contribution: Int) -> None:
    """Alg. 2, lines 4 and 5: how many topics each pair has in common."""
    nodes = len(held.node_ptr) - 1
    after = held.topic_ptr[:-1].copy()  # the topic's subscribers beyond the current node
    for u in range(nodes):
        row = u * (2 * nodes - u - 1) // 2 - u - 1
        for i in range(held.node_ptr[u], held.node_ptr[u + 1]):
            t = held.node_topics[i]
            after[t] += 1
            for j in range(after[t], held.topic_ptr[t + 1]):
                contribution[row + held.topic_nodes[j]] += 1


@compiled
def sort_pairs(contribution: Int, order: Int, place: Int) -> Int:
    """Alg. 2, lines 6 to 8: sort the pairs by contribution, and return where each set of them begins."""
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
    """Alg. 3: take an edge of the highest contribution, and lower that of every pair it has connected."""
    node_ptr, node_topics = held.node_ptr, held.node_topics
    nodes, subscriptions = len(node_ptr) - 1, len(node_topics)
    slot = np.empty(subscriptions, dtype=np.int32)  # of a node's i-th topic, among the topic's subscribers
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
        while highest > 0 and pairs.begin[highest] == pairs.begin[highest + 1]:
            highest -= 1
        if highest == 0:
            return edges[0, :count].copy(), edges[1, :count].copy(), edges[2, :count].copy()
        u, v = ends_of(pairs.order[pairs.begin[highest + 1] - 1], nodes)
        if count == edges.shape[1]:
            edges = np.concatenate((edges, edges), axis=1)
        edges[0, count], edges[1, count], edges[2, count] = u, v, highest
        count += 1
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
                successor[a], successor[b] = successor[b], successor[a]


@compiled
def ends_of(pair: int, nodes: int) -> tuple[int, int]:
    """Return the nodes u < v of a pair's number: the last row that begins at or before it."""
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
    """Write the nodes of a component, and return how many they are."""
    count, at = 0, slot
    while True:
        into[count] = topic_nodes[at]
        count += 1
        at = successor[at]
        if at == slot:
            return count


@compiled
def lower_all(ones: Int, others: Int, pairs: Pairs) -> None:
    """Alg. 3, lines 7 to 11: take one from the contribution of each pair across two components."""
    nodes, contribution, order, place, begin = pairs
    for x in ones:
        for y in others:
            u, v = min(x, y), max(x, y)
            pair = np.int64(u) * (2 * nodes - u - 1) // 2 + v - u - 1
            c = contribution[pair]
            first, here = begin[c], place[pair]
            moved = order[first]
            order[here] = moved
            place[moved] = here
            order[first] = pair
            place[pair] = first
            begin[c] = first + 1
            contribution[pair] = c - 1
