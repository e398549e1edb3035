"""Blocks of eight words, and sixteen numbers at once: the same as numpy and Python say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meshwright.jit.compiler import compiled
from meshwright.jit.simd import (
    EIGHT,
    SIXTEEN,
    any_of,
    copy_sixteen,
    fill_sixteen,
    largest,
    load,
    lowest_bit,
    matching,
    nothing,
    ones,
    place_of,
    reaching,
    store,
    total,
)

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


@compiled
def lowest(word: Any) -> Any:
    """Return where the lowest bit is."""
    return lowest_bit(word)


@given(word=st.integers(0, 2**64 - 1), shift=st.integers(0, 64))
def test_the_lowest_bit(word: int, shift: int) -> None:
    """It is where counting from below finds the first one, and behind the last place if there is none."""
    shifted = word << shift & 2**64 - 1
    digits = f"{shifted:064b}"[::-1]
    assert lowest(np.uint64(shifted)) == (digits.index("1") if shifted else 64)


@compiled
def fill_and_copy(target: Any, j: Any, source: Any, i: Any, value: Any) -> None:
    """Copy sixteen numbers to place j of a target, and fill the sixteen after them."""
    copy_sixteen(target, j, source, i)
    fill_sixteen(target, j + SIXTEEN, value)


@given(place=st.integers(0, 8), begin=st.integers(0, 8), value=st.integers(-(2**31), 2**31 - 1))
def test_sixteen_numbers_are_copied_and_filled(place: int, begin: int, value: int) -> None:
    """Exactly these places change, wherever they begin."""
    source, target = np.arange(100, 124, dtype=np.int32), np.arange(40, dtype=np.int32)
    expected = target.copy()
    expected[place : place + 16] = source[begin : begin + 16]
    expected[place + 16 : place + 32] = value
    fill_and_copy(target, np.uint64(place), source, np.uint64(begin), np.int64(value))
    assert target.tolist() == expected.tolist()


numbers = st.lists(st.integers(0, 40), min_size=1, max_size=40).map(
    lambda some: np.array([*some, *[99] * 15], dtype=np.int32)[: len(some)]
)


@compiled
def look(array: Any, i: Any, level: Any, marks: Any) -> Any:
    """Return what sixteen numbers say."""
    return reaching(array, i, level), largest(array, i, marks)


@given(array=numbers, data=st.data(), level=st.integers(1, 40), marks=st.integers(0, 2**64 - 1))
def test_sixteen_numbers_at_once(
    array: NDArray[np.int32], data: st.DataObject, level: int, marks: int
) -> None:
    """Marks are those of a comparison one by one, and only marked numbers are looked at."""
    i = data.draw(st.integers(0, len(array) - 1))
    near = array[i : i + 16].tolist()
    existing = (1 << len(near)) - 1
    reached, most = look(array, np.uint64(i), np.int64(level), np.uint64(marks & existing))
    assert int(reached) & existing == sum((number >= level) << k for k, number in enumerate(near))
    assert most == max([0, *(number for k, number in enumerate(near) if marks >> k & 1)])


@compiled
def find(array: Any, i: Any, value: Any) -> Any:
    """Return which of eight numbers are a value."""
    return matching(array, i, value)


@given(some=st.lists(st.integers(-2, 5), min_size=8, max_size=30), data=st.data(), value=st.integers(-2, 5))
def test_eight_numbers_at_once(some: list[int], data: st.DataObject, value: int) -> None:
    """Marks are those of a comparison one by one."""
    i = data.draw(st.integers(0, len(some) - 8))
    marks = find(np.array(some, dtype=np.int32), np.uint64(i), np.int64(value))
    assert int(marks) == sum((number == value) << k for k, number in enumerate(some[i : i + 8]))


@compiled
def seek(array: Any, begin: Any, end: Any, value: Any) -> Any:
    """Return the first place of a value between two places."""
    return place_of(array, begin, end, value)


@given(some=st.lists(st.integers(-2, 5), max_size=40), data=st.data(), value=st.integers(-2, 5))
def test_a_search_ends_where_it_should(some: list[int], data: st.DataObject, value: int) -> None:
    """A search finds the first number that equals a value, and none before or after the given places."""
    begin = data.draw(st.integers(0, len(some)))
    end = data.draw(st.integers(begin, len(some)))
    padded = np.array(some + [value] * 8, dtype=np.int32)
    there = seek(padded, np.int64(begin), np.int64(end), np.int64(value))
    assert there == next((place for place in range(begin, end) if some[place] == value), -1)
