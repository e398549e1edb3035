"""Who has the largest counts: selected by radix on bit-sliced counters, from the highest slice down.

Loops go by the bit, not by the slice's number: where rows are seen to follow each other backwards, the
compiled check for overlapping arrays always fails, and words are worked on one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import inlined, inner, lowest_bit, popcount
from meshwright.greedy.kernels.state import ALL_ONES, NOTHING, ONE

if TYPE_CHECKING:
    from meshwright.greedy.kernels.state import Bits, Int, Scratch


@inlined
def select(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64, wanted: Int) -> Int:
    """Return the (wanted + 1)-th largest count among the allowed nodes, by radix; 0 if there are fewer.

    Afterwards `above` marks the nodes with a larger count, at most `wanted` of them.
    """
    mask, above = scratch.mask, scratch.above
    bit = ONE << np.uint64(top)
    digits, count = scratch.slices[top - 1], 0
    for j in range(low, high):
        above[j] = NOTHING
        mask[j] = scratch.allowed[j]
        count += popcount(mask[j] & digits[j])
    value, larger = NOTHING, 0
    while bit > ONE:
        bit >>= ONE
        # Narrow the mask by this slice, and count at once how many of the rest have the next bit.
        digits, following = scratch.slices[lowest_bit(bit)], scratch.slices[lowest_bit(max(bit >> ONE, ONE))]
        ahead = 0
        if larger + count > wanted:
            value |= bit
            for j in range(low, high):
                left = mask[j] & digits[j]
                mask[j] = left
                ahead += popcount(left & following[j])
        else:
            larger += count
            for j in range(low, high):
                left, gone = mask[j] & ~digits[j], mask[j] & digits[j]
                above[j] |= gone
                mask[j] = left
                ahead += popcount(left & following[j])
        count = ahead
    return np.int64(value)


@inlined
def keep_largest(mask: Bits, slices: Bits, top: Int, low: np.uint64, high: np.uint64) -> Int:
    """Narrow a mask to its nodes with the largest count, and return that; 0 narrows nothing."""
    value, bit = NOTHING, ONE << np.uint64(top)
    while bit > ONE:
        bit >>= ONE
        digits, some = slices[lowest_bit(bit)], NOTHING
        for j in range(low, high):
            some |= mask[j] & digits[j]
        if some != NOTHING:
            value |= bit
            for j in range(low, high):
                mask[j] &= digits[j]
    return np.int64(value)


@inner
def largest_count(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64) -> Int:
    """Return the largest count of all nodes, allowed or not."""
    for j in range(low, high):
        scratch.mask[j] = ALL_ONES
    return keep_largest(scratch.mask, scratch.slices, top, low, high)


@inner
def at_least(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64, level: Int) -> None:
    """Mark in `above` the allowed nodes whose count is `level` or more."""
    mask, above = scratch.mask, scratch.above
    for j in range(low, high):
        mask[j] = scratch.allowed[j]
        above[j] = NOTHING
    bit = ONE << np.uint64(top)
    while bit > ONE:
        bit >>= ONE
        digits = scratch.slices[lowest_bit(bit)]
        if np.uint64(level) & bit:
            for j in range(low, high):
                mask[j] &= digits[j]
        else:
            for j in range(low, high):
                above[j] |= mask[j] & digits[j]
                mask[j] &= ~digits[j]
    for j in range(low, high):
        above[j] |= mask[j]
