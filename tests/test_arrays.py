"""Arrays that kernels take: rows of bits in whole blocks, and ids in a stable order."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.models import OptionInfo

from meshwright.arrays import (
    BLOCK,
    MOST_THREADS,
    aligned,
    bit_rows,
    check_threads,
    row_words,
    stable_order,
)
from meshwright.cli.options import Threads
from meshwright.errors import InputError


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


def test_threads_are_a_number_that_a_machine_can_have() -> None:
    """From 1 to 1,024 threads; the command line has the same limit."""
    for threads in (1, MOST_THREADS, np.int64(2)):
        check_threads(threads)
    for threads, said in ((0, "give at least 1"), (MOST_THREADS + 1, "1,025 threads: give at most 1,024")):
        with pytest.raises(InputError, match=said):
            check_threads(threads)
    for wrong in (True, 1.0, "2", None):
        with pytest.raises(InputError, match="whole number"):
            check_threads(wrong)
    (option,) = [each for each in get_args(Threads) if isinstance(each, OptionInfo)]
    assert option.max == MOST_THREADS
