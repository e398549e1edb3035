"""Designs by chance: RandomA and RandomM, random links within a budget; SpiderCast and SpiderCastM (icdcs16).

In SpiderCast every node picks neighbours that cover its topics, some of them at random.
"""

from __future__ import annotations

import numpy as np

from meshwright.arrays import BLOCK, Ids, bit_rows, check_whole, frozen
from meshwright.designs.kernels.coverage import Picking, Scratch, take_turns
from meshwright.designs.kernels.random_links import (
    ArbitraryLinks,
    OpenPairs,
    begin,
    draw_from,
    draw_links,
    run,
)
from meshwright.designs.topic_sets import bit_set, lay_out_topics, most_topics, slots_of, streams
from meshwright.greedy import layout
from meshwright.greedy.engine import NO_LIMIT, Driver, limit_of
from meshwright.greedy.rules import check_flag
from meshwright.interest import Interest
from meshwright.jit.simd import EIGHT
from meshwright.measure import contributions
from meshwright.overlay import Overlay, unchecked_overlay


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
    return unchecked_overlay(interest, *driver.links())


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
    return unchecked_overlay(interest, u, v, contributions(interest, u, v))


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


WINDOW = 8
"""Number of best candidates that a node keeps."""


def cover(
    interest: Interest, coverage_greedy: int, coverage_random: int, max_degree: int | None, seed: int
) -> Overlay:
    """Let nodes take turns in node order, one pick each, until no node picks.

    A node first picks greedily: the node that has the most of its topics not yet covered `coverage_greedy`
    times by greedy picks; ties go to the smallest node. Then it picks at random: any node with a topic not
    yet covered `coverage_random` times by random picks, all equally likely. It never picks a
    node twice or a node with `max_degree` links, and stops when it has `max_degree` links itself. Picks by
    other nodes cover nothing for it. Each node has its own random numbers.
    """
    for name, value in (("coverage_greedy", coverage_greedy), ("coverage_random", coverage_random)):
        check_whole(name, value)
    check_whole("max_degree", 0 if max_degree is None else max_degree)
    # A topic cannot be covered more often than there are nodes.
    greedy, random = (min(int(times), interest.num_nodes) for times in (coverage_greedy, coverage_random))
    limit = limit_of(max_degree)
    picking = _picking(interest, greedy, random, limit, seed)
    us, vs = (np.empty(int(picking.pick_ptr[-1]), dtype=np.int32) for _ in range(2))
    edges = take_turns(
        lay_out_topics(interest),
        picking,
        _scratch(interest),
        np.int64(random),
        np.int64(limit),
        np.arange(interest.num_nodes, dtype=np.int32),
        us,
        vs,
    )
    us, vs = us[:edges], vs[:edges]
    return unchecked_overlay(interest, us, vs, contributions(interest, us, vs))


def _picking(interest: Interest, greedy: int, random: int, limit: int, seed: int) -> Picking:
    """Return the state before any pick."""
    nodes, slots = interest.num_nodes, interest.num_subscriptions
    # Every pick covers something, is another node, and is a link.
    most = np.minimum(np.diff(interest.node_ptr) * (greedy + random), min(nodes, limit))
    return Picking(
        at_random=np.zeros(nodes, dtype=np.bool_),
        lacking=np.full(slots + 1, greedy, dtype=np.int32),
        window=np.empty((nodes, WINDOW), dtype=np.int32),
        sweep=np.zeros((nodes, 3), dtype=np.int32),
        pick_ptr=np.concatenate(([0], np.cumsum(most))).astype(np.int64),
        picks=np.empty(int(most.sum()) + int(EIGHT), dtype=np.int32),
        picked=np.zeros(nodes, dtype=np.int32),
        degree=np.zeros(nodes, dtype=np.int32),
        open_nodes=bit_set(nodes),
        stream=streams(seed, nodes),
    )


def _scratch(interest: Interest) -> Scratch:
    """Return the working memory."""
    most = most_topics(interest)
    return Scratch(
        lacked=np.full(interest.num_topics, interest.num_subscriptions, dtype=np.int32),
        own=np.empty(most, dtype=np.int32),
        rows=np.empty(most + 8, dtype=np.uint32),
        slices=bit_rows(max(4, most.bit_length()), interest.num_nodes),
        nodes=bit_set(interest.num_nodes),
        marked=np.empty(WINDOW + BLOCK, dtype=np.int32),
    )


def spidercast(
    interest: Interest, *, coverage_greedy: int = 3, coverage_random: int = 1, seed: int = 0
) -> Overlay:
    """Let each node pick neighbours on its own until each of its topics is covered often enough.

    `coverage_greedy` (K_g) counts greedy picks: the node that has the most topics not yet covered.
    `coverage_random` (K_r) counts random picks: any node that has one of them. The links are the picks of
    both ends. Nodes take turns in node order, one pick each, which affects only the order of the links.

    Guarantee: each node is linked to at least min(K_g + K_r, all others) subscribers of each of its topics.
    Topics are likely to be connected, but this is not guaranteed. Complexity: O(|V|/64) for each of a node's
    topics, as often as its best gain falls; O(|T(v)|) for each pick. The protocol is G. Chockler, R. Melamed,
    Y. Tock, R. Vitenberg: *SpiderCast*, DEBS 2007; the parameters are those of icdcs16, section IX.
    """
    return cover(interest, coverage_greedy, coverage_random, None, seed)


def spidercastm(
    interest: Interest,
    *,
    max_degree: int,
    coverage_greedy: int = 3,
    coverage_random: int = 1,
    seed: int = 0,
) -> Overlay:
    """Let each node pick as in SpiderCast until it has `max_degree` links; full nodes are not picked.

    Nodes take turns in node order, one pick each, as if they all ran at once: a node that made all its picks
    at once would fill up nodes that later ones need, and support would fall. A node with free links may pick
    a node that has already picked it: this covers topics without a new link.

    Guarantee: no broker has more than `max_degree` links; no bound on support. With a limit that no node
    reaches, the links are SpiderCast's. Complexity: as SpiderCast. Reference: icdcs16, section IX.
    """
    return cover(interest, coverage_greedy, coverage_random, max_degree, seed)
