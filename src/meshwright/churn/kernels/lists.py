"""Who backs whom up: lists that grow and shrink, in chunks, so that nothing is ever moved to make room.

A list is full chunks but for its first, into which new entries go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.churn.kernels.state import CHUNK, SPARE
from meshwright.compiling import inlined, inner, kernel
from meshwright.search.kernels.net import NONE

if TYPE_CHECKING:
    from meshwright.churn.kernels.state import Live
    from meshwright.interest import Ids
    from meshwright.search.kernels.net import Int

FULL = CHUNK - 1


@inlined
def filled(count: Int) -> Int:
    """Return how many entries the first chunk of a list holds."""
    return (count - 1) % FULL + 1 if count > 0 else np.int64(0)


@inner
def push(live: Live, first: Ids, count: Ids, v: Int, value: Int) -> None:
    """Add a value to the list of node v."""
    there = filled(np.int64(count[v]))
    if there in (0, FULL):
        live.tally[SPARE] -= 1
        chunk = live.spare[live.tally[SPARE]]
        live.entries[chunk * CHUNK + FULL] = first[v]
        first[v] = chunk
        there = np.int64(0)
    live.entries[first[v] * CHUNK + there] = value
    count[v] += 1


@inner
def discard(live: Live, first: Ids, count: Ids, v: Int, value: Int) -> bool:
    """Take a value out of the list of node v; say whether it was there."""
    there = filled(np.int64(count[v]))
    chunk, held = first[v], there
    while chunk != NONE:
        base = chunk * CHUNK
        for i in range(base, base + held):
            if live.entries[i] == value:
                live.entries[i] = live.entries[first[v] * CHUNK + there - 1]
                count[v] -= 1
                if there == 1:
                    emptied = first[v]
                    first[v] = live.entries[emptied * CHUNK + FULL]
                    live.spare[live.tally[SPARE]] = emptied
                    live.tally[SPARE] += 1
                return True
        chunk, held = live.entries[base + FULL], np.int64(FULL)
    return False


@inner
def empty(live: Live, first: Ids, count: Ids, v: Int) -> None:
    """Take everything out of the list of node v."""
    chunk = first[v]
    while chunk != NONE:
        live.spare[live.tally[SPARE]] = chunk
        live.tally[SPARE] += 1
        chunk = live.entries[chunk * CHUNK + FULL]
    first[v] = NONE
    count[v] = 0


@kernel
def list_out(live: Live, first: Ids, count: Ids, v: Int, out: Ids) -> Int:
    """Write the list of node v; return how long it is."""
    written = np.int64(0)
    chunk, held = first[v], filled(np.int64(count[v]))
    while chunk != NONE:
        base = chunk * CHUNK
        for i in range(base, base + held):
            out[written] = live.entries[i]
            written += 1
        chunk, held = live.entries[base + FULL], np.int64(FULL)
    return written
