"""The loads of all pairs, row by row: in floating point to find tight pairs, in integers to certify.

The load of a pair is the sum, over the topics that both subscribe to, of the larger of their two prices. Row
u holds the loads of all pairs (u, v) with v > u: each topic of u adds to it for the subscribers that come
after u in the topic's list. Invariant: between rows `Scratch.load` is 0 and `Scratch.mark` is −1 everywhere.
Cost: one addition for each pair of subscribers of each topic, and a look at every later node for each row.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, Int, Offsets
from meshwright.bounds.prices import SCALE
from meshwright.jit.compiler import inlined, inner, kernel

Floats: TypeAlias = NDArray[np.float32]
Whole: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

NONE = -1
ONE = np.float32(1)
NOTHING = np.float32(0)
NO_LOAD = np.int64(0)
HUGE = np.int64(2**61)
"""Where a sum of excess stops growing, so that it cannot overflow."""


class Relation(NamedTuple):
    """The interest by node and by topic.

    A *slot* is a position in `node_topics`, a *place* one in `topic_nodes`; each subscription has one of
    each. Subscribers of a topic ascend.
    """

    node_ptr: Offsets
    """By node: its first slot."""
    node_topics: Ids
    """By slot: the topic."""
    topic_ptr: Offsets
    """By topic: its first place."""
    topic_nodes: Ids
    """By place: the subscriber."""
    place: Ids
    """By slot: the place of the same subscription."""


class Scratch(NamedTuple):
    """The working memory of one thread."""

    load: Any
    """By node v: the load of the pair (u, v) of the current row, in floats or integers."""
    mark: Ids
    """By topic: the slot of u's subscription to it, or −1."""


class ScanRoom(NamedTuple):
    """Where a scan writes what it finds."""

    excess: NDArray[np.float64]
    """By row: what its pairs carry beyond 1, in all."""
    heaviest: Floats
    """By place: the largest load beyond 1 of a pair that counts it; only ever rises."""
    u: Ids
    """The lower ends of the pairs kept, as far as there is room."""
    v: Ids
    """Their upper ends."""
    load: Floats
    """What they carry."""


class WeighRoom(NamedTuple):
    """Where exact weighing writes what bounds each price. Both only ever rise."""

    heaviest: Whole
    """By place: the largest load, of those up to the ceiling, of a pair that counts it."""
    paying: Flags
    """By place: whether it is the larger price, or an equal one, in a pair that carries more."""


@inner
def mark_topics(relation: Relation, u: Int, mark: Ids) -> None:
    """Note for each topic of u the slot of that subscription."""
    for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
        mark[relation.node_topics[slot]] = slot


@inner
def unmark_topics(relation: Relation, u: Int, mark: Ids) -> None:
    """Clear what `mark_topics` noted."""
    for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
        mark[relation.node_topics[slot]] = NONE


@inlined
def add_row(relation: Relation, price: Any, u: Int, load: Any) -> None:
    """Add up the loads of row u; prices are by place, floats or integers."""
    for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
        own = relation.place[slot]
        mine = price[own]
        # Subscribers ascend, so those after u's own place are the partners v > u.
        for place in range(own + 1, relation.topic_ptr[relation.node_topics[slot] + 1]):
            other = price[place]
            load[relation.topic_nodes[place]] += mine if mine > other else other


@inner
def note_heaviest(
    relation: Relation, u: Int, walk: Int, carried: Floats, mark: Ids, heaviest: Floats
) -> None:
    """Raise `heaviest`, by place, to what the pairs of row u beyond 1 carry.

    Few pairs are walked through one by one, which takes `walk` steps. For many, each topic of u is walked
    through instead: its later subscribers are the partners of u in it.

    Invariant: `heaviest[place]` is the most that a pair of the rows so far carries which has the subscription
    at this place. Both ways give the same. Cost: `walk`, or the later subscribers of u's topics if these are
    fewer.
    """
    # The steps of the second way: the subscribers after u in each of its topics.
    others = 0
    for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
        others += relation.topic_ptr[relation.node_topics[slot] + 1] - relation.place[slot]
    if walk > others:
        for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
            own = relation.place[slot]
            most = heaviest[own]
            for place in range(own + 1, relation.topic_ptr[relation.node_topics[slot] + 1]):
                load = carried[relation.topic_nodes[place]]
                # Choices without branches, as the loop is then compiled to vectors.
                load = load if load > ONE else NOTHING
                most = most if most > load else load
                heaviest[place] = heaviest[place] if heaviest[place] > load else load
            heaviest[own] = most
        return
    mark_topics(relation, u, mark)
    for v in range(u + 1, len(relation.node_ptr) - 1):
        if carried[v] > ONE:
            for slot in range(relation.node_ptr[v], relation.node_ptr[v + 1]):
                own = mark[relation.node_topics[slot]]
                if own != NONE:
                    # A common topic: the pair counts for u's place in it, and for v's.
                    here, there = relation.place[own], relation.place[slot]
                    heaviest[here] = max(heaviest[here], carried[v])
                    heaviest[there] = max(heaviest[there], carried[v])
    unmark_topics(relation, u, mark)


@kernel
def scan(
    relation: Relation,
    price: Floats,
    extra: Floats,
    first: Int,
    last: Int,
    threshold: np.float32,
    every: Int,
    scratch: Scratch,
    room: ScanRoom,
) -> int:
    """Find the pairs of the rows `first` to `last` that carry more than `threshold`; return how many to keep.

    Of each row only every `every`-th pair is kept. Those that find no room are counted, not written. `price`
    is by place. `extra` is by node: what the two ends of a pair allow it beyond 1 does not count as carried.
    """
    nodes = len(relation.node_ptr) - 1
    load, mark = scratch.load, scratch.mark
    kept = 0
    for u in range(first, last):
        add_row(relation, price, u, load)
        beyond, walk = 0.0, 0
        # Start each row elsewhere, so that thinned rows do not all keep the same columns.
        turn = u % every
        for v in range(u + 1, nodes):
            carried = load[v] - (extra[u] + extra[v])
            load[v] = carried
            if carried > threshold:
                turn += 1
                if turn >= every:
                    turn = 0
                    if kept < len(room.u):
                        room.u[kept], room.v[kept], room.load[kept] = u, v, carried
                    kept += 1
                if carried > ONE:
                    beyond += carried - ONE
                    walk += relation.node_ptr[v + 1] - relation.node_ptr[v]
        room.excess[u] = beyond
        if beyond > 0.0:
            note_heaviest(relation, u, walk, load, mark, room.heaviest)
        for v in range(u + 1, nodes):
            load[v] = NOTHING
    return kept


@kernel
def weigh(
    relation: Relation,
    price: Whole,
    extra: Whole,
    first: Int,
    last: Int,
    ceiling: Int,
    lifting: bool,
    scratch: Scratch,
    room: WeighRoom,
) -> np.int64:
    """Return, exactly, what the pairs of the rows `first` to `last` carry beyond 1, in all.

    Prices are by place, in units of 1/2³⁰. `extra` is by node: what the two ends of a pair allow it beyond 1
    does not count as carried. Only if `lifting`, `room` is written, and then all `extra` must be 0.
    """
    nodes = len(relation.node_ptr) - 1
    load, mark = scratch.load, scratch.mark
    heaviest, paying = room.heaviest, room.paying
    excess = NO_LOAD
    for u in range(first, last):
        add_row(relation, price, u, load)
        if lifting:
            # Topic by topic, as in `add_row`: the loads of the row are complete, and each topic of u sees
            # those of its later subscribers side by side. The branches are unpredictable: choose, not jump.
            for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
                own = relation.place[slot]
                most = heaviest[own]
                for place in range(own + 1, relation.topic_ptr[relation.node_topics[slot] + 1]):
                    carried = load[relation.topic_nodes[place]]
                    carried = carried if carried <= ceiling else NO_LOAD
                    most = most if most > carried else carried
                    heaviest[place] = heaviest[place] if heaviest[place] > carried else carried
                heaviest[own] = most
        marked = False
        # Read the row, and clear it for the next one in the same pass.
        for v in range(u + 1, nodes):
            carried = load[v] - (extra[u] + extra[v])
            load[v] = NO_LOAD
            if carried > SCALE:
                excess += carried - SCALE
                excess = excess if excess < HUGE else HUGE
                if lifting and carried > ceiling:
                    if not marked:
                        mark_topics(relation, u, mark)
                        marked = True
                    # The larger price of each shared topic is what the pair pays with.
                    for slot in range(relation.node_ptr[v], relation.node_ptr[v + 1]):
                        own = mark[relation.node_topics[slot]]
                        if own != NONE:
                            here, there = relation.place[own], relation.place[slot]
                            paying[here] |= price[here] >= price[there]
                            paying[there] |= price[there] >= price[here]
        if marked:
            unmark_topics(relation, u, mark)
    return excess
