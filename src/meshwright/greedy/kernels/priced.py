"""Greedy growth by weighted contributions over explicit pairs, evaluated lazily: values only fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.greedy.kernels.components import link
from meshwright.jit.compiler import inlined, inner, kernel

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Int
    from meshwright.greedy.kernels.state import State

    Weights: TypeAlias = NDArray[np.float64]


@inlined
def value_of(state: State, weight: Weights, u: Int, v: Int) -> float:
    """Return what an edge is worth: for each topic that it would merge, the larger weight of its ends."""
    i, j, value = state.node_ptr[u], state.node_ptr[v], 0.0
    while i < state.node_ptr[u + 1] and j < state.node_ptr[v + 1]:
        first, second = state.node_topics[i], state.node_topics[j]
        if first == second and state.node_label[i] != state.node_label[j]:
            value += max(weight[i], weight[j])
        i += np.int64(first <= second)
        j += np.int64(second <= first)
    return value


@inner
def sift(heap: Ids, value: Weights, at: Int, size: Int) -> None:
    """Let an entry of the heap sink to its place: the largest value, then the first pair, is on top."""
    pair = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size:
            left, right = heap[child], heap[child + 1]
            if value[right] > value[left] or (value[right] == value[left] and right < left):
                child += 1
        other = heap[child]
        if value[pair] > value[other] or (value[pair] == value[other] and pair < other):
            break
        heap[at] = other
        at = child
    heap[at] = pair


@kernel
def grow_by_value(
    state: State, weight: Weights, us: Ids, vs: Ids, heap: Ids, value: Weights, taken: Ids, gains: Ids
) -> Int:
    """Take the pair of the largest value, again and again, until none has any; return how many were taken.

    A pair that would push an end over the state's `max_degree` is none.
    """
    for i in range(len(us)):
        heap[i] = i
        value[i] = value_of(state, weight, np.int64(us[i]), np.int64(vs[i]))
    size = np.int64(len(us))
    for at in range(size // 2 - 1, -1, -1):
        sift(heap, value, np.int64(at), size)
    count = np.int64(0)
    while size > 0:
        pair = heap[0]
        u, v = np.int64(us[pair]), np.int64(vs[pair])
        now = value_of(state, weight, u, v)
        if max(state.degree[u], state.degree[v]) >= state.max_degree:
            now = 0.0
        if now == value[pair] and now > 0.0:
            taken[count] = pair
            gains[count] = link(state, u, v)
            count += 1
            now = 0.0
        value[pair] = now
        if now == 0.0:
            size -= 1
            heap[0] = heap[size]
        sift(heap, value, np.int64(0), size)
    return count
