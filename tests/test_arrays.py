"""Arrays that kernels take: rows of bits in whole blocks, and ids in a stable order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.arrays import BLOCK, aligned, bit_rows, row_words, stable_order


@settings(max_examples=30)
@given(st.integers(0, 9), st.integers(1, 3 * BLOCK))
def test_rows_are_empty_whole_and_aligned(count: int, nodes: int) -> None:
    """Every row has a bit for each node, begins at a block of 64 bytes, and is empty."""
    rows = bit_rows(count, nodes)
    assert rows.shape == (count, row_words(nodes))
    assert 64 * row_words(nodes) >= nodes > 64 * row_words(nodes) - BLOCK
    assert not rows.any()
    assert all(row.ctypes.data % 64 == 0 for row in rows)
    assert aligned(count, 8).shape == (count, 8)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 2**17 - 1), max_size=40), st.booleans())
def test_order_is_stable(ids: list[int], large: bool) -> None:
    """Positions come in the order of their ids, equal ids in the order of their positions."""
    count = 2**17 if large else 2**16
    held = np.array([number % count for number in ids], dtype=np.int32)
    assert stable_order(held, count).tolist() == sorted(range(len(ids)), key=lambda place: held[place])
