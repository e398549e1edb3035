"""What SpiderCast and SpiderCastM share: every node picks neighbours that cover its topics (icdcs16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.designs.checks import check_whole
from meshwright.designs.layout import bit_set, lay_out_topics, most_topics, streams
from meshwright.measure import contributions
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.designs.kernels.picking import Picking, Scratch
    from meshwright.interest import Interest

WINDOW = 8
"""How many of its best nodes a node keeps to pick from."""
NO_LIMIT = np.iinfo(np.int32).max


def cover(
    interest: Interest, coverage_greedy: int, coverage_random: int, max_degree: int | None, seed: int
) -> Overlay:
    """Let nodes take turns in node order, one pick each, until none picks any more.

    A node picks greedily, the node with most of those of its topics that it has not yet covered
    `coverage_greedy` times by such picks, the smallest of several; when that ends, at random, any node with
    a topic that it has not yet covered `coverage_random` times by random picks, each equally likely. It never
    picks a node twice, and none that has `max_degree` links; with so many of its own it is done. What others
    pick covers nothing of its own. Each node has its own random numbers.
    """
    for name, value in (("coverage_greedy", coverage_greedy), ("coverage_random", coverage_random)):
        check_whole(name, value)
    check_whole("max_degree", 0 if max_degree is None else max_degree)
    from meshwright.designs.kernels.coverage import take_turns

    # No topic can be covered more often than there are nodes.
    greedy, random = (min(int(times), interest.num_nodes) for times in (coverage_greedy, coverage_random))
    limit = NO_LIMIT if max_degree is None else min(int(max_degree), NO_LIMIT)
    picking = _picking(interest, greedy, random, limit, seed)
    us, vs = (np.empty(len(picking.picks), dtype=np.int32) for _ in range(2))
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
    from meshwright.designs.kernels.picking import Picking

    nodes, slots = interest.num_nodes, interest.num_subscriptions
    # A pick covers something, is another node, and is a link.
    most = np.minimum(np.diff(interest.node_ptr) * (greedy + random), min(nodes, limit))
    return Picking(
        at_random=np.zeros(nodes, dtype=np.bool_),
        lacking=np.full(slots + 1, greedy, dtype=np.int32),
        window=np.empty((nodes, WINDOW), dtype=np.int32),
        sweep=np.zeros((nodes, 3), dtype=np.int32),
        pick_ptr=np.concatenate(([0], np.cumsum(most))).astype(np.int64),
        picks=np.empty(int(most.sum()), dtype=np.int32),
        picked=np.zeros(nodes, dtype=np.int32),
        degree=np.zeros(nodes, dtype=np.int32),
        open_nodes=bit_set(nodes),
        stream=streams(seed, nodes),
    )


def _scratch(interest: Interest) -> Scratch:
    """Return the working memory."""
    from meshwright.designs.kernels.picking import Scratch
    from meshwright.greedy.kernels.state import BLOCK, bit_rows

    most = most_topics(interest)
    return Scratch(
        lacked=np.full(interest.num_topics, interest.num_subscriptions, dtype=np.int32),
        own=np.empty(most, dtype=np.int32),
        rows=np.empty(most + 8, dtype=np.uint32),
        slices=bit_rows(max(4, most.bit_length()), interest.num_nodes),
        nodes=bit_set(interest.num_nodes),
        marked=np.empty(WINDOW + BLOCK, dtype=np.int32),
    )
