"""RandomA and RandomM: random contributing links within a budget (icdcs16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.designs.topic_sets import check_whole, streams
from meshwright.greedy import layout
from meshwright.greedy.driver import NO_LIMIT, limit_of
from meshwright.greedy.kernels.state import Links
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.designs.kernels.random_links import OpenPairs
    from meshwright.interest import Interest


def by_chance(
    interest: Interest, *, max_edges: int = NO_LIMIT, max_degree: int = NO_LIMIT, seed: int
) -> Overlay:
    """Add links, each drawn from all that contribute and fit, until a budget ends or none is left."""
    check_whole("max_edges", max_edges)
    check_whole("max_degree", max_degree)
    from meshwright.designs.kernels.random_links import link_at_random

    # A link merges something: there are fewer of them than subscriptions.
    most = min(int(max_edges), interest.num_subscriptions) if max_degree > 0 else 0
    links = Links(*(np.empty(most, dtype=np.int32) for _ in range(3)))
    state = layout.lay_out_components(interest, limit_of(max_degree))
    edges = link_at_random(state, _open_pairs(interest, seed), np.int64(most), links)
    return Overlay(interest, *(column[:edges] for column in links))


def _open_pairs(interest: Interest, seed: int) -> OpenPairs:
    """Return the pairs before any link: all of them are open."""
    from meshwright.designs.kernels.random_links import OpenPairs

    slots = interest.num_subscriptions
    place = np.empty(slots, dtype=np.int32)
    place[interest.topic_slots] = np.arange(slots, dtype=np.int32)
    return OpenPairs(
        owner=frozen(interest.node_of_slot, np.int32),
        members=interest.topic_slots.copy(),
        place=place,
        open_members=np.diff(interest.topic_ptr).astype(np.int32),
        open_size=np.ones(slots, dtype=np.int32),
        pairs=np.zeros(interest.num_topics + 1, dtype=np.int64),
        stream=streams(seed, 1),
    )


def randoma(interest: Interest, *, max_edges: int, seed: int = 0) -> Overlay:
    """Add, `max_edges` times, a link drawn from all that contribute, each equally likely.

    It ends earlier if nothing contributes: every topic is connected then.

    Guarantee: at most `max_edges` links, each of which contributes; no bound on support: the contrast to GPA.
    Complexity: for each link O(log |T|) and as many looks at a pair's topics as a contributing pair merges
    topics on average. Reference: icdcs16, section IX.
    """
    return by_chance(interest, max_edges=max_edges, seed=seed)


def randomm(interest: Interest, *, max_degree: int, seed: int = 0) -> Overlay:
    """Add links drawn from all that contribute and push neither end over `max_degree`, each equally likely.

    Guarantee: no broker has more than `max_degree` links, each link contributes, and no other could be added;
    no bound on support: the contrast to GPM. Complexity: as RandomA, and O(|T(v)|·log |T|) for each node
    that becomes full. Reference: icdcs16, section IX.
    """
    return by_chance(interest, max_degree=max_degree, seed=seed)
