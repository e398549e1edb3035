"""SpiderCast and SpiderCastM: every node picks neighbours that cover its topics (icdcs16)."""

from __future__ import annotations

import numpy as np

from meshwright.arrays import BLOCK, bit_rows, check_whole
from meshwright.designs.kernels.coverage import Picking, Scratch, take_turns
from meshwright.designs.topic_sets import bit_set, lay_out_topics, most_topics, streams
from meshwright.greedy.engine import limit_of
from meshwright.interest import Interest
from meshwright.jit.simd import EIGHT
from meshwright.measure import contributions
from meshwright.overlay import Overlay

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
    return Overlay(interest, us, vs, contributions(interest, us, vs))


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
