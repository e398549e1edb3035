"""Sort listed pairs by (u, v): first into groups of rows, then each group by radix.

A pair is the number u·2³² + v. Dealing the pairs out to groups of 2^`shift` rows reads and writes each one
once. A group then fits into the cache, and is sorted by two or four digits: the rest of u, and v.
This takes about a quarter of the time of a sort that compares.

Several threads work on one list: each one deals out the pairs that it has listed, to places that no other
thread writes to, and then sorts some of the groups. The result does not depend on who dealt what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.greedy.kernels.index import HALF
from meshwright.jit.compiler import inlined, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Int, Offsets


@inlined
def digit(pair: Int, bits: Int, at: Int, mask: Int) -> Int:
    """Return the digit of a pair whose lowest bit is `at`, without the empty bits between v and u."""
    return ((((pair >> 32) << bits) | (pair & HALF)) >> at) & mask


@kernel
def count_groups(pairs: Offsets, shift: Int, counts: Offsets) -> None:
    """Count the pairs of each group of 2^`shift` rows."""
    for i in range(len(pairs)):
        counts[(pairs[i] >> 32) >> shift] += 1


@kernel
def deal_groups(pairs: Offsets, shift: Int, places: Offsets, target: Offsets) -> None:
    """Copy each pair to the next place of its group in `target`, and advance that place."""
    for i in range(len(pairs)):
        group = (pairs[i] >> 32) >> shift
        target[places[group]] = pairs[i]
        places[group] += 1


@kernel
def sort_groups(
    pairs: Offsets, spare: Offsets, ends: Offsets, first: Int, last: Int, bits: Int, shift: Int, work: Offsets
) -> None:
    """Sort the groups from `first` to `last`, which end at `ends`, in `pairs`; `bits` are those of a node.

    Each digit, the lowest first, moves a group to `spare` or back, in a stable order. `work` has a place for
    each value of a digit, a power of two. There is an even number of digits, so groups end in `pairs`.
    """
    mask, width = np.int64(len(work) - 1), np.int64(0)
    while (1 << width) <= mask:
        width += 1
    for group in range(first, last):
        begin, end = np.int64(0) if group == 0 else ends[group - 1], ends[group]
        source, target = pairs, spare
        at, odd = np.int64(0), False
        if end - begin < 2:
            continue
        while at < bits + shift or odd:
            for value in range(len(work)):
                work[value] = 0
            for i in range(begin, end):
                work[digit(source[i], bits, at, mask)] += 1
            place = begin
            for value in range(len(work)):
                count = work[value]
                work[value] = place
                place += count
            for i in range(begin, end):
                own = digit(source[i], bits, at, mask)
                target[work[own]] = source[i]
                work[own] += 1
            source, target = target, source
            at += width
            odd = not odd
