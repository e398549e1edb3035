"""The heap yields indices by falling value, ties by the smaller index, also while values fall."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import examples, seeds
from meshwright.greedy.kernels.heap import build, drop_first, sink
from meshwright.jit.compiler import compiled

values = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf]), max_size=40)


@compiled
def drain(heap: np.ndarray, value: np.ndarray, order: np.ndarray) -> None:
    """Build a heap, and write its entries in the order in which they come to the top."""
    size: Any = np.int64(len(heap))
    build(heap, value, size)
    for i in range(len(order)):
        order[i] = heap[0]
        size = drop_first(heap, value, size)


@compiled
def drain_lazily(heap: np.ndarray, bound: np.ndarray, value: np.ndarray, order: np.ndarray) -> None:
    """As `drain`, from upper bounds: lower the first entry to its value, and take it once both agree."""
    size: Any = np.int64(len(heap))
    build(heap, bound, size)
    taken = 0
    while size > 0:
        first = heap[0]
        if bound[first] == value[first]:
            order[taken] = first
            taken += 1
            size = drop_first(heap, bound, size)
        else:
            bound[first] = value[first]
            sink(heap, bound, np.int64(0), size)


def by_value(value: list[float]) -> list[int]:
    """Return the indices in the order that the heap must give."""
    return sorted(range(len(value)), key=lambda i: (-value[i], i))


@settings(max_examples=examples(100, 50))
@given(values, seeds)
def test_entries_come_in_order(value: list[float], seed: int) -> None:
    """From any initial order, entries come out by falling value, ties by the smaller index."""
    heap = np.random.default_rng(seed).permutation(len(value)).astype(np.int32)
    order = np.empty(len(value), dtype=np.int32)
    drain(heap, np.array(value, dtype=np.float64), order)
    assert order.tolist() == by_value(value)


@settings(max_examples=examples(100, 50))
@given(values, seeds)
def test_lazy_evaluation_gives_the_same_order(value: list[float], seed: int) -> None:
    """Starting from upper bounds and lowering only the first entry gives the order of the values."""
    rng = np.random.default_rng(seed)
    bound = np.array(value, dtype=np.float64) + rng.integers(0, 3, len(value)) / 2
    heap, order = np.arange(len(value), dtype=np.int32), np.empty(len(value), dtype=np.int32)
    drain_lazily(heap, bound, np.array(value, dtype=np.float64), order)
    assert order.tolist() == by_value(value)
