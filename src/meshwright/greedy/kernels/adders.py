"""Carry-save adders: bit rows over nodes, summed for all nodes at once into bit-sliced counters.

Bit v of slice k has the value 2^k in the count of node v. Steps are spelled out, so that they vectorise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import inlined, inner
from meshwright.greedy.kernels.state import NOTHING, ONE, SIX, SIXTY_THREE

if TYPE_CHECKING:
    from meshwright.greedy.kernels.state import Bits, Int, Rows


@inner
def add_four(
    bits: Bits, rows: Rows, i: Int, slices: Bits, carry: Bits, low: np.uint64, high: np.uint64
) -> None:
    """Add four bit rows to the counters, up to a carry into slice 2."""
    r0, r1, r2, r3 = bits[rows[i]], bits[rows[i + 1]], bits[rows[i + 2]], bits[rows[i + 3]]
    ones, twos = slices[0], slices[1]
    for j in range(low, high):
        one, x, y = ones[j], r0[j], r1[j]
        half = one ^ x
        two_a = (one & x) | (half & y)
        one = half ^ y
        x, y = r2[j], r3[j]
        half = one ^ x
        two_b = (one & x) | (half & y)
        ones[j] = half ^ y
        two = twos[j]
        half = two ^ two_a
        carry[j] = (two & two_a) | (half & two_b)
        twos[j] = half ^ two_b


@inner
def add_eight(
    bits: Bits, rows: Rows, i: Int, slices: Bits, carry: Bits, low: np.uint64, high: np.uint64
) -> None:
    """Add eight bit rows to the counters, up to a carry into slice 3."""
    r0, r1, r2, r3 = bits[rows[i]], bits[rows[i + 1]], bits[rows[i + 2]], bits[rows[i + 3]]
    r4, r5, r6, r7 = bits[rows[i + 4]], bits[rows[i + 5]], bits[rows[i + 6]], bits[rows[i + 7]]
    ones, twos, fours = slices[0], slices[1], slices[2]
    for j in range(low, high):
        one, x, y = ones[j], r0[j], r1[j]
        half = one ^ x
        two_a = (one & x) | (half & y)
        one = half ^ y
        x, y = r2[j], r3[j]
        half = one ^ x
        two_b = (one & x) | (half & y)
        one = half ^ y
        two = twos[j]
        half = two ^ two_a
        four_a = (two & two_a) | (half & two_b)
        two = half ^ two_b
        x, y = r4[j], r5[j]
        half = one ^ x
        two_a = (one & x) | (half & y)
        one = half ^ y
        x, y = r6[j], r7[j]
        half = one ^ x
        two_b = (one & x) | (half & y)
        ones[j] = half ^ y
        half = two ^ two_a
        four_b = (two & two_a) | (half & two_b)
        twos[j] = half ^ two_b
        four = fours[j]
        half = four ^ four_a
        carry[j] = (four & four_a) | (half & four_b)
        fours[j] = half ^ four_b


@inlined
def add_three(x: np.uint64, y: np.uint64, z: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Add three words bit by bit: return the sum's ones and its twos."""
    half = x ^ y
    return half ^ z, (x & y) | (half & z)


@inner
def set_eight(bits: Bits, rows: Rows, slices: Bits, low: np.uint64, high: np.uint64) -> None:
    """Set the lowest four counters to the sum of the first eight bit rows, whatever they were."""
    r0, r1, r2, r3 = bits[rows[0]], bits[rows[1]], bits[rows[2]], bits[rows[3]]
    r4, r5, r6, r7 = bits[rows[4]], bits[rows[5]], bits[rows[6]], bits[rows[7]]
    ones, twos, fours, eights = slices[0], slices[1], slices[2], slices[3]
    for j in range(low, high):
        one, two_a = add_three(r0[j], r1[j], r2[j])
        one, two_b = add_three(one, r3[j], r4[j])
        one, two_c = add_three(one, r5[j], r6[j])
        ones[j], two_d = one ^ r7[j], one & r7[j]
        two, four_a = add_three(two_a, two_b, two_c)
        twos[j], four_b = two ^ two_d, two & two_d
        fours[j], eights[j] = four_a ^ four_b, four_a & four_b


@inner
def ripple(slices: Bits, carry: Bits, k: Int, top: Int, low: np.uint64, high: np.uint64) -> None:
    """Add the carry into slice k and on, as far as it goes."""
    while k < top:
        digits = slices[k]
        left = NOTHING
        for j in range(low, high):
            digit, more = digits[j], carry[j]
            digits[j] = digit ^ more
            more &= digit
            carry[j] = more
            left |= more
        if left == NOTHING:
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
