"""RandomA and RandomM: random links within a budget, contributing ones or any (icdcs16)."""

from __future__ import annotations

import numpy as np

from meshwright.arrays import Ids, check_whole, frozen
from meshwright.designs.kernels.random_links import (
    ArbitraryLinks,
    OpenPairs,
    begin,
    draw_from,
    draw_links,
    run,
)
from meshwright.designs.topic_sets import slots_of, streams
from meshwright.greedy import layout
from meshwright.greedy.engine import NO_LIMIT, Driver, limit_of
from meshwright.greedy.rules import check_flag
from meshwright.interest import Interest
from meshwright.measure import contributions
from meshwright.overlay import Overlay


def add_random_links(
    interest: Interest, *, max_edges: int = NO_LIMIT, max_degree: int = NO_LIMIT, seed: int
) -> Overlay:
    """Add links drawn uniformly from those that contribute and fit, until a budget ends or none is left."""
    check_whole("max_edges", max_edges)
    check_whole("max_degree", max_degree)
    state = layout.lay_out_components(interest, limit_of(max_degree))
    left = _open_pairs(interest, seed)
    begin(left)
    # The kernel closes nodes as they become full, so it takes all to be open at first.
    driver = Driver(state, max_edges=max_edges if max_degree > 0 else 0)
    driver.run(lambda goal, links: run(state, left, goal, links))
    return Overlay(interest, *driver.links())


def _open_pairs(interest: Interest, seed: int) -> OpenPairs:
    """Return the pairs before any link: all nodes are open, and no pair is counted yet."""
    slots = interest.num_subscriptions
    return OpenPairs(
        owner=frozen(interest.node_of_slot, np.int32),
        members=interest.topic_slots.copy(),
        place=slots_of(interest),
        open_members=np.diff(interest.topic_ptr).astype(np.int32),
        open_size=np.ones(slots, dtype=np.int32),
        pairs=np.zeros(interest.num_topics + 1, dtype=np.int64),
        total=np.zeros(1, dtype=np.int64),
        stream=streams(seed, 1),
    )


def add_arbitrary_links(
    interest: Interest, *, max_edges: int = NO_LIMIT, max_degree: int = NO_LIMIT, seed: int
) -> Overlay:
    """Add links drawn uniformly from all pairs that fit, whether they contribute or not."""
    check_whole("max_edges", max_edges)
    check_whole("max_degree", max_degree)
    nodes = interest.num_nodes
    limit = min(limit_of(max_degree), max(nodes - 1, 0))
    room = min(limit_of(max_edges), nodes * limit // 2)
    u, v = (np.empty(room, dtype=np.int32) for _ in range(2))
    links = ArbitraryLinks(
        u=u,
        v=v,
        degree=np.zeros(nodes, dtype=np.int32),
        head=np.full(nodes, -1, dtype=np.int32),
        earlier=np.empty(2 * room, dtype=np.int32),
        open_nodes=np.arange(nodes, dtype=np.int32),
        counts=np.array([0, nodes], dtype=np.int32),
        stream=streams(seed, 1),
    )
    draw_links(links, np.int64(limit))
    if links.counts[0] < room:
        draw_from(links, *_unlinked_pairs(links), np.int64(limit))
    u, v = u[: links.counts[0]], v[: links.counts[0]]
    return Overlay(interest, u, v, contributions(interest, u, v))


def _unlinked_pairs(links: ArbitraryLinks) -> tuple[Ids, Ids]:
    """Return all pairs of open nodes that are not linked yet."""
    done, still_open = links.counts.tolist()
    nodes = np.sort(links.open_nodes[:still_open])
    first, second = np.triu_indices(len(nodes), 1)
    u, v = nodes[first], nodes[second]
    width = max(len(links.degree), 1)
    known = links.u[:done].astype(np.int64) * width + links.v[:done]
    free = ~np.isin(u.astype(np.int64) * width + v, known)
    return u[free], v[free]


def randoma(interest: Interest, *, max_edges: int, arbitrary: bool = False, seed: int = 0) -> Overlay:
    """Add up to `max_edges` links, each drawn uniformly from all links that contribute.

    It ends earlier if no link contributes: then every topic is connected. With `arbitrary` the links are
    drawn from all pairs, and there are `max_edges` of them, or all pairs: the paper builds this baseline
    "arbitrarily".

    Guarantee: at most `max_edges` links, each of which contributes unless `arbitrary`; no bound on support.
    It is the baseline for GPA. Complexity: O(log |T|) per link, plus one comparison of two topic lists for
    each topic that a contributing pair merges on average. Reference: icdcs16, section IX.
    """
    add = add_arbitrary_links if check_flag("arbitrary", arbitrary) else add_random_links
    return add(interest, max_edges=max_edges, seed=seed)


def randomm(interest: Interest, *, max_degree: int, arbitrary: bool = False, seed: int = 0) -> Overlay:
    """Add links drawn uniformly from those that contribute and keep both ends within `max_degree`.

    With `arbitrary` the links are drawn from all pairs that keep both ends within it.

    Guarantee: no broker has more than `max_degree` links, each link contributes unless `arbitrary`, and no
    other link could be added; no bound on support. It is the baseline for GPM. Complexity: as RandomA, plus
    O(|T(v)|·log |T|) for each node that becomes full. Reference: icdcs16, section IX.
    """
    add = add_arbitrary_links if check_flag("arbitrary", arbitrary) else add_random_links
    return add(interest, max_degree=max_degree, seed=seed)
