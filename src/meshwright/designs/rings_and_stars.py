"""One shape per topic: a ring (podc07), a star (CD-ODA, -I and -II, icdcs10), or CD-Max; and plain shapes.

The ring is the baseline that ignores how many links it takes. Stars have diameter 2; CD-Max chooses their
hubs so that the maximum degree stays low.

`shapes` are overlays that may satisfy a question of podc07 where no design does: stars, rings, trees, and all
pairs. Each joins the nodes of every cluster, and no others: nodes that share a topic, directly or through a
chain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright import bounds, measure
from meshwright.arrays import Ids, frozen
from meshwright.arrow import from_numpy
from meshwright.designs.plan import Plan
from meshwright.designs.topic_sets import bit_set, lay_out_topics, most_topics
from meshwright.errors import InputError
from meshwright.interest import Interest, unchecked_from_ids
from meshwright.measure import contributions
from meshwright.overlay import Overlay, unchecked_overlay

if TYPE_CHECKING:
    from meshwright.designs.kernels.hubs import Hubs
    from meshwright.designs.kernels.topic_rows import Scores


Score: TypeAlias = Literal["neighbours", "weight", "density"]


def ring(interest: Interest) -> Overlay:
    """Join the subscribers of each topic in a ring in node order; links shared by topics count once.

    Two subscribers get one link, one subscriber gets none. Every topic is connected; there is no useful bound
    on links (podc07, section 8: about three times GM's). Edges are in the order of the first topic that needs
    them.
    """
    starts, ends = interest.topic_ptr[:-1], interest.topic_ptr[1:]
    here = interest.topic_nodes.astype(np.int64)
    following = np.roll(here, -1)
    large = ends - starts >= 3
    following[ends[large] - 1] = here[starts[large]]  # close the ring
    keep = np.ones(len(here), dtype=bool)
    keep[ends[(ends > starts) & ~large] - 1] = False  # two subscribers: one link; one: none
    low, high = np.minimum(here, following)[keep], np.maximum(here, following)[keep]
    _, first = np.unique(low * max(interest.num_nodes, 1) + high, return_index=True)
    first.sort()
    u, v = low[first].astype(np.int32), high[first].astype(np.int32)
    return unchecked_overlay(interest, u, v, contributions(interest, u, v))


def parallel_links(interest: Interest) -> int:
    """Return how many links the rings have if links that topics share count once for each topic.

    podc07, section 8, counts them like that: the average degree is about twice the mean number of topics.
    """
    sizes = np.diff(interest.topic_ptr)
    return int(sizes[sizes >= 3].sum()) + int(np.count_nonzero(sizes == 2))


def stars(interest: Interest, score: Score) -> Overlay:
    """Link the node with the largest score to all that share an open topic with it, and close its topics.

    Edges are in the order of the hubs, then of their neighbours.
    """
    columns, _ = link_stars(interest, score)
    return unchecked_overlay(interest, *columns)


def link_stars(interest: Interest, score: Score) -> tuple[list[Ids], Ids]:
    """Return the edges u, v with their contributions, and the hub of each topic (−1: no hub needed)."""
    from meshwright.designs.kernels.topic_rows import DENSITY, NEIGHBOURS, WEIGHT, Scratch, link_hubs

    kind = {"neighbours": NEIGHBOURS, "weight": WEIGHT, "density": DENSITY}[score]
    scores, most = _scores(interest), most_topics(interest)
    scratch = Scratch(
        own=np.empty(most, dtype=np.int32),
        rows=np.empty(most, dtype=np.uint32),
        union=bit_set(interest.num_nodes),
        common=np.zeros(interest.num_nodes, dtype=np.int32),
    )
    columns = [np.empty(interest.num_subscriptions, dtype=np.int32) for _ in range(3)]
    edges = link_hubs(lay_out_topics(interest), scores, scratch, np.int64(kind), *columns)
    return [column[:edges] for column in columns], scores.hub


def _scores(interest: Interest) -> Scores:
    """Return the initial scores, all unknown."""
    from meshwright.designs.kernels.topic_rows import Scores

    nodes = interest.num_nodes
    weight, fewest, over, under = (np.zeros(nodes, dtype=np.int64) for _ in range(4))
    leaves = 1 << max(nodes - 1, 0).bit_length()
    winner = np.full(2 * leaves, -1, dtype=np.int32)
    winner[leaves : leaves + nodes] = np.arange(nodes)
    return Scores(
        remaining=np.diff(interest.topic_ptr) >= 2,
        hub=np.full(interest.num_topics, -1, dtype=np.int32),
        weight=weight,
        topics=np.zeros(nodes, dtype=np.int32),
        fewest=fewest,
        over=over,
        under=under,
        exact=np.zeros(nodes, dtype=np.bool_),
        winner=winner,
    )


def cd(interest: Interest, *, variant: Score = "neighbours") -> Overlay:
    """Make the node with the highest score a hub, close its topics, and repeat.

    The variants score a node by:

    - `neighbours` (CD-ODA): how many other nodes share an open topic with it;
    - `weight` (CD-ODA-I): the number of open topics that its neighbours share with it, summed up;
    - `density` (CD-ODA-II): the average number of open topics that a neighbour shares.

    Guarantee: every topic is connected by a star, so its diameter is at most 2 (icdcs10, section VI and
    Lemma 7); no bound on links: in the paper's Fig. 5 at most 2.3 times GM's by neighbours, and 1.8 times by
    density. Complexity: O(|V|²·|T|) in the paper (Lemma 6). Here a node's neighbours are counted in
    O(|T(v)|·|V|/64), and only when it may be the next hub; weights take O(Σ|T(v)|) in all, O(log |V|) for
    each leading node, and O(|V|/64) for each hub and each of its topics.
    """
    return stars(interest, variant)


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
    names = from_numpy(np.arange(count))
    divided = unchecked_from_ids(interest.node_names, names, np.concatenate(nodes), np.concatenate(parts))
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
    more links; for very large k the number of hubs makes it rise again.

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
    return unchecked_overlay(interest, u, v, gains)


def _no_hubs(interest: Interest) -> Hubs:
    """Return the state before any topic has a hub."""
    from meshwright.designs.kernels.hubs import Hubs
    from meshwright.jit.simd import EIGHT

    nodes, slots = interest.num_nodes, interest.num_subscriptions
    of_degree = np.zeros(max(nodes, 1), dtype=np.int32)
    of_degree[0] = nodes
    served, degree, inside, near = (np.zeros(nodes, dtype=np.int32) for _ in range(4))
    return Hubs(
        node_ptr=interest.node_ptr,
        topic_ptr=interest.topic_ptr,
        topic_nodes=interest.topic_nodes,
        hub=np.full(interest.num_topics, -1, dtype=np.int32),
        served=served,
        server=np.empty(slots + int(EIGHT), dtype=np.int32),
        times=np.empty(slots, dtype=np.int32),
        degree=degree,
        of_degree=of_degree,
        tally=np.zeros(2, dtype=np.int64),
        subscribes=np.zeros(nodes, dtype=np.bool_),
        serves=np.zeros(nodes, dtype=np.bool_),
        inside=inside,
        near=near,
        noted=np.empty(slots + 1, dtype=np.int64),
    )


MOST_PAIRS = 2_000_000
"""Pairs that share a topic are looked at only if the topics have at most this many pairs of subscribers."""


def clusters(interest: Interest) -> list[list[int]]:
    """Return the nodes that must reach each other, with the most topics first; the others stand alone.

    >>> from meshwright import Interest
    >>> clusters(Interest.from_dict({"a": {"x"}, "b": {"x", "y"}, "c": {"y"}, "d": {"z"}}))
    [[1, 0, 2], [3]]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Nodes and topics together, a topic behind all nodes, with an edge for each subscription.
    ends = interest.node_of_slot, interest.num_nodes + interest.node_topics
    size = interest.num_nodes + interest.num_topics
    edges = coo_array((np.ones(interest.num_subscriptions, dtype=np.int8), ends), shape=(size, size))
    found: dict[int, list[int]] = {}
    for v, label in enumerate(connected_components(edges, directed=False)[1][: interest.num_nodes].tolist()):
        found.setdefault(label, []).append(v)
    sizes = np.diff(interest.node_ptr)
    return [sorted(each, key=lambda v: (-int(sizes[v]), v)) for each in found.values()]


def partners(interest: Interest) -> list[set[int]]:
    """Return for each node the others that share a topic with it."""
    found: list[set[int]] = [set() for _ in range(interest.num_nodes)]
    for part in np.split(interest.topic_nodes, interest.topic_ptr[1:-1]):
        members = part.tolist()
        for member in members:
            found[member].update(members)
    for v, own in enumerate(found):
        own.discard(v)
    return found


def few_pairs(interest: Interest) -> bool:
    """Return whether all pairs that share a topic can be looked at."""
    return bounds.pair_topics(interest) <= MOST_PAIRS


def partner_counts(interest: Interest) -> NDArray[np.int64] | None:
    """Return how many others share a topic with each node; None if that takes too long."""
    if not few_pairs(interest):
        return None
    return np.array([len(each) for each in partners(interest)], dtype=np.int64)


def shapes(interest: Interest, degree: int | None, budget: Mapping[str, int]) -> Iterator[Plan]:
    """Yield a star, a ring, a tree and all pairs, as plans under a budget, so that topics may be split.

    The tree has at most `degree` links per node, and is as flat as that allows.
    """
    groups = [group for group in clusters(interest) if len(group) > 1]
    yield _plan(interest, "star", budget, [(group[0], v) for group in groups for v in group[1:]])
    rings = [(group[i - 1], group[i]) for group in groups for i in range(len(group)) if len(group) > 2 or i]
    yield _plan(interest, "ring of all", budget, rings)
    if degree is not None and degree > 1:
        yield _plan(interest, "tree", budget, [link for group in groups for link in _tree(group, degree)])
    if few_pairs(interest):
        pairs = [(v, u) for v, own in enumerate(partners(interest)) for u in sorted(own) if v < u]
        yield _plan(interest, "all pairs", budget, pairs)


def _tree(group: Sequence[int], degree: int) -> Iterator[tuple[int, int]]:
    """Yield the links of the flattest tree: the first node has `degree` children, each other one fewer."""
    parent, left = 0, degree
    for child in range(1, len(group)):
        if left == 0:
            parent, left = parent + 1, degree - 1
        left -= 1
        yield group[parent], group[child]


def _plan(interest: Interest, name: str, budget: Mapping[str, int], links: Sequence[tuple[int, int]]) -> Plan:
    pairs = np.array(sorted((min(link), max(link)) for link in links), dtype=np.int32).reshape(-1, 2)
    u, v = pairs[:, 0].copy(), pairs[:, 1].copy()
    overlay = unchecked_overlay(interest, u, v, measure.contributions(interest, u, v))
    return Plan(overlay, name, dict(budget), 0, 0.0)
