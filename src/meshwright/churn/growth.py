"""The arrays of a live overlay: made from an overlay, and made larger when they are full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.arrays import aligned
from meshwright.churn.kernels.state import CHANCE, NODES, SPARE, Live, compact, link_all
from meshwright.dynamic.fragments import Groups
from meshwright.dynamic.link_lists import chunk_room, chunks_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.dynamic.net import Bits
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay

WORD = 64
BY_NODE = {
    "bits": 0, "near_first": -1, "degree": 0, "backup_first": -1, "backup_count": 0,
    "primary_first": -1, "primary_count": 0, "mark": -1, "paid": 0, "row": -1,
}  # fmt: skip
"""The arrays with an entry for each slot, and what it is in a slot that nobody uses."""
BY_TOPIC = {
    "holders": 0,
    "subscribers": 0,
    "member_start": 0,
    "member_room": 0,
    "member_length": 0,
    "column": -1,
}


def lay_out(overlay: Overlay, seed: int) -> Live:
    """Make the state of an overlay, without backups."""
    interest = overlay.interest
    nodes, topics = interest.num_nodes, interest.num_topics
    tally = np.zeros(7, dtype=np.int64)
    tally[CHANCE], tally[NODES] = seed, nodes
    words = max(1, -(-topics // WORD))
    live = Live(
        bits=np.zeros((0, words), dtype=np.uint64), holders=np.zeros((0, 1), dtype=np.uint64),
        near_first=_ids(0), degree=_ids(0), tally=tally, spread=_ids(0), subscribers=_ids(0),
        member_start=np.zeros(0, dtype=np.int64), member_room=_ids(0), member_length=_ids(0), members=_ids(0),
        entries=_ids(0), spare=_ids(0), backup_first=_ids(0), backup_count=_ids(0), primary_first=_ids(0),
        primary_count=_ids(0), mark=_ids(0), paid=_ids(0), row=_ids(0), column=_ids(0),
    )  # fmt: skip
    live = with_links(with_topics(with_nodes(live, nodes), topics), len(overlay), nodes)
    _fill(live, interest)
    live = with_members(live)
    link_all(live, np.array(overlay.u), np.array(overlay.v))
    return live


def _fill(live: Live, interest: Interest) -> None:
    topic = interest.node_topics.astype(np.uint64)
    bit = np.uint64(1) << (topic & np.uint64(63))
    np.bitwise_or.at(live.bits, (interest.node_of_slot, topic >> np.uint64(6)), bit)
    node = interest.node_of_slot.astype(np.uint64)
    bit = np.uint64(1) << (node & np.uint64(63))
    np.bitwise_or.at(live.holders, (interest.node_topics, node >> np.uint64(6)), bit)
    live.subscribers[: interest.num_topics] = np.diff(interest.topic_ptr)


def with_nodes(live: Live, wanted: int) -> Live:
    """Return a state with at least so many slots."""
    slots = len(live.degree)
    if wanted <= slots:
        return live
    more = wanted + wanted // 16 + 16
    arrays: dict[str, Any] = {
        name: _longer(getattr(live, name), more, blank) for name, blank in BY_NODE.items()
    }
    arrays["holders"] = _wider(live.holders, -(-more // WORD))
    arrays["spread"] = _longer(live.spread, more + 1, 0)
    arrays["spread"][0] += more - slots
    return live._replace(**arrays)


def with_topics(live: Live, wanted: int) -> Live:
    """Return a state with at least so many topics."""
    if wanted <= len(live.column):
        return live
    words = live.bits.shape[1]
    if wanted > WORD * words:
        words = -(-(wanted + wanted // 16) // WORD)
    arrays: dict[str, Any] = {
        name: _longer(getattr(live, name), WORD * words, blank) for name, blank in BY_TOPIC.items()
    }
    return live._replace(bits=_wider(live.bits, words), **arrays)


def with_links(live: Live, links: int, nodes: int) -> Live:
    """Return a state with room for so many more links of so many nodes."""
    return with_chunks(live, int(chunks_for(links, nodes)))


def with_chunks(live: Live, unused: int) -> Live:
    """Return a state with room for so many more chunks of lists."""
    spare, room = int(live.tally[SPARE]), len(live.spare)
    if unused <= spare:
        return live
    more = unused - spare + room // 16 + 64
    chunks = _longer(live.spare[:spare], room + more, -1)
    chunks[spare : spare + more] = np.arange(room + more - 1, room - 1, -1)
    live.tally[SPARE] = spare + more
    entries = chunk_room(room + more)
    entries[: len(live.entries)] = live.entries
    return live._replace(spare=chunks, entries=entries)


def with_members(live: Live) -> Live:
    """Return a state in which the list of every topic has room for more subscribers."""
    first = not len(live.members)
    lengths = live.subscribers.astype(np.int64)
    rooms = lengths + lengths // 8 + 8
    starts = np.cumsum(rooms) - rooms
    members = np.full(int(rooms.sum()), -1, dtype=np.int32)
    places = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    if first:
        members[places] = _subscribers(live)
    else:
        for topic in range(len(live.column)):
            compact(live, topic)
        olds = live.member_start
        old = np.repeat(olds - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
        members[places] = live.members[old]
    return live._replace(
        members=members,
        member_start=starts,
        member_room=rooms.astype(np.int32),
        member_length=lengths.astype(np.int32),
    )


def _subscribers(live: Live) -> Ids:
    """List the subscribers of topic 0, then of topic 1, and so on, from the bits."""
    listed = [_ids(0)]
    for place in range(live.bits.shape[1]):
        for bit in range(WORD):
            has = (live.bits[:, place] >> np.uint64(bit)) & np.uint64(1)
            listed.append(np.flatnonzero(has).astype(np.int32))
    return np.concatenate(listed)


def lay_out_groups(slots: int) -> Groups:
    """Return the working memory of searches over so many slots."""
    return Groups(
        mark=np.full(slots, -1, dtype=np.int32), queued=_ids(slots), seen=_ids(slots),
        parent=_ids(slots), first=_ids(slots), last=_ids(slots), size=_ids(slots),
    )  # fmt: skip


def _longer(array: NDArray[Any], length: int, blank: int) -> NDArray[Any]:
    if array.ndim == 2:
        more: NDArray[Any] = aligned(length, array.shape[1])
    else:
        more = np.full(length, blank, dtype=array.dtype)
    more[: len(array)] = array
    return more


def _wider(bits: Bits, words: int) -> Bits:
    """Return rows of bits with at least so many words each."""
    if words <= bits.shape[1]:
        return bits
    more = aligned(len(bits), words)
    more[:, : bits.shape[1]] = bits
    return more


def _ids(size: int) -> Ids:
    return np.zeros(size, dtype=np.int32)
