"""The arrays of a live overlay: made from an overlay, and enlarged when they are full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.arrays import aligned, frozen
from meshwright.churn.kernels.live_arrays import COUNTERS, NODES, LiveArrays, compact, link_all
from meshwright.dynamic.link_lists import allocate_chunks, chunks_for
from meshwright.dynamic.mutable_overlay import CHANCE, SPARE, fill_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Bits, Ids, Offsets
    from meshwright.overlay import Overlay

WORD = 64
BY_NODE = {
    "bits": 0, "near_first": -1, "degree": 0, "backup_first": -1, "backup_count": 0,
    "primary_first": -1, "primary_count": 0, "mark": -1, "paid": 0, "row": -1,
}  # fmt: skip
"""The arrays with an entry for each slot, and its value in an unused slot."""
BY_TOPIC = {
    "holders": 0, "subscribers": 0, "member_start": 0, "member_room": 0, "member_length": 0, "column": -1,
}  # fmt: skip
"""The arrays with an entry for each topic, and its value for an unused number."""


def allocate(overlay: Overlay, seed: int) -> LiveArrays:
    """Return the arrays of an overlay, without backups."""
    interest = overlay.interest
    nodes, topics = interest.num_nodes, interest.num_topics
    live = with_topics(with_nodes(_no_arrays(topics), nodes), topics)
    live = with_links(live, len(overlay), nodes)
    live.tally[CHANCE], live.tally[NODES] = seed, nodes
    node_ptr, node_topics = frozen(interest.node_ptr, np.int64), frozen(interest.node_topics, np.int32)
    fill_bits(live.bits, live.holders, node_ptr, node_topics)
    live.subscribers[:topics] = np.diff(interest.topic_ptr)
    live = _with_lists(live, interest.topic_nodes)
    link_all(live, np.array(overlay.u), np.array(overlay.v))
    return live


def _no_arrays(topics: int) -> LiveArrays:
    """Return arrays without nodes and links, whose rows of bits are wide enough for some topics."""
    ids, offsets = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    arrays: dict[str, Any] = dict.fromkeys(LiveArrays._fields, ids)
    arrays["bits"] = np.zeros((0, max(1, -(-topics // WORD))), dtype=np.uint64)
    arrays["holders"] = np.zeros((0, 1), dtype=np.uint64)
    arrays["member_start"], arrays["tally"] = offsets, np.zeros(COUNTERS, dtype=np.int64)
    return LiveArrays(**arrays)


def with_nodes(live: LiveArrays, wanted: int) -> LiveArrays:
    """Return arrays with at least `wanted` slots."""
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


def with_topics(live: LiveArrays, wanted: int) -> LiveArrays:
    """Return arrays with at least `wanted` topics."""
    if wanted <= len(live.column):
        return live
    words = live.bits.shape[1]
    if wanted > WORD * words:
        words = -(-(wanted + wanted // 16) // WORD)
    arrays: dict[str, Any] = {
        name: _longer(getattr(live, name), WORD * words, blank) for name, blank in BY_TOPIC.items()
    }
    return live._replace(bits=_wider(live.bits, words), **arrays)


def with_links(live: LiveArrays, links: int, nodes: int) -> LiveArrays:
    """Return arrays with room for `links` more links of `nodes` nodes."""
    return with_chunks(live, int(chunks_for(links, nodes)))


def with_chunks(live: LiveArrays, wanted: int) -> LiveArrays:
    """Return arrays with at least `wanted` unused chunks of lists."""
    spare, room = int(live.tally[SPARE]), len(live.spare)
    if wanted <= spare:
        return live
    more = wanted - spare + room // 16 + 64
    unused = _longer(live.spare[:spare], room + more, -1)
    unused[spare : spare + more] = np.arange(room + more - 1, room - 1, -1)
    live.tally[SPARE] = spare + more
    entries = allocate_chunks(room + more)
    entries[: len(live.entries)] = live.entries
    return live._replace(spare=unused, entries=entries)


def with_members(live: LiveArrays) -> LiveArrays:
    """Return arrays in which the list of every topic has room for more subscribers."""
    for topic in range(len(live.column)):
        compact(live, topic)
    # Compacted, a list is as long as the topic has subscribers.
    return _with_lists(live, live.members[_places(live.member_start, live.subscribers)])


def _with_lists(live: LiveArrays, members: Ids) -> LiveArrays:
    """Return arrays with new lists of subscribers, given those of topic 0, of topic 1, and so on."""
    lengths = live.subscribers.astype(np.int64)
    rooms = lengths + lengths // 8 + 8
    starts = np.cumsum(rooms) - rooms
    lists = np.full(int(rooms.sum()), -1, dtype=np.int32)
    lists[_places(starts, lengths)] = members
    return live._replace(
        members=lists,
        member_start=starts,
        member_room=rooms.astype(np.int32),
        member_length=lengths.astype(np.int32),
    )


def _places(starts: Offsets, lengths: NDArray[np.integer]) -> Offsets:
    """Return the places of all entries of lists that begin at `starts`.

    >>> _places(np.array([0, 10]), np.array([2, 3])).tolist()
    [0, 1, 10, 11, 12]
    """
    lengths = lengths.astype(np.int64)
    before = np.cumsum(lengths) - lengths
    places: Offsets = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
    return places


def _longer(array: NDArray[Any], length: int, blank: int) -> NDArray[Any]:
    """Return an array, or rows of bits, with `length` entries, the new ones blank."""
    if array.ndim == 2:
        more: NDArray[Any] = aligned(length, array.shape[1])
    else:
        more = np.full(length, blank, dtype=array.dtype)
    more[: len(array)] = array
    return more


def _wider(bits: Bits, words: int) -> Bits:
    """Return rows of bits with at least `words` words each."""
    if words <= bits.shape[1]:
        return bits
    more = aligned(len(bits), words)
    more[:, : bits.shape[1]] = bits
    return more
