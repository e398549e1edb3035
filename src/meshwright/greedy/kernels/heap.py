"""A binary heap of indices, the largest value first, ties by the smaller index.

Weighted growth keeps its rows in one, price-greedy its pairs. Values lie outside, by index. Invariant: the
entry at place i precedes those at 2i + 1 and 2i + 2. In greedy growth values only fall, so an entry only ever
sinks: O(log n); building the heap takes O(n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.compiler import inlined, inner

if TYPE_CHECKING:
    from meshwright.arrays import Floats, Ids, Int


@inlined
def precedes(value: Floats, a: Int, b: Int) -> bool:
    """Say whether index a comes before index b."""
    return bool(value[a] > value[b] or (value[a] == value[b] and a < b))


@inner
def sink(heap: Ids, value: Floats, at: Int, size: Int) -> None:
    """Move the entry at a place down to where it belongs, after its value has fallen."""
    entry = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        # The child that comes first moves up, so the order of the two stays right.
        if child + 1 < size and precedes(value, heap[child + 1], heap[child]):
            child += 1
        if not precedes(value, heap[child], entry):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = entry


@inlined
def build(heap: Ids, value: Floats, size: Int) -> None:
    """Put the first `size` entries, in any order, in heap order."""
    # Places from size // 2 on have no children; the others sink from the bottom up.
    for at in range(size // 2 - 1, -1, -1):
        sink(heap, value, np.int64(at), size)


@inlined
def drop_first(heap: Ids, value: Floats, size: Int) -> Int:
    """Remove the first entry and return the new size."""
    size -= 1
    heap[0] = heap[size]
    if size > 1:
        sink(heap, value, np.int64(0), size)
    return size
