"""CD-Max: topic diameter 2 with a low maximum degree."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.arrays import frozen
from meshwright.designs.stars import link_stars
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.measure import contributions
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.designs.kernels.hubs import Hubs


def divide(interest: Interest, most: int) -> tuple[Interest, Ids]:
    """Split topics into parts of at most about `most` subscribers; return the parts and the topic of each.

    A larger topic is split into groups, and each pair of groups is a part. So any two subscribers share a
    part, and are within two hops if every part is a star. The topic of such a part is −1.
    """
    whole = np.diff(interest.topic_ptr) <= max(most, 2)
    if whole.all():
        return interest, np.arange(interest.num_topics, dtype=np.int32)
    kept = np.flatnonzero(whole)
    undivided = interest.restrict(kept)
    nodes, parts, count = [undivided.node_of_slot], [undivided.node_topics], interest.num_topics
    for topic in np.flatnonzero(~whole).tolist():
        subscribers = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]]
        groups = -(-2 * len(subscribers) // max(most, 2))
        for one, other in combinations(range(groups), 2):
            for group in (one, other):
                nodes.append(subscribers[group::groups])
                parts.append(np.full(len(nodes[-1]), count, dtype=np.int32))
            count += 1
    topic_of = np.full(count, -1, dtype=np.int32)
    topic_of[kept] = kept
    names = pa.array(np.arange(count))
    divided = Interest.from_ids(interest.node_names, names, np.concatenate(nodes), np.concatenate(parts))
    return divided, topic_of


PASSES = 3
"""Number of passes that choose the hubs of CD-ODA-II again; more passes gain little."""


def cdmax(interest: Interest, *, k: float = 1.0) -> Overlay:
    """Give each topic the hub that raises the maximum degree least, ties to the fewest new links.

    The first pass gives topics their hubs one by one, the largest topic first, and a second pass chooses each
    hub again: this finds how low the maximum degree can be. Then three passes choose the hubs of CD-ODA-II
    again within that degree, which needs fewer links. The result is the better of both by maximum degree,
    then by links, or CD-ODA-II itself if that is better.

    A hub has at least as many links as its topic has other subscribers. With `k` above 2 the largest topics
    have several hubs: a topic with more than 2/k times the subscribers of the largest is split into groups,
    and each pair of groups has its own hub. This lowers the maximum degree to about 2/k of its value, for
    more links; for very large k there are so many hubs that it rises again.

    Guarantee: every topic is connected, its diameter is at most 2, and the maximum degree is not above
    CD-ODA-II's. Complexity: O(Σ|T(v)|²) for each of the five passes. Reference: ours, on icdcs10, section VI;
    "the hub with the fewest neighbours" is the idea of CD-MAX (PeerJ Computer Science, 2021).
    """
    if not isinstance(k, (int, float, np.integer, np.floating)) or not 1 <= k < math.inf:
        raise InputError(f"k is {k}: give a number of at least 1")
    from meshwright.designs.kernels.hubs import EDGES, TOP, improve, list_links, serve_all

    largest = int(np.diff(interest.topic_ptr).max(initial=0))
    # With more than √(2·largest) groups, a subscriber would have more hubs than a hub has subscribers.
    parts, topic_of = divide(interest, max(int(largest * min(1.0, 2 / k)), math.isqrt(2 * largest)))
    sizes = np.diff(parts.topic_ptr)
    by_size = np.argsort(-sizes, kind="stable")
    order = frozen(by_size[sizes[by_size] >= 2], np.int32)
    fresh, refined = _no_hubs(parts), _no_hubs(parts)
    nobody = np.full(parts.num_topics, -1)
    serve_all(fresh, order, frozen(nobody, np.int32))
    improve(fresh, order, np.int64(interest.num_nodes))
    (u, v, gains), hubs = link_stars(interest, "density")
    serve_all(refined, order, frozen(np.where(topic_of >= 0, hubs[topic_of], nobody), np.int32))
    for _ in range(PASSES):
        improve(refined, order, fresh.tally[TOP])
    best = min(fresh, refined, key=lambda made: (made.tally[TOP], made.tally[EDGES]))
    highest = np.bincount(np.concatenate((u, v))).max(initial=0)
    if (best.tally[TOP], best.tally[EDGES]) < (highest, len(u)):
        u, v = (np.empty(best.tally[EDGES], dtype=np.int32) for _ in range(2))
        list_links(best, order, u, v)
        gains = contributions(interest, u, v)
    return Overlay(interest, u, v, gains)


def _no_hubs(interest: Interest) -> Hubs:
    """Return the state before any topic has a hub."""
    from meshwright.designs.kernels.hubs import Hubs

    nodes, slots = interest.num_nodes, interest.num_subscriptions
    of_degree = np.zeros(max(nodes, 1), dtype=np.int32)
    of_degree[0] = nodes
    served, degree, inside, near = (np.zeros(nodes, dtype=np.int32) for _ in range(4))
    return Hubs(
        node_ptr=frozen(interest.node_ptr, np.int64),
        topic_ptr=frozen(interest.topic_ptr, np.int64),
        topic_nodes=frozen(interest.topic_nodes, np.int32),
        hub=np.full(interest.num_topics, -1, dtype=np.int32),
        served=served,
        server=np.empty(slots, dtype=np.int32),
        times=np.empty(slots, dtype=np.int32),
        degree=degree,
        of_degree=of_degree,
        tally=np.zeros(2, dtype=np.int64),
        subscribes=np.zeros(nodes, dtype=np.bool_),
        inside=inside,
        near=near,
    )
