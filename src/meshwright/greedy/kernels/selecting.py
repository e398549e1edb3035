"""Who has the largest counts: selected by radix on bit-sliced counters, from the highest slice down.

Masks are looked at from the block of word `low` on: before `low` they must be empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import inlined, inner
from meshwright.greedy.kernels.adders import block_of
from meshwright.greedy.kernels.state import ALL_ONES, NOTHING, ONE, SIX
from meshwright.words import EIGHT, any_of, load, lowest_bit, nothing, ones, store, total

if TYPE_CHECKING:
    from meshwright.greedy.kernels.state import Bits, Int, Scratch
    from meshwright.interest import Ids


@inlined
def select(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64, wanted: Int) -> Int:
    """Return the (wanted + 1)-th largest count among the allowed nodes, by radix; 0 if there are fewer.

    Afterwards `above` marks the nodes with a larger count, at most `wanted` of them.
    """
    mask, above, low = scratch.mask, scratch.above, block_of(low)
    digits, counts = scratch.slices[top - 1], nothing()
    for j in range(low, high, EIGHT):
        left = load(scratch.allowed, j)
        store(above, j, nothing())
        store(mask, j, left)
        counts = counts + ones(left & load(digits, j))
    value = larger = np.int64(0)
    for k in range(top - 1, -1, -1):
        # Narrow the mask by this slice, and count at once how many of the rest have the next bit.
        digits, following = scratch.slices[k], scratch.slices[max(k - 1, 0)]
        count, counts = total(counts), nothing()
        if larger + count > wanted:
            value |= np.int64(1) << k
            for j in range(low, high, EIGHT):
                left = load(mask, j) & load(digits, j)
                store(mask, j, left)
                counts = counts + ones(left & load(following, j))
        else:
            larger += count
            for j in range(low, high, EIGHT):
                some, digit = load(mask, j), load(digits, j)
                left = some & ~digit
                store(above, j, load(above, j) | (some & digit))
                store(mask, j, left)
                counts = counts + ones(left & load(following, j))
    return value


@inlined
def list_marked(marks: Bits, marked: Ids, low: np.uint64, high: np.uint64, room: np.uint64) -> np.uint64:
    """List the nodes that are marked, as many as there is room for, and return how many these are.

    `marked` must hold those of a block more.
    Two bits of a word are listed whether it has them or not, and the next ones over those that it has not: to
    ask would take longer, as nobody can foresee the answer.
    """
    count = NOTHING
    for block in range(block_of(low), high, EIGHT):
        if any_of(load(marks, block)) != NOTHING:
            for j in range(block, block + EIGHT):
                word = marks[j]
                for _ in range(2):
                    marked[count] = np.int64((j << SIX) | lowest_bit(word))
                    one = np.uint64(word != NOTHING)
                    count += one
                    word &= word - one
                while word != NOTHING:
                    marked[count] = np.int64((j << SIX) | lowest_bit(word))
                    count += ONE
                    word &= word - ONE
            if count >= room:
                return room
    return count


@inlined
def keep_largest(mask: Bits, slices: Bits, top: Int, low: np.uint64, high: np.uint64) -> Int:
    """Narrow a mask to its nodes with the largest count, and return that; 0 narrows nothing."""
    value, low = np.int64(0), block_of(low)
    for k in range(top - 1, -1, -1):
        digits, some = slices[k], nothing()
        for j in range(low, high, EIGHT):
            some = some | (load(mask, j) & load(digits, j))
        if any_of(some) != NOTHING:
            value |= np.int64(1) << k
            for j in range(low, high, EIGHT):
                store(mask, j, load(mask, j) & load(digits, j))
    return value


@inner
def largest_count(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64) -> Int:
    """Return the largest count of all nodes, allowed or not."""
    for j in range(block_of(low), low):
        scratch.mask[j] = NOTHING
    for j in range(low, high):
        scratch.mask[j] = ALL_ONES
    return keep_largest(scratch.mask, scratch.slices, top, low, high)


@inner
def at_least(scratch: Scratch, top: Int, low: np.uint64, high: np.uint64, level: Int) -> None:
    """Mark in `above` the allowed nodes whose count is `level` or more."""
    slices = scratch.slices
    for j in range(block_of(low), high, EIGHT):
        same, more = load(scratch.allowed, j), nothing()
        for k in range(top - 1, -1, -1):
            digit = load(slices[k], j)
            if (level >> k) & 1:
                same = same & digit
            else:
                more = more | (same & digit)
                same = same & ~digit
        store(scratch.above, j, more | same)
