"""Choose the tree that each topic's messages take through the overlay, with relays and publishers.

The tree of a group of MQTT filters relays: a broker between others sees messages that it did not ask for. How
many depends on which brokers are neighbours. For a message that the brokers W want, all brokers of the
smallest subtree that contains W see it; from a publisher outside of that subtree it also passes the brokers
on its way there. Among trees of the same depth, `prefer_few_relays` looks for those with the fewest relayed
deliveries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meshwright.arrays import as_ids, check_within, frozen
from meshwright.arrow import from_numpy
from meshwright.errors import InputError, first_five
from meshwright.filters.filter_plan import PlannedFilters
from meshwright.filters.index import FilterIndex, as_bits
from meshwright.filters.mqtt import example
from meshwright.measure import components
from meshwright.measure.connectivity import adjacency
from meshwright.overlay import Overlay
from meshwright.routes.trees import Trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets
    from meshwright.measure.connectivity import Adjacency


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
    in_group = np.flatnonzero(planned.group_of == topic)
    names: list[str] = held.topic_names.take(from_numpy(in_group)).to_pylist()
    index = FilterIndex(names)
    held_by: list[list[int]] = [[] for _ in members]
    for number, one in enumerate(in_group.tolist()):
        for node in held.topic_nodes[held.topic_ptr[one] : held.topic_ptr[one + 1]].tolist():
            if node in place:
                held_by[place[node]].append(number)
    holdings = [as_bits(numbers) for numbers in held_by]
    sets: dict[int, int] = {}
    step = max(1, -(-len(names) // MOST_NAMES))
    for held_filter in names[::step]:
        matching = index.overlapping(example(held_filter))
        wants = sum(1 << broker for broker, own in enumerate(holdings) if own & matching)
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


def attach(trees: Trees, links: Adjacency, publishers: Iterable[tuple[int, int]]) -> Trees:
    """Attach each publisher-only broker to a carrier of its topic by a one-way link.

    The carrier is a neighbour in the overlay that carries the topic, the nearest to the root, if there is
    one. Otherwise it is the carrier with the fewest new links so far, the nearest to the root among equals.
    If a topic has one subscriber and no tree, that subscriber is the carrier.
    """
    interest = trees.overlay.interest
    added = np.zeros(interest.num_nodes, dtype=np.int64)
    attached = []
    pairs = as_ids(publishers, "publishers", columns=2)
    check_within(pairs[:, 0], interest.num_nodes, "nodes")
    check_within(pairs[:, 1], interest.num_topics, "topics")
    for broker, topic in sorted(set(map(tuple, pairs.tolist()))):
        carrying = trees.nodes[trees.ptr[topic] : trees.ptr[topic + 1]]
        if not len(carrying):
            carrying = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]]
        if not len(carrying) or broker in carrying or topic in trees.unreachable:
            continue
        near = np.isin(carrying, links.nodes[links.ptr[broker] : links.ptr[broker + 1]])
        if near.any():
            via = int(carrying[np.argmax(near)])
        else:
            via = int(carrying[np.argmin(added[carrying])])
            added[via] += 1
        attached.append((topic, broker, via))
    return replace(trees, publishers=np.array(sorted(attached), dtype=np.int32).reshape(-1, 3))


def carriers(overlay: Overlay, links: Adjacency) -> tuple[Offsets, Ids, NDArray[np.bool_], NDArray[np.int64]]:
    """Return the carriers of each topic (offsets, nodes, relay flags) and the topics without a tree.

    The relays come from Mehlhorn's approximate Steiner tree, which has at most twice the fewest links. Topics
    with fewer than two subscribers, and topics that no tree can span, have no carriers.
    """
    interest = overlay.interest
    sizes = np.diff(interest.topic_ptr)
    split = np.flatnonzero(components(overlay).of_topic > 1)
    topics = np.repeat(np.arange(interest.num_topics), sizes)
    members, relay = interest.topic_nodes, np.zeros(interest.num_subscriptions, dtype=bool)
    unreachable = np.zeros(0, dtype=np.int64)
    if len(split):
        from meshwright.routes import spanning_trees as kernels

        chosen = np.isin(topics, split)
        split_ptr = np.concatenate(([0], np.cumsum(sizes[split])))
        counts, found = kernels.relays(
            frozen(split_ptr, np.int64), frozen(members[chosen], np.int32), links.ptr, links.nodes
        )
        unreachable = split[counts < 0]
        topics = np.concatenate((topics, np.repeat(split, np.maximum(counts, 0))))
        members = np.concatenate((members, found))
        relay = np.concatenate((relay, np.ones(len(found), dtype=bool)))
    keep = (sizes[topics] > 1) & ~np.isin(topics, unreachable)
    topics, members, relay = topics[keep], members[keep], relay[keep]
    order = np.lexsort((members, topics))
    counts = np.bincount(topics, minlength=interest.num_topics)
    return (
        frozen(np.concatenate(([0], np.cumsum(counts))), np.int64),
        frozen(members[order], np.int32),
        frozen(relay[order], np.bool_),
        unreachable.astype(np.int64),
    )


OBJECTIVES = ("hops", "load", "stable")
"""The objectives of a route; the position of each is its number in the kernels."""
ROUNDS = 4
"""Maximum number of rounds in which `load` reconsiders every topic."""


def route(
    overlay: Overlay | Any,
    objective: str = "hops",
    *,
    rates: NDArray[Any] | None = None,
    today: Iterable[tuple[int, int, int]] = (),
    publishers: Iterable[tuple[int, int]] = (),
    filters: PlannedFilters | None = None,
) -> Trees:
    """Choose a tree for each topic that lies inside the overlay and spans exactly its subscribers.

    If the subscribers are not connected among themselves, other brokers relay, as few as an approximate
    Steiner tree needs (at most twice the fewest links). A topic with one subscriber has no tree.

    Parameters
    ----------
    overlay
        The existing links: an overlay, or a plan.
    objective
        `hops`: shortest paths from a root of the lowest eccentricity, so that no breadth-first tree from
        another root is less deep. `load`: spread the messages of all topics over the links; the heaviest link
        never carries more than with `hops`. `stable`: keep as many links of `today` as possible for topics
        that need no relays; topics with relays ignore `today`.
    rates
        Messages per second of each topic, by id; 1 by default.
    today
        For `stable`: topic, parent and child, by id, of the existing trees; links that are gone are ignored.
    publishers
        Broker and topic, by id, of the publishers. Subscribers of the topic are in its tree anyway; other
        publishers attach by a one-way link.
    filters
        The MQTT filters whose groups are the topics, by default those of the plan. With `hops`, among trees
        of the same depth, each group has one with few relayed deliveries.

    Raises
    ------
    InputError
        For an unknown objective, rates that are not one number of at least 0 for each topic, or ids that are
        not in the overlay.

    Examples
    --------
    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})
    >>> path = Overlay(interest, np.array([0, 1]), np.array([1, 2]), np.array([1, 1]))
    >>> route(path).to_arrow().to_pylist()[0]
    {'topic': 'x', 'parent': None, 'child': 'b'}
    """
    if objective not in OBJECTIVES:
        raise InputError(f"no objective {objective!r}: choose one of {', '.join(OBJECTIVES)}")
    filters = getattr(overlay, "filters", None) if filters is None else filters
    overlay = Overlay.of(overlay)
    interest = overlay.interest
    weights = _check_rates(rates, interest.num_topics)
    from meshwright.routes import spanning_trees as kernels

    links = adjacency(overlay)
    ptr, members, relay, unreachable = carriers(overlay, links)
    old_ptr, old_links = _old_links(overlay, today if objective == "stable" else ())
    order = np.argsort(-weights, kind="stable")
    nodes, above, by, sizes = kernels.route(
        ptr, members, relay, links, OBJECTIVES.index(objective), frozen(weights, np.float64),
        frozen(order, np.int32), old_ptr, old_links, ROUNDS,
    )  # fmt: skip
    kept = np.arange(len(nodes)) - np.repeat(ptr[:-1], np.diff(ptr)) < np.repeat(sizes, np.diff(ptr))
    trees = Trees(
        overlay,
        objective,
        weights,
        np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
        nodes[kept],
        above[kept],
        by[kept],
        unreachable,
        np.zeros((0, 3), dtype=np.int32),
    )
    trees = attach(trees, links, publishers)
    if filters is None or objective != "hops":
        return trees
    return prefer_few_relays(trees, filters)


def _check_rates(rates: NDArray[Any] | None, topics: int) -> NDArray[np.float64]:
    if rates is None:
        return np.ones(topics)
    try:
        weights = np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("rates are not numbers: give one for each topic") from error
    if weights.shape != (topics,):
        raise InputError(f"{weights.size} rates for {topics} topics: give one for each")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        raise InputError(f"rates {first_five(weights[bad].tolist())} are not numbers of at least 0")
    return weights


def _old_links(overlay: Overlay, today: Iterable[tuple[int, int, int]]) -> tuple[Offsets, Ids]:
    """Return, by topic, the links of today's trees that the overlay still has."""
    nodes = max(overlay.interest.num_nodes, 1)
    rows = as_ids(today, "today's links", columns=3)
    check_within(rows[:, 0], overlay.interest.num_topics, "topics")
    check_within(rows[:, 1:].ravel(), overlay.interest.num_nodes, "nodes")
    topic, a, b = rows.T.astype(np.int64)
    keys = overlay.u.astype(np.int64) * nodes + overlay.v
    order = np.argsort(keys)
    asked = np.minimum(a, b) * nodes + np.maximum(a, b)
    place = np.searchsorted(keys[order], asked)
    found = np.append(keys[order], -1)[place] == asked
    topic, edge = topic[found], order[place[found]]
    by_topic = np.argsort(topic, kind="stable")
    counts = np.bincount(topic, minlength=overlay.interest.num_topics)
    return (
        frozen(np.concatenate(([0], np.cumsum(counts))), np.int64),
        frozen(edge[by_topic], np.int32),
    )
