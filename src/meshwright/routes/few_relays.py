"""Trees of groups that relay little: among trees of the same depth, those with the fewest relayed deliveries.

In the tree of a group of MQTT filters, a broker between others sees messages that it did not ask for. How
many depends on which brokers are neighbours. For a message that the brokers W want, all brokers of the
smallest subtree that contains W see it; from a publisher outside of that subtree it also passes the brokers
on its way there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from meshwright.filters.filter_plan import PlannedFilters
from meshwright.filters.mqtt import example, matches
from meshwright.measure.connectivity import adjacency
from meshwright.routes.trees import Trees

MOST_NAMES = 256
"""Filters of a group that are looked at, evenly spaced."""
MOST_ROOTS = 24
"""Roots of a group that are tried."""


class GroupTree(NamedTuple):
    """A tree over the brokers 0, 1, 2 … of a group: the parent of each, and an order from the root on."""

    parents: tuple[int, ...]
    """The parent of each broker; the root is its own."""
    order: tuple[int, ...]
    depth: int


def prefer_few_relays(trees: Trees, planned: PlannedFilters) -> Trees:
    """Return the trees, with others of at most the same depth for groups where these relay less."""
    links = adjacency(trees.overlay)
    nodes, above, by = trees.nodes.copy(), trees.above.copy(), trees.links.copy()
    edges = trees.overlay.u.astype(np.int64) * max(trees.overlay.interest.num_nodes, 1) + trees.overlay.v
    edge_id = {key: number for number, key in enumerate(edges.tolist())}
    width = max(trees.overlay.interest.num_nodes, 1)
    for topic in np.flatnonzero(planned.sizes > 1).tolist():
        piece = slice(int(trees.ptr[topic]), int(trees.ptr[topic + 1]))
        members = trees.nodes[piece].tolist()
        if len(members) < 3:
            continue
        place = {node: number for number, node in enumerate(members)}
        near = [
            [place[node] for node in links.nodes[links.ptr[v] : links.ptr[v + 1]].tolist() if node in place]
            for v in members
        ]
        parents = tuple(max(0, parent) for parent in trees.above[piece].tolist())
        now = GroupTree(parents, tuple(range(len(members))), _depth(parents))
        wanted = wanted_sets(planned, topic, members)
        best = min(
            (now, *candidates(near, wanted, now.depth)), key=lambda tree: relayed_deliveries(tree, wanted)
        )
        if best is now:
            continue
        position = {broker: number for number, broker in enumerate(best.order)}
        for number, broker in enumerate(best.order):
            slot, parent = piece.start + number, best.parents[broker]
            nodes[slot] = members[broker]
            above[slot] = -1 if parent == broker else position[parent]
            if parent != broker:
                low, high = sorted((members[broker], members[parent]))
                by[slot] = edge_id[low * width + high]
    return replace(trees, nodes=nodes, above=above, links=by)


def _depth(parents: Sequence[int]) -> int:
    """Return the depth of a tree whose brokers come after their parents."""
    depth = [0] * len(parents)
    for broker, parent in enumerate(parents):
        depth[broker] = 0 if parent == broker else depth[parent] + 1
    return max(depth)


def wanted_sets(planned: PlannedFilters, topic: int, members: Sequence[int]) -> dict[int, int]:
    """Return sets of brokers, as bits, with how many filters have an example message that they want."""
    held, place = planned.held, {node: number for number, node in enumerate(members)}
    names = held.topic_names
    in_group = np.flatnonzero(planned.group_of == topic).tolist()
    holders: dict[str, int] = {}
    for one in in_group:
        piece = held.topic_nodes[held.topic_ptr[one] : held.topic_ptr[one + 1]].tolist()
        holders[names[one].as_py()] = sum(1 << place[node] for node in piece if node in place)
    sets: dict[int, int] = {}
    step = max(1, -(-len(holders) // MOST_NAMES))
    for held_filter in list(holders)[::step]:
        topic_name = example(held_filter)
        wants = 0
        for other, bits in holders.items():
            if matches(other, topic_name):
                wants |= bits
        sets[wants] = sets.get(wants, 0) + 1
    return sets


def candidates(near: Sequence[Sequence[int]], wanted: Mapping[int, int], most: int) -> Iterator[GroupTree]:
    """Yield breadth-first trees from several roots; parents share as much as possible with their children."""
    size = len(near)
    shared = [[0] * size for _ in range(size)]
    for bits, count in wanted.items():
        brokers = [broker for broker in range(size) if bits >> broker & 1]
        for a in brokers:
            for b in brokers:
                shared[a][b] += count
    step = max(1, -(-size // MOST_ROOTS))
    for root in range(0, size, step):
        depth, order = {root: 0}, [root]
        for here in order:
            for there in near[here]:
                if there not in depth:
                    depth[there] = depth[here] + 1
                    order.append(there)
        deepest = max(depth.values())
        if len(order) == size and deepest <= most:
            parents = list(range(size))
            for broker in order[1:]:
                above = [other for other in near[broker] if depth[other] == depth[broker] - 1]
                parents[broker] = max(above, key=lambda other: (shared[broker][other], -other))
            yield GroupTree(tuple(parents), tuple(order), deepest)


def relayed_deliveries(tree: GroupTree, wanted: Mapping[int, int]) -> int:
    """Count deliveries at brokers that do not want them, if every broker publishes once for each filter."""
    size = len(tree.parents)
    near: list[list[int]] = [[] for _ in range(size)]
    for broker, parent in enumerate(tree.parents):
        if parent != broker:
            near[broker].append(parent)
            near[parent].append(broker)
    total = 0
    for bits, count in wanted.items():
        wants = [bool(bits >> broker & 1) for broker in range(size)]
        inside = _smallest_subtree(near, wants)
        passive = sum(inside) - sum(wants)
        # How far each broker is from the subtree: a message passes the brokers between.
        way = {broker: 0 for broker in range(size) if inside[broker]}
        queue = list(way)
        for here in queue:
            for there in near[here]:
                if there not in way:
                    way[there] = way[here] + 1
                    queue.append(there)
        # The publisher itself does not relay.
        total += count * sum(
            passive - (inside[origin] and not wants[origin]) + max(0, far - 1) for origin, far in way.items()
        )
    return total


def _smallest_subtree(near: Sequence[Sequence[int]], wants: Sequence[bool]) -> list[bool]:
    """Return which brokers are in the smallest subtree with all that want a message: prune other leaves."""
    inside, degree = [True] * len(near), [len(others) for others in near]
    leaves = [broker for broker, count in enumerate(degree) if count <= 1 and not wants[broker]]
    for leaf in leaves:
        inside[leaf] = False
        for other in near[leaf]:
            degree[other] -= 1
            if degree[other] == 1 and inside[other] and not wants[other]:
                leaves.append(other)
    return inside
