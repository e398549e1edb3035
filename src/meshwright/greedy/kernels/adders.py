"""Carry-save adders: bit rows over nodes, summed for all nodes at once into bit-sliced counters.

Bit v of slice k has the value 2^k in the count of node v. Rows are added from the block of word `low` on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.compiling import inlined, inner
from meshwright.greedy.kernels.state import NOTHING, ONE, SIX, SIXTY_THREE
from meshwright.words import EIGHT, load, nothing, store

if TYPE_CHECKING:
    from meshwright.greedy.kernels.state import Bits, Int, Rows


@inlined
def block_of(low: np.uint64) -> np.uint64:
    """Return the word at which the block of a word begins."""
    return low & ~(EIGHT - ONE)


@inlined
def add_three(x: Any, y: Any, z: Any) -> tuple[Any, Any]:
    """Add three blocks bit by bit: return the sum's ones and its twos."""
    half = x ^ y
    return half ^ z, x ^ (half & (x ^ z))


@inlined
def block(bits: Bits, rows: Rows, i: Int, j: Any) -> Any:
    """Return the block at word j of the i-th of some rows."""
    return load(bits, np.uint64(rows[np.uint64(i)]) * np.uint64(bits.shape[1]) + j)


@inlined
def add_eight(
    bits: Bits, rows: Rows, i: Int, j: Any, one: Any, two: Any, four: Any
) -> tuple[Any, Any, Any, Any]:
    """Add the blocks at word j of eight rows to a sum's ones, twos and fours; return these, and eights."""
    one, two_a = add_three(one, block(bits, rows, i, j), block(bits, rows, i + 1, j))
    one, two_b = add_three(one, block(bits, rows, i + 2, j), block(bits, rows, i + 3, j))
    two, four_a = add_three(two, two_a, two_b)
    one, two_a = add_three(one, block(bits, rows, i + 4, j), block(bits, rows, i + 5, j))
    one, two_b = add_three(one, block(bits, rows, i + 6, j), block(bits, rows, i + 7, j))
    two, four_b = add_three(two, two_a, two_b)
    four, eight = add_three(four, four_a, four_b)
    return one, two, four, eight


@inner
def add_rows(
    bits: Bits, rows: Rows, count: Int, slices: Bits, top: Int, low: np.uint64, high: np.uint64, fresh: bool
) -> None:
    """Add the first `count` of some bit rows to the counters; behind them, `rows` must have eight empty ones.

    Sixteen are added at a time, along the rows: large rows are read ahead by the machine. If the lowest four
    counters are `fresh`, they are taken as empty, whatever they were.
    """
    width = np.uint64(slices.shape[1])
    fours, eights = width + width, width + width + width
    for i in range(0, count, 16):
        for j in range(block_of(low), high, EIGHT):
            one, two, four, eight = nothing(), nothing(), nothing(), nothing()
            if i > 0 or not fresh:
                one, two = load(slices, j), load(slices, j + width)
                four, eight = load(slices, j + fours), load(slices, j + eights)
            one, two, four, eight_a = add_eight(bits, rows, i, j, one, two, four)
            eight_b = nothing()
            if count - i > 8:
                one, two, four, eight_b = add_eight(bits, rows, i + 8, j, one, two, four)
            eight, more = add_three(eight, eight_a, eight_b)
            place = j + eights
            for _ in range(4, top):  # to go on without a carry is cheaper than to look for one
                place += width
                digit = load(slices, place)
                store(slices, place, digit ^ more)
                more = more & digit
            store(slices, j, one)
            store(slices, j + width, two)
            store(slices, j + fours, four)
            store(slices, j + eights, eight)


@inlined
def count_one(slices: Bits, v: np.uint64) -> None:
    """Add 1 to the count of one node."""
    word, carry, k = v >> SIX, ONE << (v & SIXTY_THREE), 0
    while carry != NOTHING:
        digit = slices[k, word]
        slices[k, word] = digit ^ carry
        carry &= digit
        k += 1
