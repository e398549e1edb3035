"""What the engine's kernels work on: plain arrays in named tuples.

Loop indices over bit rows are uint64 throughout: signed ones stop vectorisation. Constants are handed to
other kernels as np.int64: for a bare literal numba would compile the callee once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from meshwright.arrays import Bits, Bytes, Ids, Offsets

    Ranks: TypeAlias = NDArray[np.uint16]
    Rows: TypeAlias = NDArray[np.uint32]

FOUND, EXHAUSTED, PAUSED, FULL, BROKEN = 0, 1, 2, 3, 4
"""How a sweep or a run may end."""
LEVEL, ROW, INDEX, NODE = 0, 1, 2, 3
"""The fields of a sweep's cursor."""
FRESH = -1
"""A cursor's index before its row has been visited."""
EDGES, TOP_DEGREE, FREE_ROWS, MERGES, WORK = 0, 1, 2, 3, 4
"""The fields of `State.tally`."""


class State(NamedTuple):
    """The interest, and for each topic the components of its subscribers, as edges are added.

    A *slot* is a position in `topic_nodes`, an *entry* one in `node_topics`; each subscription has one of
    both. A component is named by the slot of one of its members, and its members form a circular list.
    """

    node_ptr: Offsets
    node_topics: Ids
    topic_ptr: Offsets
    topic_nodes: Ids
    node_label: Ids
    """By entry: the component."""
    node_row: Ids
    """By entry: the bit row to sum for it, its topic's or that of "topic minus component"; −1 if light.

    The empty row 0 once its topic is connected.
    """
    entry: Ids
    """By slot: the entry of the same subscription."""
    following: Ids
    """By slot: the next member of the component."""
    size: Ids
    """By component: how many members."""
    components: Ids
    """By topic: how many components."""
    giant: Ids
    """By topic: the component that `node_bits` calls its giant, or −1."""
    giant_size: int
    """The size from which a component may be its topic's giant."""
    covered: int
    """The topics below this one have a bit in `node_bits`."""
    node_bits: Bits
    """By node, as bits: its topics; those in whose giant it is; those where it is alone."""
    rank: Ranks
    """By node and word of its topics: how many of them come before; last, how many have a bit."""
    bits: Bits
    """Bit rows over nodes; row 0 is empty."""
    topic_row: Ids
    """By topic: the bit row of its subscribers, or −1 for a light topic."""
    free_rows: Ids
    """A stack of unused bit rows."""
    large: Ids
    """By topic: the size from which a component owns a bit row."""
    noted: Ids
    """Working memory: by topic, the entry of a node that was linked."""
    pairs: Bytes
    """By pair (u, v), u < v, row after row: what the light topics contribute. Or empty."""
    pair_begin: Bits
    """By node u: where the pair (u, 0) would be in `pairs`."""
    limit: Ids
    """By node u: no pair (u, v), u < v, contributes more, whichever nodes are open."""
    degree: Ids
    max_degree: int
    allowed_nodes: Bits
    """The nodes that may be linked at all."""
    barred_ptr: Offsets
    """By node u: where its barred partners v > u begin in `barred`."""
    barred: Ids
    tally: Offsets


class Sweep(NamedTuple):
    """One descent through the levels: over all pairs, or over those that spare the maximum degree.

    No pair of row u contributes more than `bound[u]`; pairs outside its window contribute less than
    `threshold[u]`. Window entries are in order of their node, and their counts are upper bounds.
    """

    bound: Ids
    threshold: Ids
    built: Ids
    """By row: the level at which its window was last rebuilt."""
    window_ptr: Offsets
    length: Ids
    window_node: Ids
    window_count: Ids
    open_nodes: Bits
    """The nodes that may take an edge in this sweep."""
    cursor: Offsets
    fixed: bool
    """Whether the windows hold all candidates and are never rebuilt."""
    calm: bool
    """Whether it is the sweep over pairs that spare the maximum degree."""


class Scratch(NamedTuple):
    """Working memory of one thread."""

    slices: Bits
    """Bit-sliced counters over nodes: bit v of slice k has the value 2^k."""
    mask: Bits
    above: Bits
    allowed: Bits
    rows: Rows
    marked: Ids
    """Nodes on their way into a window."""
