"""Random numbers for kernels: Marsaglia's 64-bit xorshift, one state per stream, never zero.

It uses shifts only, so it gives the same numbers with the compiler off, where numpy warns about products that
overflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import ONE
from meshwright.jit.compiler import inlined

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Int

SEVEN, THIRTEEN, SEVENTEEN = np.uint64(7), np.uint64(13), np.uint64(17)
TWO, FOUR, EIGHT, SIXTEEN, THIRTY_TWO = np.uint64(2), np.uint64(4), np.uint64(8), np.uint64(16), np.uint64(32)


@inlined
def below(stream: Bits, i: Int, count: Int) -> Int:
    """Draw an integer from 0 to count − 1, each equally likely, from the stream at place i."""
    # Rejection sampling: draw as many bits as count − 1 has, until the number is below `count`. The mask has
    # all bits up to the highest one of count − 1.
    mask = np.uint64(count - 1)
    for shift in (ONE, TWO, FOUR, EIGHT, SIXTEEN, THIRTY_TWO):
        mask |= mask >> shift
    while True:
        state = stream[i]
        state ^= state << THIRTEEN
        state ^= state >> SEVEN
        state ^= state << SEVENTEEN
        stream[i] = state
        if (state & mask) < np.uint64(count):
            return np.int64(state & mask)
