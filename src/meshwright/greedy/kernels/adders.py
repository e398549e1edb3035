"""Carry-save adders: bit rows over nodes, summed for all nodes at once into bit-sliced counters.

Bit v of slice k has the value 2^k in the count of node v. Rows are added from the block of word `low` on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.compiling import inlined, inner
from meshwright.greedy.kernels.state import NOTHING, ONE, SIX, SIXTY_THREE
from meshwright.words import EIGHT, any_of, load, nothing, store

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
    return half ^ z, (x & y) | (half & z)


@inner
def add_four(
    bits: Bits, rows: Rows, i: Int, slices: Bits, carry: Bits, low: np.uint64, high: np.uint64
) -> None:
    """Add four bit rows to the counters, up to a carry into slice 2."""
    r0, r1, r2, r3 = bits[rows[i]], bits[rows[i + 1]], bits[rows[i + 2]], bits[rows[i + 3]]
    ones, twos = slices[0], slices[1]
    for j in range(block_of(low), high, EIGHT):
        one, two_a = add_three(load(ones, j), load(r0, j), load(r1, j))
        one, two_b = add_three(one, load(r2, j), load(r3, j))
        two, four = add_three(load(twos, j), two_a, two_b)
        store(ones, j, one)
        store(twos, j, two)
        store(carry, j, four)


@inner
def add_eight(
    bits: Bits, rows: Rows, i: Int, slices: Bits, carry: Bits, low: np.uint64, high: np.uint64
) -> None:
    """Add eight bit rows to the counters, up to a carry into slice 3."""
    r0, r1, r2, r3 = bits[rows[i]], bits[rows[i + 1]], bits[rows[i + 2]], bits[rows[i + 3]]
    r4, r5, r6, r7 = bits[rows[i + 4]], bits[rows[i + 5]], bits[rows[i + 6]], bits[rows[i + 7]]
    ones, twos, fours = slices[0], slices[1], slices[2]
    for j in range(block_of(low), high, EIGHT):
        one, two_a = add_three(load(ones, j), load(r0, j), load(r1, j))
        one, two_b = add_three(one, load(r2, j), load(r3, j))
        two, four_a = add_three(load(twos, j), two_a, two_b)
        one, two_a = add_three(one, load(r4, j), load(r5, j))
        one, two_b = add_three(one, load(r6, j), load(r7, j))
        two, four_b = add_three(two, two_a, two_b)
        four, eight = add_three(load(fours, j), four_a, four_b)
        store(ones, j, one)
        store(twos, j, two)
        store(fours, j, four)
        store(carry, j, eight)


@inner
def set_eight(bits: Bits, rows: Rows, slices: Bits, low: np.uint64, high: np.uint64) -> None:
    """Set the lowest four counters to the sum of the first eight bit rows, whatever they were."""
    r0, r1, r2, r3 = bits[rows[0]], bits[rows[1]], bits[rows[2]], bits[rows[3]]
    r4, r5, r6, r7 = bits[rows[4]], bits[rows[5]], bits[rows[6]], bits[rows[7]]
    ones, twos, fours, eights = slices[0], slices[1], slices[2], slices[3]
    for j in range(block_of(low), high, EIGHT):
        one, two_a = add_three(load(r0, j), load(r1, j), load(r2, j))
        one, two_b = add_three(one, load(r3, j), load(r4, j))
        one, two_c = add_three(one, load(r5, j), load(r6, j))
        last = load(r7, j)
        two, four_a = add_three(two_a, two_b, two_c)
        two_d = one & last
        four_b = two & two_d
        store(ones, j, one ^ last)
        store(twos, j, two ^ two_d)
        store(fours, j, four_a ^ four_b)
        store(eights, j, four_a & four_b)


@inner
def ripple(slices: Bits, carry: Bits, k: Int, top: Int, low: np.uint64, high: np.uint64) -> None:
    """Add the carry into slice k and on, as far as it goes."""
    while k < top:
        digits, left = slices[k], nothing()
        for j in range(block_of(low), high, EIGHT):
            digit, more = load(digits, j), load(carry, j)
            store(digits, j, digit ^ more)
            more = more & digit
            store(carry, j, more)
            left = left | more
        if any_of(left) == NOTHING:
            return
        k += 1


@inlined
def count_one(slices: Bits, v: np.uint64) -> None:
    """Add 1 to the count of one node."""
    word, carry, k = v >> SIX, ONE << (v & SIXTY_THREE), 0
    while carry != NOTHING:
        digit = slices[k, word]
        slices[k, word] = digit ^ carry
        carry &= digit
        k += 1
