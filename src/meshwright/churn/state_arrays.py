"""The arrays of a live overlay: made from an overlay, enlarged when they are full, and audited.

The audit computes again from the arrays everything that must hold. Its checks come in three stages. Each one
relies on the stages before it, so the audit stops at the first stage that finds a fault: lists in chunks that
are not sound cannot be read, and links that are not sound cannot be measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from meshwright import measure
from meshwright.arrays import Bits, Bytes, Ids, Offsets, aligned
from meshwright.churn.kernels.live_arrays import COUNTERS, NODES, TOP, LiveArrays, compact, link_all
from meshwright.dynamic.mutable_overlay import (
    CHANCE,
    CHUNK,
    FULL,
    LINKS,
    NONE,
    SPARE,
    allocate_chunks,
    chunks_for,
    fill_bits,
)
from meshwright.errors import first_five
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.churn.live_state import LiveState


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
    fill_bits(live.bits, live.holders, interest.node_ptr, interest.node_topics)
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


def audit(state: LiveState) -> tuple[str, ...]:
    """Return a line for each fault; empty if all is well."""
    stages = (_chunks,), (_links, _degrees), (_connected, _members, _backups, _working_memory)
    for checks in stages:
        faults = tuple(fault for check in checks for fault in check(state))
        if faults:
            return faults
    return ()


def _chunks(state: LiveState) -> Iterator[str]:
    """Check that every chunk is in one list or unused, and that each list has as many as its length takes."""
    live = state.arrays
    lists = {
        "neighbours": (live.near_first, live.degree),
        "backups": (live.backup_first, live.backup_count),
        "primaries": (live.primary_first, live.primary_count),
    }
    found = live.spare[: live.tally[SPARE]].tolist()
    for kind, (first, count) in lists.items():
        for v, chunk in enumerate(first.tolist()):
            chunks = _chain(live.entries, chunk)
            found += chunks
            if len(chunks) != -(-int(count[v]) // FULL):
                yield f"slot {v} has {count[v]} {kind} in {len(chunks)} chunks"
    if sorted(found) != list(range(len(live.spare))):
        yield "chunks of lists are lost or used twice"


def _chain(entries: Ids, chunk: int) -> list[int]:
    """Return the chunks of a list; the last one may not exist, or be there a second time."""
    chunks: list[int] = []
    while chunk != NONE:
        repeated = chunk in chunks
        chunks.append(chunk)
        if repeated or not 0 <= chunk < len(entries) // CHUNK:
            break
        chunk = int(entries[chunk * CHUNK + FULL])
    return chunks


def _links(state: LiveState) -> Iterator[str]:
    """Check that each link is in the lists of both its ends, once, and that these are two nodes."""
    near = [state.neighbours(v).tolist() for v in range(len(state.arrays.degree))]
    names = state.nodes.names
    for v, name in enumerate(names):
        if name is None and near[v]:
            yield f"slot {v} has links and no node"
        if v in near[v] or len(set(near[v])) < len(near[v]):
            yield f"{name!r} is linked with itself, or with another node twice"
        for u in near[v]:
            if not 0 <= u < len(names) or names[u] is None or v not in near[u]:
                yield f"the link of {name!r} to slot {u} is broken"
    if any(near[len(names) :]):
        yield "slots that were never used have links"


def _degrees(state: LiveState) -> Iterator[str]:
    """Check that the distribution of degrees, their maximum and the number of links follow from the links."""
    live = state.arrays
    degrees = np.array([len(state.neighbours(v)) for v in range(len(live.degree))], dtype=np.int64)
    if np.bincount(degrees, minlength=len(live.spread)).tolist() != live.spread.tolist():
        yield "the distribution of degrees is wrong"
    if live.tally[TOP] != degrees.max(initial=0):
        yield f"the maximum degree is {degrees.max(initial=0)}, not {live.tally[TOP]}"
    if 2 * live.tally[LINKS] != degrees.sum():
        yield f"there are {degrees.sum() // 2} links, not {live.tally[LINKS]}"


def _connected(state: LiveState) -> Iterator[str]:
    """Check that every topic is connected, by scipy's components over the links alone."""
    fragments = measure.components(state.overlay()).of_topic
    split = np.flatnonzero(fragments > 1)
    if len(split):
        names = state.snapshot()[0].topic_names.take(split).to_pylist()
        yield f"topics {first_five(names)} are split"


def _flags(state: LiveState) -> Bytes:
    """Return 1 for each slot and topic that it has, else 0."""
    flags: Bytes = np.unpackbits(state.arrays.bits.view(np.uint8), axis=1, bitorder="little")
    return flags[:, : len(state.arrays.column)]


def _members(state: LiveState) -> Iterator[str]:
    """Check that nodes, topics, counts and lists agree on who subscribes, and that only nodes have topics."""
    live, flags = state.arrays, _flags(state)
    holders = np.unpackbits(live.holders.view(np.uint8), axis=1, bitorder="little")[:, : len(flags)]
    if (flags != holders.T).any():
        yield "topics and nodes do not agree on who subscribes"
    wrong = np.flatnonzero(flags.sum(axis=0) != live.subscribers)
    if len(wrong):
        yield f"the numbers of subscribers of topics {first_five(wrong.tolist())} are wrong"
    for topic in range(len(live.column)):
        start = live.member_start[topic]
        listed = live.members[start : start + live.member_length[topic]]
        if not set(np.flatnonzero(flags[:, topic]).tolist()) <= set(listed.tolist()):
            yield f"the list of topic {topic} lacks a subscriber"
        if live.member_length[topic] > live.member_room[topic]:
            yield f"the list of topic {topic} is longer than its room"
    there = {v for v, name in enumerate(state.nodes.names) if name is not None}
    if not set(np.flatnonzero(flags.any(axis=1)).tolist()) <= there:
        yield "a slot without a node has topics"
    if not len(there) == len(state.nodes) == live.tally[NODES]:
        yield f"there are {len(there)} nodes, not {live.tally[NODES]}"


def _backups(state: LiveState) -> Iterator[str]:
    """Check that backups share a topic and cover each λ times, or as often as possible, and the primaries."""
    flags, names = _flags(state).astype(np.int64), state.nodes.names
    # A node cannot be its own backup.
    enough = np.minimum(state.rule.coverage, flags.sum(axis=0) - 1)
    there = [v for v, name in enumerate(names) if name is not None]
    primaries: dict[int, list[int]] = {v: [] for v in there}
    for v in there:
        backups = state.backups(v).tolist()
        if v in backups or len(set(backups)) < len(backups) or not set(backups) <= primaries.keys():
            yield f"{names[v]!r} has itself, a node twice, or an empty slot as a backup"
            continue
        for w in backups:
            primaries[w].append(v)
        if not (flags[backups] & flags[v]).any(axis=1).all():
            yield f"{names[v]!r} has a backup with which it shares no topic"
        short = np.flatnonzero((flags[v] > 0) & (flags[backups].sum(axis=0) < enough))
        # By the letter of the paper newcomers are nobody's backups, so that new topics may lack some.
        if len(short) and state.rule.newcomers:
            yield f"the backups of {names[v]!r} have topics {first_five(short.tolist())} too few times"
    wrong = [names[v] for v in there if sorted(state.primaries(v).tolist()) != primaries[v]]
    if wrong:
        yield f"the primaries of {first_five(wrong)} are not the nodes that they are a backup of"


def _working_memory(state: LiveState) -> Iterator[str]:
    """Check that all working memory is blank, as it must be between changes."""
    live = state.arrays
    blank = (live.mark + 1, live.row + 1, live.column + 1, live.paid, state.groups.mark + 1)
    if any(array.any() for array in blank):
        yield "working memory is not blank"
