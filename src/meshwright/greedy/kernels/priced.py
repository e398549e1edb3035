"""The picker by prices: grow by weighted topics over listed pairs.

A pair is worth the sum, over the topics that it would merge, of the larger weight of its two ends. Weights do
not change, so values only fall as links are added, and lazy evaluation is exact: re-evaluate the pair at the
top of the heap; if its value still holds, it is the best of all. Ties go to the pair listed first.

An evaluation costs O(|T(u)| + |T(v)|) and O(log pairs) in the heap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.greedy.kernels.components import link
from meshwright.greedy.kernels.heap import build, drop_first, sink
from meshwright.greedy.kernels.state import EDGES, EXHAUSTED, FULL, PAUSED, WORK
from meshwright.jit.compiler import inlined, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Floats, Ids, Int, Offsets
    from meshwright.greedy.kernels.state import Goal, Links, State

AN_EVALUATION = 128
"""The work of evaluating a pair."""


class PricedPairs(NamedTuple):
    """The pairs that may be linked, and what they are worth."""

    weight: Floats
    """By entry of `node_topics`: what connecting this subscription is worth."""
    u: Ids
    """By pair: the smaller end."""
    v: Ids
    """By pair: the larger end."""
    value: Floats
    """By pair: it is worth no more."""
    heap: Ids
    """The pairs that may be worth something, by value and then by number; see `heap`."""
    size: Offsets
    """One number: how many pairs are in the heap."""


@inlined
def value_of(state: State, weight: Floats, u: Int, v: Int) -> float:
    """Return what a link is worth: for each topic that it would merge, the larger weight of its ends."""
    i, j, value = state.node_ptr[u], state.node_ptr[v], 0.0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second and state.node_label[i] != state.node_label[j]:
            value += max(weight[i], weight[j])
        i += np.int64(first <= second)
        j += np.int64(second <= first)
    return value


@kernel
def begin(state: State, pairs: PricedPairs) -> None:
    """Evaluate all pairs and put them in the heap."""
    for i in range(len(pairs.u)):
        pairs.heap[i] = i
        pairs.value[i] = value_of(state, pairs.weight, np.int64(pairs.u[i]), np.int64(pairs.v[i]))
    pairs.size[0] = len(pairs.u)
    build(pairs.heap, pairs.value, pairs.size[0])


@kernel
def run(state: State, pairs: PricedPairs, goal: Goal, links: Links) -> int:
    """Take the pair of the largest value, again and again, until no pair is worth anything.

    A pair that would push an end over the state's `max_degree` is worth nothing.
    """
    tally, size = state.tally, pairs.size[0]
    status = EXHAUSTED
    while size > 0 and tally[EDGES] < goal.max_edges:
        if tally[EDGES] == len(links.u):
            status = FULL
            break
        if tally[WORK] > goal.work:
            status = PAUSED
            break
        pair = pairs.heap[0]
        u, v = np.int64(pairs.u[pair]), np.int64(pairs.v[pair])
        now = value_of(state, pairs.weight, u, v)
        tally[WORK] += AN_EVALUATION
        if max(state.degree[u], state.degree[v]) >= state.max_degree:
            now = 0.0
        if now == pairs.value[pair] and now > 0.0:
            edge = tally[EDGES]
            links.u[edge], links.v[edge] = u, v
            links.contribution[edge] = link(state, u, v)
            tally[EDGES] = edge + 1
            # A linked pair merges nothing any more.
            now = 0.0
        pairs.value[pair] = now
        if now == 0.0:
            size = drop_first(pairs.heap, pairs.value, size)
        else:
            sink(pairs.heap, pairs.value, np.int64(0), size)
    pairs.size[0] = size
    return status
