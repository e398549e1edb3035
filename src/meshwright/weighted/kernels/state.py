"""What the kernels of weighted growth work on, beside the engine's state: plain arrays in named tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from meshwright.interest import Ids, Offsets

    Floats: TypeAlias = NDArray[np.float64]

SIZE, PLACE, COUNT, PHASE = 0, 1, 2, 3
"""The fields of `Rows.cursor`."""


class Costs(NamedTuple):
    """What links cost: by a table of pairs u < v, in order, or else by the places of the nodes."""

    ptr: Offsets
    """By node u: where its partners v > u begin in `partners`."""
    partners: Ids
    cost: Floats
    """By partner: what the pair costs."""
    x: Floats
    """By node: its place; empty where a table counts."""
    y: Floats
    least: float
    """No two places are nearer than this."""


class Rows(NamedTuple):
    """For each node u what is known of its pairs (u, v), u < v: of all, or of those that spare the degree.

    The window of a row holds its best pairs, by value and then by node. What it says of a pair's value is an
    upper bound: what was true when it was last looked at.
    """

    bound: Floats
    """By row: no pair is worth more."""
    outside: Floats
    """By row: no pair outside the window is worth more."""
    outside_node: Ids
    """By row: no pair outside the window that is worth as much has a smaller node."""
    length: Ids
    node: Ids
    """By row and entry of its window."""
    cost: Floats
    value: Floats
    taken: Ids
    """By row: the phase in which its window was taken over from all pairs."""
    heap: Ids
    """The rows that may have a pair left, by bound, then by number: the one at i before 2i + 1 and 2i + 2."""
    cursor: Offsets
    """How many rows are in the heap; the best pair's place in its window; its contribution; the phase."""


class Scratch(NamedTuple):
    """Working memory."""

    counts: Ids
    """By node: zero between calls."""
    found: Ids
