"""Routing: which tree each topic's messages take through the overlay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.arrays import frozen
from meshwright.errors import InputError, first_five
from meshwright.measure import components
from meshwright.measure.adjacency import adjacency
from meshwright.routes.trees import Trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets
    from meshwright.measure.adjacency import Adjacency
    from meshwright.overlay import Overlay


def attach(trees: Trees, links: Adjacency, publishers: Iterable[tuple[int, int]]) -> Trees:
    """Attach each publisher-only broker to a carrier of its topic by a one-way link.

    A neighbour in the overlay is taken if one carries the topic, the nearest to the root; otherwise the
    carrier that has the fewest of such new links so far, the nearest to the root among equals. Where a topic
    has one subscriber and no tree, that one is the carrier.
    """
    interest = trees.overlay.interest
    added = np.zeros(interest.num_nodes, dtype=np.int64)
    attached = []
    for broker, topic in sorted({(int(broker), int(topic)) for broker, topic in publishers}):
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
    """Return each topic's carriers (from where, which, whether a relay), and the topics that have no tree.

    The relays are those of Mehlhorn's approximate Steiner tree, of at most twice the fewest links. Topics of
    fewer than two subscribers, and those that cannot be spanned, have no carriers.
    """
    interest = overlay.interest
    sizes = np.diff(interest.topic_ptr)
    split = np.flatnonzero(components(overlay).of_topic > 1)
    topics = np.repeat(np.arange(interest.num_topics), sizes)
    members, relay = interest.topic_nodes, np.zeros(interest.num_subscriptions, dtype=bool)
    unreachable = np.zeros(0, dtype=np.int64)
    if len(split):
        from meshwright.routes.kernels import trees as kernels

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
"""What trees can be chosen for, in the numbers that the kernels know them by."""
ROUNDS = 4
"""How often `load` looks at every topic again, at most."""


def route(
    overlay: Overlay,
    objective: str = "hops",
    *,
    rates: NDArray[Any] | None = None,
    today: Iterable[tuple[int, int, int]] = (),
    publishers: Iterable[tuple[int, int]] = (),
) -> Trees:
    """Choose for each topic a tree inside the overlay that spans its subscribers and nobody else.

    Where the subscribers are not connected among themselves, as few others as an approximate Steiner tree
    needs (at most twice the fewest links) relay. A topic of one subscriber has no tree.

    Parameters
    ----------
    overlay
        The links there are.
    objective
        `hops`: shortest ways from a root of the lowest eccentricity, so that no breadth-first tree from any
        other root is less deep. `load`: the messages of all topics spread over links; the heaviest link never
        carries more than with `hops`. `stable`: as many links of `today` as possible stay, for topics that
        need no relays; these are chosen without a look at today's.
    rates
        Messages a second of each topic, by id; 1 for each unless told.
    today
        For `stable`: topic, parent and child, by id, of trees that are there; what is no more is left out.
    publishers
        Broker and topic, by id, of those who publish; who subscribes to the topic too is in its tree anyway,
        the others attach by a one-way link.

    Raises
    ------
    InputError
        For an unknown objective, or rates that are not one number of at least 0 for each topic.

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
    interest = overlay.interest
    weights = _checked(rates, interest.num_topics)
    from meshwright.routes.kernels import trees as kernels

    links = adjacency(overlay)
    ptr, members, relay, unreachable = carriers(overlay, links)
    old_ptr, old_links = _old_links(overlay, today if objective == "stable" else ())
    order = np.argsort(-weights, kind="stable")
    nodes, above, by, sizes = kernels.route(
        ptr, members, relay, *links, OBJECTIVES.index(objective), frozen(weights, np.float64),
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
    return attach(trees, links, publishers)


def _checked(rates: NDArray[Any] | None, topics: int) -> NDArray[np.float64]:
    if rates is None:
        return np.ones(topics)
    weights = np.asarray(rates, dtype=np.float64)
    if weights.shape != (topics,):
        raise InputError(f"{weights.size} rates for {topics} topics: give one for each")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        raise InputError(f"rates {first_five(weights[bad].tolist())} are no numbers of at least 0")
    return weights


def _old_links(overlay: Overlay, today: Iterable[tuple[int, int, int]]) -> tuple[Offsets, Ids]:
    """Return the overlay's edges that each topic uses today, those that still are there."""
    nodes = max(overlay.interest.num_nodes, 1)
    topic, a, b = np.array(list(today), dtype=np.int64).reshape(-1, 3).T
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
