"""The one state that every picker works on: plain arrays in named tuples, each field documented.

`State` holds the interest and the components of every topic; `components` has the operations on it. A picker
adds its own arrays: the level sweep a `Sweep` and a `Scratch`, weighted growth its `ValueRows`, price-greedy
its `PricedPairs`, the resilient design its `Blocks`, random links their `OpenPairs`. All pickers write their
links to `Links` and return by the same codes to the same driver.

Two rules hold in all kernels. Loop indices over bit rows are uint64, because signed ones stop vectorisation.
Constants go to other kernels as np.int64, because numba compiles the callee once more for a bare literal.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Bits, Bytes, Ids, Offsets

Ranks: TypeAlias = NDArray[np.uint16]
Rows: TypeAlias = NDArray[np.uint32]

FOUND, EXHAUSTED, PAUSED, FULL, BROKEN = 0, 1, 2, 3, 4
"""How a picker's kernel returns.

FOUND: the next pair is known. EXHAUSTED: no pair is left, or a budget is used up. PAUSED: the work of this
stride is done. FULL: the result columns have no room. BROKEN: a contribution is not what was promised, which
is a bug.
"""
EDGES, TOP_DEGREE, FREE_ROWS, MERGES, WORK, HOLDING, HELD = 0, 1, 2, 3, 4, 5, 6
"""The fields of `State.tally`: links added; the maximum degree; unused bit rows; merges done; work done;
whether components that become large must wait for their bit rows; how many of them do.

Work is counted in words of a bit row, about a nanosecond each, by all pickers.
"""
LEVEL, ROW, INDEX, NODE, STOP = 0, 1, 2, 3, 4
"""The fields of `Sweep.cursor`: the level, the row u, the place in its window, the node v found there, and
the row at which to pause."""
NO_STOP = 2**31
"""The cursor's STOP where no row makes it pause."""
FRESH = -1
"""The cursor's INDEX before its row has been visited."""
A_SUBSCRIBER = 6
"""The work of counting one subscriber of a topic where a row is counted subscriber by subscriber."""


class State(NamedTuple):
    """The interest, and for each topic the components of its subscribers, as links are added.

    A *slot* is a position in `topic_nodes`, an *entry* one in `node_topics`; each subscription has one of
    each. A component is named by the slot of one of its members, and its members form a circular list.
    """

    node_ptr: Offsets
    """By node: where its entries begin; one more at the end."""
    node_topics: Ids
    """By entry: the topic; ascending for each node."""
    topic_ptr: Offsets
    """By topic: where its slots begin; one more at the end."""
    topic_nodes: Ids
    """By slot: the node; ascending for each topic."""
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
    """By topic: the component that `node_bits` and `outside` call its giant, or −1."""
    giant_size: int
    """The size from which a component may be its topic's giant."""
    covered: int
    """The topics below this one have a bit in `node_bits`."""
    node_bits: Bits
    """By node, as bits over topics: its topics; those in whose giant it is; those where it is alone."""
    rank: Ranks
    """By node and word of its topics: how many of them come before; last, how many have a bit."""
    bits: Bits
    """Bit rows over nodes; row 0 is empty."""
    topic_row: Ids
    """By topic: the bit row of its subscribers, or −1 for a light topic."""
    free_rows: Ids
    """A stack of unused bit rows; `tally[FREE_ROWS]` is its height."""
    held: Ids
    """Components that wait for a bit row; `tally[HELD]` is how many. What has no room here gets none."""
    large: Ids
    """By topic: the size from which a component owns a bit row."""
    outside: Ids
    """By node: in how many of its topics it is not in the giant. Empty if not counted."""
    noted: Ids
    """Working memory: by topic, the entry of a node that is being linked."""
    pairs: Bytes
    """By pair (u, v), u < v, row after row: how many light topics it would merge. Empty if not counted."""
    pair_begin: Bits
    """By node u: where the pair (u, 0) would be in `pairs`."""
    limit: Ids
    """By node u: no pair (u, v), u < v, contributes more, whichever nodes are open."""
    degree: Ids
    """By node: how many links it has."""
    max_degree: int
    """The budget: a node with this many links takes no more."""
    allowed_nodes: Bits
    """The nodes that may be linked, as a bit row: at all or, on the index path, as long as they are open."""
    barred_ptr: Offsets
    """By node u: where its barred partners v > u begin in `barred`; one more at the end."""
    barred: Ids
    """The partners that may not be linked, ascending for each node."""
    tally: Offsets
    """Counters: EDGES, TOP_DEGREE, FREE_ROWS, MERGES, WORK, HOLDING, HELD."""


class Links(NamedTuple):
    """The result columns, one row for each link, in the order the links are added."""

    u: Ids
    """The smaller end."""
    v: Ids
    """The larger end."""
    contribution: Ids
    """How many topics the link merged."""


class Goal(NamedTuple):
    """When a picker's kernel must return to the driver."""

    max_edges: int
    """The budget: EXHAUSTED with this many links."""
    work: int
    """PAUSED when `tally[WORK]` exceeds this."""


class Sweep(NamedTuple):
    """One descent through the levels: over all pairs, or over those that spare the maximum degree.

    Invariant: no pair of row u contributes more than `bound[u]`, and pairs outside its window contribute less
    than `threshold[u]`. Window entries are in order of their node, and their counts are upper bounds.
    """

    bound: Ids
    """By row: no pair contributes more."""
    threshold: Ids
    """By row: pairs outside the window contribute less."""
    built: Ids
    """By row: the level at which its window was last rebuilt, or 0."""
    window_ptr: Offsets
    """By row: where its window begins in `window_node` and `window_count`; one more at the end."""
    length: Ids
    """By row: how many entries its window has."""
    window_node: Ids
    """By window entry: v."""
    window_count: Ids
    """By window entry: (u, v) contributes no more than this."""
    open_nodes: Bits
    """The nodes that may take a link in this sweep, as a bit row."""
    cursor: Offsets
    """Where the descent is: LEVEL, ROW, INDEX, NODE; and STOP."""
    fixed: bool
    """Whether the windows hold all candidates and are never rebuilt."""
    sparing: bool
    """Whether it is the sweep over the pairs that spare the maximum degree."""


class Scratch(NamedTuple):
    """Working memory of one thread that rebuilds rows."""

    slices: Bits
    """Bit-sliced counters over nodes: bit v of slice k has the value 2^k."""
    mask: Bits
    """The nodes that a selection still considers."""
    above: Bits
    """The nodes that a selection has chosen."""
    allowed: Bits
    """The nodes that the row may be linked to."""
    rows: Rows
    """The bit rows to sum, as numbers; at least eight empty ones after the last."""
    marked: Ids
    """Nodes on their way into a window."""
