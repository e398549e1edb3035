"""Sort listed pairs by (u, v): first into groups of rows, then each group by radix.

A pair is the number u·2³² + v. Dealing the pairs out to groups of 2^`shift` rows reads and writes each one
once. In its group a pair needs only the rest of u and v, a *key* of 32 bits at most. A group fits into the
cache, where it is sorted digit by digit; the last digit writes pairs again. No step waits for a comparison
that cannot be predicted.

Several threads work on one list: each one deals out the pairs that it has listed, to places that no other
thread writes to, and then sorts some of the groups. The result does not depend on who dealt what.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Int, Offsets
from meshwright.greedy.kernels.index import HALF
from meshwright.greedy.kernels.state import Rows
from meshwright.jit.compiler import inlined, kernel


class Groups(NamedTuple):
    """How a list is divided into groups of rows, and what a key consists of."""

    low: Int
    """The first row of the first group."""
    shift: Int
    """A group has 2^`shift` rows, so the rest of u takes `shift` bits of a key, the upper ones."""
    bits: Int
    """The bits of v."""


@kernel
def count_groups(groups: Groups, pairs: Offsets, counts: Offsets) -> None:
    """Count the pairs of each group."""
    for i in range(len(pairs)):
        counts[((pairs[i] >> 32) - groups.low) >> groups.shift] += 1


@kernel
def deal_groups(groups: Groups, pairs: Offsets, places: Offsets, keys: Rows) -> None:
    """Write the key of each pair to the next place of its group, and advance that place."""
    bits, shift = np.int64(groups.bits), np.int64(groups.shift)
    rest = (np.int64(1) << shift) - 1
    for i in range(len(pairs)):
        u, v = (pairs[i] >> 32) - groups.low, pairs[i] & HALF
        keys[places[u >> shift]] = ((u & rest) << bits) | v
        places[u >> shift] += 1


@inlined
def count_digits(keys: Rows, begin: Int, end: Int, at: Int, work: Offsets) -> None:
    """Put into `work` how many of some keys come before those with each value of the digit at bit `at`."""
    mask = np.int64(len(work) - 1)
    for value in range(len(work)):
        work[value] = 0
    for i in range(begin, end):
        work[(np.int64(keys[i]) >> at) & mask] += 1
    before = np.int64(0)
    for value in range(len(work)):
        count = work[value]
        work[value] = before
        before += count


@kernel
def sort_groups(
    groups: Groups,
    keys: Rows,
    spare: Rows,
    pairs: Offsets,
    ends: Offsets,
    first: Int,
    last: Int,
    work: Offsets,
) -> None:
    """Sort the groups from `first` to `last`, which end at `ends`, and write their pairs to the same places.

    Each digit, the lowest first, moves the keys of a group in a stable order: to `spare`, back again, and in
    the end to `pairs`. `work` has a place for each value of a digit, a power of two.

    Invariant: before the digit at bit `at`, the keys of the group are sorted by their lower `at` bits. Cost:
    each key is read and written once for each digit, and counted once.
    """
    low, bits, shift = np.int64(groups.low), np.int64(groups.bits), np.int64(groups.shift)
    mask, width, node = np.int64(len(work) - 1), np.int64(0), (np.int64(1) << bits) - 1
    while (1 << width) <= mask:
        width += 1
    for group in range(first, last):
        begin, end = np.int64(0) if group == 0 else ends[group - 1], ends[group]
        # `keys` holds all groups, `spare` one: the keys are at `here` to `stop`, and go to `out`.
        source, here, stop = keys, begin, end
        target, out = spare, np.int64(0)
        at = np.int64(0)
        while at + width < bits + shift:
            # Afterwards, `work` says where the next key with each value of the digit goes.
            count_digits(source, here, stop, at, work)
            for i in range(here, stop):
                own = (np.int64(source[i]) >> at) & mask
                target[out + work[own]] = source[i]
                work[own] += 1
            source, target = target, source
            here, stop, out = out, out + (end - begin), here
            at += width
        # The last digit writes whole pairs to their places: the group says the upper bits of u.
        count_digits(source, here, stop, at, work)
        for i in range(here, stop):
            key = np.int64(source[i])
            own = (key >> at) & mask
            u = low + ((np.int64(group) << shift) | (key >> bits))
            pairs[begin + work[own]] = (u << 32) | (key & node)
            work[own] += 1
