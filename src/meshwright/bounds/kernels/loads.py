"""The loads of all pairs, row by row: in floating point to find tight pairs, in integers to certify.

The load of a pair is the sum, over the topics that both subscribe to, of the larger of their two prices. A
row u holds the loads of all pairs (u, v) with v > u. Each topic of u adds to the row for its subscribers
after u, which stand after u in the topic's list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meshwright.jit.compiler import inlined, inner, kernel

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets

    Floats: TypeAlias = NDArray[np.float32]
    Whole: TypeAlias = NDArray[np.int64]
    Int: TypeAlias = int | np.int64

    from numpy.typing import NDArray

    Flags: TypeAlias = NDArray[np.bool_]


NONE = -1


class Relation(NamedTuple):
    """The interest by node and by topic.

    A *slot* is a position in `node_topics`, a *place* one in `topic_nodes`; each subscription has one of
    both. Subscribers of a topic are in ascending order.
    """

    node_ptr: Offsets
    node_topics: Ids
    topic_ptr: Offsets
    topic_nodes: Ids
    place: Ids
    """By slot: the place of the same subscription."""


@inner
def mark_topics(relation: Relation, u: Int, mark: Ids) -> None:
    """Note for each topic of u the slot of that subscription."""
    for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
        mark[relation.node_topics[slot]] = slot


@inner
def unmark_topics(relation: Relation, u: Int, mark: Ids) -> None:
    """Forget what `mark_topics` noted."""
    for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
        mark[relation.node_topics[slot]] = NONE


ONE = np.float32(1)
NOTHING = np.float32(0)
NO_LOAD = np.int64(0)
HUGE = np.int64(2**61)
"""Where a sum of excess stops growing, so that it cannot overflow."""


@inlined
def add_up(relation: Relation, price: Any, u: Int, load: Any) -> None:
    """Add the loads of the row u up; prices are by place, floats or integers."""
    for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
        own = relation.place[slot]
        mine = price[own]
        for place in range(own + 1, relation.topic_ptr[relation.node_topics[slot] + 1]):
            other = price[place]
            load[relation.topic_nodes[place]] += mine if mine > other else other


@kernel
def scan(
    relation: Relation,
    price: Floats,
    first: Int,
    last: Int,
    threshold: np.float32,
    every: Int,
    load: Floats,
    mark: Ids,
    excess: NDArray[np.float64],
    heaviest: Floats,
    us: Ids,
    vs: Ids,
    loads: Floats,
) -> int:
    """Keep the pairs of the rows `first` to `last` that carry more than `threshold`; return how many.

    Of each row, only every `every`-th is kept; those that find no room in `us`, `vs` and `loads` are counted
    only. `price` is by place. `excess` becomes what the pairs of each row carry beyond 1, in all; `heaviest`,
    by slot, rises to the largest load beyond 1 of a pair that counts the slot. `load` is 0 and `mark` −1
    throughout, before and after.
    """
    nodes = len(relation.node_ptr) - 1
    kept = 0
    for u in range(first, last):
        add_up(relation, price, u, load)
        beyond = 0.0
        turn = u % every
        for v in range(u + 1, nodes):
            carried = load[v]
            load[v] = NOTHING
            if carried > threshold:
                turn += 1
                if turn >= every:
                    turn = 0
                    if kept < len(us):
                        us[kept], vs[kept], loads[kept] = u, v, carried
                    kept += 1
                if carried > ONE:
                    if beyond == 0.0:
                        mark_topics(relation, u, mark)
                    beyond += carried - ONE
                    for slot in range(relation.node_ptr[v], relation.node_ptr[v + 1]):
                        own = mark[relation.node_topics[slot]]
                        if own != NONE:
                            heaviest[own] = max(heaviest[own], carried)
                            heaviest[slot] = max(heaviest[slot], carried)
        excess[u] = beyond
        if beyond > 0.0:
            unmark_topics(relation, u, mark)
    return kept


@kernel
def weigh(
    relation: Relation,
    price: Whole,
    first: Int,
    last: Int,
    scale: Int,
    ceiling: Int,
    lifting: bool,
    load: Whole,
    mark: Ids,
    heaviest: Whole,
    paying: Flags,
) -> np.int64:
    """Return, exactly, what the pairs of the rows `first` to `last` carry beyond `scale`, in all.

    When `lifting`, `heaviest` rises to the largest load, of those up to `ceiling`, of a pair that counts the
    place; and `paying` becomes true for the larger price, or for both if they are equal, in each topic of a
    pair that carries more. All is by place. `load` is 0 and `mark` −1 throughout, before and after.
    """
    nodes = len(relation.node_ptr) - 1
    excess = NO_LOAD
    for u in range(first, last):
        add_up(relation, price, u, load)
        if lifting:
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
        for v in range(u + 1, nodes):
            carried = load[v]
            load[v] = NO_LOAD
            if carried > scale:
                excess += carried - scale
                excess = excess if excess < HUGE else HUGE
                if lifting and carried > ceiling:
                    if not marked:
                        mark_topics(relation, u, mark)
                        marked = True
                    for slot in range(relation.node_ptr[v], relation.node_ptr[v + 1]):
                        own = mark[relation.node_topics[slot]]
                        if own != NONE:
                            here, there = relation.place[own], relation.place[slot]
                            paying[here] |= price[here] >= price[there]
                            paying[there] |= price[there] >= price[here]
        if marked:
            unmark_topics(relation, u, mark)
    return excess
