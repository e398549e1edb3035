"""All that must hold of a live overlay, recomputed from nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright import measure
from meshwright.churn.kernels.state import LINKS, NODES, SPARE, TOP
from meshwright.dynamic.link_lists import CHUNK, FULL
from meshwright.errors import first_five

if TYPE_CHECKING:
    from collections.abc import Iterator

    from meshwright.churn.state import Body


def audit(body: Body) -> tuple[str, ...]:
    """Return what is not as it must be, a line for each kind."""
    # Where the lists of links are not sound, nothing can be measured on them.
    broken = tuple(fault for check in (_links, _degrees) for fault in check(body))
    return broken or tuple(
        fault for check in (_connected, _members, _backups, _chunks, _at_rest) for fault in check(body)
    )


def _connected(body: Body) -> Iterator[str]:
    """Every topic is in one piece, by scipy's components over the links alone."""
    pieces = measure.components(body.overlay()).of_topic
    split = np.flatnonzero(pieces > 1)
    if len(split):
        names = body.snapshot()[0].topic_names.take(split).to_pylist()
        yield f"topics {first_five(names)} are split"


def _degrees(body: Body) -> Iterator[str]:
    """Degrees, their distribution and their maximum are those of the links."""
    live = body.live
    found = np.array([len(body.neighbours(v)) for v in range(len(live.degree))], dtype=np.int64)
    if np.bincount(found, minlength=len(live.spread)).tolist() != live.spread.tolist():
        yield "the distribution of degrees is wrong"
    if live.tally[TOP] != found.max(initial=0):
        yield f"the maximum degree is {found.max(initial=0)}, not {live.tally[TOP]}"
    if 2 * live.tally[LINKS] != found.sum():
        yield f"there are {found.sum() // 2} links, not {live.tally[LINKS]}"


def _links(body: Body) -> Iterator[str]:
    """Links are known at both ends, once each, and lead from a node that is there to another."""
    near = [body.neighbours(v).tolist() for v in range(len(body.live.degree))]
    for v, name in enumerate(body.nodes.of):
        if name is None and near[v]:
            yield f"slot {v} has links and no node"
        if v in near[v] or len(set(near[v])) < len(near[v]):
            yield f"{name!r} is linked with itself, or with another twice"
        for u in near[v]:
            if v not in near[u] or body.nodes.of[u] is None:
                yield f"the link of {name!r} to slot {u} is broken"
    if any(near[len(body.nodes.of) :]):
        yield "slots that were never used have links"


def _members(body: Body) -> Iterator[str]:
    """Each topic knows how many subscribe to it, and its list holds them all; only nodes have topics."""
    live = body.live
    flags = np.unpackbits(live.bits.view(np.uint8), axis=1, bitorder="little")[:, : len(live.column)]
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
    there = np.array([name is not None for name in body.nodes.of], dtype=bool)
    holding = np.flatnonzero(flags.any(axis=1))
    if not set(holding.tolist()) <= set(np.flatnonzero(there).tolist()):
        yield "a slot without a node has topics"
    if there.sum() != len(body.nodes) or len(body.nodes) != live.tally[NODES]:
        yield f"there are {there.sum()} nodes, not {live.tally[NODES]}"


def _backups(body: Body) -> Iterator[str]:
    """Backups have a topic in common, cover each λ times or as often as can be; primaries are the inverse."""
    flags = np.unpackbits(body.live.bits.view(np.uint8), axis=1, bitorder="little").astype(np.int64)
    held = flags.sum(axis=0)
    there = [v for v, name in enumerate(body.nodes.of) if name is not None]
    inverse: dict[int, list[int]] = {v: [] for v in there}
    for v in there:
        name, backups = body.nodes.of[v], body.backups(v)
        if (
            v in backups
            or len(np.unique(backups)) < len(backups)
            or not set(backups.tolist()) <= inverse.keys()
        ):
            yield f"{name!r} has itself, another twice, or nobody, as a backup"
            continue
        for w in backups.tolist():
            inverse[w].append(v)
        if not (flags[backups] & flags[v]).any(axis=1).all():
            yield f"{name!r} has a backup with which it shares no topic"
        enough = np.minimum(body.rule.coverage, held - 1)
        short = np.flatnonzero((flags[v] > 0) & (flags[backups].sum(axis=0) < enough))
        if len(short):
            yield f"the backups of {name!r} have topics {first_five(short.tolist())} too few times"
    wrong = [body.nodes.of[v] for v in there if sorted(body.primaries(v).tolist()) != inverse[v]]
    if wrong:
        yield f"the primaries of {first_five(wrong)} are not those whose backup they are"


def _chunks(body: Body) -> Iterator[str]:
    """Every chunk of lists is in one list, or unused; lists have as many as their length takes."""
    live = body.live
    found = live.spare[: live.tally[SPARE]].tolist()
    kinds = {
        "neighbours": (live.near_first, live.degree),
        "backups": (live.backup_first, live.backup_count),
        "primaries": (live.primary_first, live.primary_count),
    }
    for kind, (first, count) in kinds.items():
        for v, chunk in enumerate(first.tolist()):
            chunks = [chunk]
            while chunks[-1] != -1:
                chunks.append(int(live.entries[chunks[-1] * CHUNK + FULL]))
            found += chunks[:-1]
            if len(chunks) - 1 != -(-int(count[v]) // FULL):
                yield f"slot {v} has {count[v]} {kind} in {len(chunks) - 1} chunks"
    if sorted(found) != list(range(len(live.spare))):
        yield "chunks of lists are lost or used twice"


def _at_rest(body: Body) -> Iterator[str]:
    """Between changes nothing is known of components but that each topic is one: working memory is blank."""
    live = body.live
    blank = (live.mark + 1, live.row + 1, live.column + 1, live.paid, body.groups.mark + 1)
    if any(array.any() for array in blank):
        yield "working memory is not blank"
