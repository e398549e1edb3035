"""Blocks of words: the same as numpy on eight words at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meshwright.compiling import compiled
from meshwright.words import EIGHT, any_of, load, nothing, ones, store, total

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS = 24
rows = st.lists(st.integers(0, 2**64 - 1), min_size=WORDS, max_size=WORDS).map(
    lambda words: np.array(words, dtype=np.uint64)
)


@compiled
def combine(x: Any, y: Any, out: Any, first: Any) -> Any:
    """Put x & y, x | y, x ^ y and ~x into rows of `out`, and return the bits of x & y, counted and joined."""
    counts, some = nothing(), nothing()
    for j in range(first, np.uint64(len(x)), EIGHT):
        a, b = load(x, j), load(y, j)
        store(out[0], j, a & b)
        store(out[1], j, a | b)
        store(out[2], j, a ^ b)
        store(out[3], j, ~a)
        counts = counts + ones(a & b)
        some = some | (a & b)
    return total(counts), any_of(some)


@given(x=rows, y=rows, first=st.integers(0, WORDS - 8))
def test_blocks_are_eight_words_at_once(x: NDArray[np.uint64], y: NDArray[np.uint64], first: int) -> None:
    """Every operation is numpy's on all words of the blocks, wherever they begin, and leaves the others."""
    out = np.zeros((4, WORDS + 8), dtype=np.uint64)
    padded_x, padded_y = (np.concatenate((row, np.zeros(8, dtype=np.uint64))) for row in (x, y))
    end = first + -(-(WORDS - first) // 8) * 8
    counted, joined = combine(padded_x[:end], padded_y[:end], out, np.uint64(first))
    a, b = padded_x[first:end], padded_y[first:end]
    for row, expected in zip(out, (a & b, a | b, a ^ b, ~a), strict=True):
        assert row[first:end].tolist() == expected.tolist()
        assert not row[:first].any()
        assert not row[end:].any()
    assert counted == sum(int(word).bit_count() for word in a & b)
    assert joined == np.bitwise_or.reduce(a & b)
