"""The rows that may have a pair left, by the bound of their best value; the smallest of equals first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import inlined, inner
from meshwright.weighted.kernels.state import SIZE

if TYPE_CHECKING:
    from meshwright.greedy.kernels.state import Int
    from meshwright.weighted.kernels.state import Rows


@inlined
def leads(rows: Rows, a: Int, b: Int) -> bool:
    """Say whether row a comes before row b."""
    return bool(rows.bound[a] > rows.bound[b] or (rows.bound[a] == rows.bound[b] and a < b))


@inner
def settle(rows: Rows, at: Int) -> None:
    """Let the row at a place of the heap sink to where it belongs: its bound may have fallen."""
    heap, size = rows.heap, rows.cursor[SIZE]
    row = heap[at]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and leads(rows, heap[below + 1], heap[below]):
            below += 1
        if not leads(rows, heap[below], row):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = row


@inlined
def drop_first(rows: Rows) -> None:
    """Take the first row out of the heap."""
    size = rows.cursor[SIZE] - 1
    rows.cursor[SIZE] = size
    rows.heap[0] = rows.heap[size]
    if size > 1:
        settle(rows, np.int64(0))


@inlined
def order(rows: Rows) -> None:
    """Make a heap of rows that are in it in any order."""
    for at in range(rows.cursor[SIZE] // 2 - 1, -1, -1):
        settle(rows, np.int64(at))
