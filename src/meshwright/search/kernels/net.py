"""The overlay that the search improves: an interest that stays, and links that change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Ids, Offsets


class Net(NamedTuple):
    """A `MutableOverlay` whose interest is also there as lists, each of them ascending."""

    node_ptr: Offsets
    """By node: where its topics begin in `node_topics`, and one more for the end of the last."""
    node_topics: Ids
    """The topics of node 0, of node 1, and so on."""
    topic_ptr: Offsets
    """By topic: where its subscribers begin in `topic_nodes`, and one more for the end of the last."""
    topic_nodes: Ids
    """The subscribers of topic 0, of topic 1, and so on."""
    bits: Bits
    """By node: its topics, one bit each."""
    holders: Bits
    """By topic: its subscribers, one bit each."""
    near_first: Ids
    """By node: the first chunk of its neighbours."""
    degree: Ids
    """By node: the number of its neighbours."""
    entries: Ids
    """The chunks of the lists of neighbours."""
    spare: Ids
    """A stack of unused chunks."""
    tally: Offsets
    """Counters: links, unused chunks, and the state of the random numbers."""
