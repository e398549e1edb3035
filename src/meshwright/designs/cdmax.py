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
    """Return the topics in parts of at most about `most` subscribers, and the topic that each part is all of.

    A topic with more of them is dealt out into groups; each two groups together are a part. So any two of its
    subscribers are in one part, and within two hops if that is a star. It is −1 for such a part.
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
"""How often the hubs of CD-ODA-II are chosen anew; further passes gain little."""


def cdmax(interest: Interest, *, k: float = 1.0) -> Overlay:
    """Give each topic the hub that raises the maximum degree least, then the one with the fewest new links.

    First topics get their hubs one by one, the largest first, and then each one's hub is chosen anew: that
    finds how low the maximum degree can be. Then the hubs of CD-ODA-II are chosen anew, three times, at no
    more than that degree, which takes fewer links. The better of both is taken, by maximum degree, then by
    links; or CD-ODA-II itself, if it is better.

    A hub has at least as many links as its topic has other subscribers. With `k` above 2 the largest topics
    have several hubs: a topic of more than 2/k times the subscribers of the largest is divided into groups,
    and each two groups have a hub of their own. That lowers the maximum degree further, down to about 2/k of
    what it was, for more links; for some large k, hubs are so many that it rises again.

    Guarantee: every topic is connected, its diameter is at most 2, and the maximum degree is not above
    CD-ODA-II's. Complexity: O(Σ|T(v)|²) for each of the five passes. Reference: ours, on icdcs10, section VI;
    "the hub with the fewest neighbours" is the idea of CD-MAX (PeerJ Computer Science, 2021).
    """
    if not isinstance(k, (int, float, np.integer, np.floating)) or not 1 <= k < math.inf:
        raise InputError(f"k is {k}: give a number of at least 1")
    from meshwright.designs.kernels.hubs import EDGES, TOP, improve, list_links, serve_all

    largest = int(np.diff(interest.topic_ptr).max(initial=0))
    # With more groups than √(2·largest) a subscriber would have more hubs than a hub has subscribers.
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
