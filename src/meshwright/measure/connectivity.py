"""The links of each node, and how connected each topic is: components, support, and what one failure breaks.

Components come from scipy's `connected_components`, contributions from a union-find, robustness from Tarjan's
search: none of them shares code with the engine that grows overlays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, Offsets, frozen
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.overlay import Overlay, check_edges
from meshwright.progress import Progress


class Adjacency(NamedTuple):
    """The neighbours of node `v` are at the positions `ptr[v]` to `ptr[v + 1]`, ascending."""

    ptr: Offsets
    """By node: where its neighbours begin; one entry more than there are nodes."""
    nodes: Ids
    """The neighbours."""
    edges: Ids
    """By entry of `nodes`: the position of the edge in the overlay."""


def adjacency(overlay: Overlay) -> Adjacency:
    """Return the neighbours of each node of an overlay."""
    ends = np.concatenate((overlay.u, overlay.v))
    others = np.concatenate((overlay.v, overlay.u))
    order = np.lexsort((others, ends))
    counts = np.bincount(ends, minlength=overlay.interest.num_nodes)
    ptr = np.concatenate(([0], np.cumsum(counts)))
    edges = order % max(len(overlay), 1)
    return Adjacency(frozen(ptr, np.int64), frozen(others[order], np.int32), frozen(edges, np.int32))


@dataclass(frozen=True, eq=False)
class Degrees:
    """The number of links of each node."""

    average: float
    """Links per node; 0 without nodes."""
    maximum: int
    """The most of any node; 0 without nodes."""
    of_node: NDArray[np.int64]
    """By node: its links."""
    distribution: NDArray[np.int64]
    """How many nodes have 0, 1, 2 … links; empty without nodes."""


def degrees(overlay: Overlay | Any) -> Degrees:
    """Count each node's links.

    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})
    >>> star = Overlay(interest, np.array([0, 0]), np.array([1, 2]), np.array([1, 1]))
    >>> degrees(star).of_node.tolist()
    [2, 1, 1]
    >>> degrees(star).distribution.tolist()
    [0, 2, 1]
    """
    overlay = Overlay.of(overlay)
    nodes = overlay.interest.num_nodes
    of_node = np.bincount(overlay.u, minlength=nodes) + np.bincount(overlay.v, minlength=nodes)
    return Degrees(
        average=2 * len(overlay) / nodes if nodes else 0.0,
        maximum=int(of_node.max(initial=0)),
        of_node=of_node,
        distribution=np.bincount(of_node),
    )


SLOTS_AT_ONCE = 4_000_000
"""How many subscriptions of edge ends are processed together: bounds the memory of one step."""


@dataclass(frozen=True, eq=False)
class Components:
    """The components of every topic: pieces into which an overlay connects its subscribers."""

    of_topic: NDArray[np.int64]
    """By topic: its components. A topic without subscribers has 0."""
    total: int
    """The components of all topics together."""


def components(overlay: Overlay | Any, *, progress: Progress | None = None) -> Components:
    """Count the components of the sub-overlay that each topic's subscribers induce.

    All topics are processed at once on the product graph: it has a vertex for each subscription and, for each
    edge and each topic common to its ends, a link between their two subscriptions. `progress` is called with
    the number of edges processed so far.
    """
    overlay = Overlay.of(overlay)
    interest = overlay.interest
    label = component_of_slots(overlay, progress)
    topic_of_component = np.zeros(label.max(initial=-1) + 1, dtype=np.int32)
    topic_of_component[label] = interest.node_topics
    of_topic = np.bincount(topic_of_component, minlength=interest.num_topics)
    return Components(of_topic, len(topic_of_component))


def support(overlay: Overlay | Any) -> float:
    """Return the share of all possible connections that an overlay makes, from 0 to 1 (icdcs16, section II).

    That is (TCC(∅) − TCC(E)) / (TCC(∅) − TCC(K)), where TCC counts components over all topics, ∅ is the
    overlay without links and K the complete one. It is 1 where there is nothing to connect.
    """
    overlay = Overlay.of(overlay)
    interest = overlay.interest
    # Without links every subscription is a component; the complete overlay leaves one for each topic.
    mergeable = merges_needed(interest)
    merged = int(contributions(interest, overlay.u, overlay.v).sum(dtype=np.int64))
    return merged / mergeable if mergeable else 1.0


def component_of_slots(overlay: Overlay, progress: Progress | None = None) -> Ids:
    """Return the component of the product graph that each subscription is in, numbered from 0.

    Edges come in batches, and each batch joins the components of those before it: memory does not grow with
    the number of edges.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = overlay.interest.num_subscriptions
    label = np.arange(count, dtype=np.int32)
    for _, last, here, there in _links(overlay):
        links = (np.ones(len(here), dtype=np.int8), (label[here], label[there]))
        count, joined = connected_components(coo_array(links, shape=(count, count)), directed=False)
        label = joined[label]
        if progress is not None:
            progress(last, last / len(overlay), "processed")
    return label


def _links(overlay: Overlay) -> Iterator[tuple[NDArray[np.int64], int, Ids, Ids]]:
    """Yield the links of the product graph in batches.

    A link is a pair of subscriptions to the same topic. A batch has the edge of each link, the number of
    edges done by then, and the two ends of each link.
    """
    from scipy.sparse import csr_array

    interest = overlay.interest
    if not interest.num_subscriptions:
        return
    # Entry (v, t) is the number of that subscription, from 1: a sparse matrix drops zeros.
    numbers = np.arange(1, interest.num_subscriptions + 1, dtype=np.int32)
    shape = (interest.num_nodes, interest.num_topics)
    slots = csr_array((numbers, interest.node_topics, interest.node_ptr), shape=shape)
    ones = csr_array((np.ones_like(numbers), slots.indices, slots.indptr), shape=shape)
    sizes = np.diff(interest.node_ptr)
    reached = np.concatenate(([0], np.cumsum(sizes[overlay.u] + sizes[overlay.v])))
    first = 0
    while first < len(overlay):
        last = int(np.searchsorted(reached, reached[first] + SLOTS_AT_ONCE, side="right")) - 1
        last = max(last, first + 1)
        u, v = overlay.u[first:last], overlay.v[first:last]
        # A product by entries keeps the topics that both ends have, in the same order in both.
        here, there = slots[u].multiply(ones[v]), ones[u].multiply(slots[v])
        edges = np.repeat(np.arange(first, last), np.diff(here.indptr))
        yield edges, last, here.data - 1, there.data - 1
        first = last


def contributions(interest: Interest, u: NDArray[Any], v: NDArray[Any]) -> Ids:
    """Count, for each edge in order, the topics of which it merges two components, given those before it.

    Raises
    ------
    InputError
        If u and v differ in length, or a pair is not 0 ≤ u < v < nodes.

    Examples
    --------
    >>> from meshwright import Interest
    >>> interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}})
    >>> contributions(interest, np.array([0, 1, 0]), np.array([1, 2, 2])).tolist()
    [2, 1, 0]
    """
    if len(u) != len(v):
        raise InputError(f"{len(u)} ends u but {len(v)} ends v: give two ends for each edge")
    check_edges(u, v, interest.num_nodes)
    from meshwright.measure.connectivity_kernels import JoinMemory, count_contributions

    topics, gains = interest.num_topics, np.zeros(len(u), dtype=np.int32)
    memory = JoinMemory(
        parent=np.arange(interest.num_subscriptions, dtype=np.int32),
        place=np.full(topics, -1, dtype=np.int32),
        shared=np.empty(topics + 1, dtype=np.int32),
    )
    apart, ends = merges_needed(interest), (frozen(u, np.int32), frozen(v, np.int32))
    count_contributions(interest.node_ptr, interest.node_topics, apart, *ends, memory, gains)
    return gains


def support_curve(overlay: Overlay | Any) -> NDArray[np.float64]:
    """Return the support of every prefix: entry i is that of the first i edges.

    Contributions are recounted from the edges; those that the overlay states are ignored.
    """
    overlay = Overlay.of(overlay)
    interest = overlay.interest
    gained = np.cumsum(contributions(interest, overlay.u, overlay.v), dtype=np.int64)
    mergeable = merges_needed(interest)
    if not mergeable:
        return np.ones(len(overlay) + 1)
    curve: NDArray[np.float64] = np.concatenate(([0], gained)) / mergeable
    return curve


class Merges(NamedTuple):
    """Which link merges two components of which topic, when links are added in their order."""

    topics: Ids
    links: NDArray[np.int64]


def merges(overlay: Overlay | Any) -> Merges:
    """Return every merge, ascending by link and topic.

    The links that merge a topic are its minimum spanning forest, weighted by their order: Kruskal's algorithm
    takes exactly those.

    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}})
    >>> merges(Overlay(interest, np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([2, 1, 0])))
    Merges(topics=array([0, 1, 1], dtype=int32), links=array([0, 0, 1]))
    """
    overlay = Overlay.of(overlay)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    interest = overlay.interest
    size = interest.num_subscriptions
    rows, columns, weights = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
    for edges, _, here, there in _links(overlay):
        weights = np.concatenate((weights, edges + 1.0))  # a sparse matrix drops zeros
        ends = (np.concatenate((rows, here)), np.concatenate((columns, there)))
        forest = minimum_spanning_tree(coo_array((weights, ends), shape=(size, size)).tocsr()).tocoo()
        rows, columns, weights = forest.row, forest.col, forest.data
    topics, links = interest.node_topics[rows], weights.astype(np.int64) - 1
    order = np.lexsort((topics, links))
    return Merges(topics[order], links[order])


def merges_needed(interest: Interest) -> int:
    """Return the number of merges that connect every topic."""
    subscribed = np.bincount(interest.node_topics, minlength=interest.num_topics)
    return interest.num_subscriptions - int(np.count_nonzero(subscribed))


def redundant_edges(overlay: Overlay | Any) -> NDArray[np.int64]:
    """Return the positions of the edges whose removal alone leaves every topic as connected as it was.

    Such an edge is not a bridge of any sub-overlay that the subscribers of a topic induce. Two redundant
    edges may replace each other, so removing both can split a topic. Time is linear in the edges of all
    induced sub-overlays together, memory in the overlay.
    """
    overlay = Overlay.of(overlay)
    from meshwright.measure.connectivity_kernels import topic_bridges

    interest = overlay.interest
    needed = topic_bridges(interest.topic_ptr, interest.topic_nodes, *adjacency(overlay))
    return np.flatnonzero(~needed)


@dataclass(frozen=True, eq=False)
class WeakTopics:
    """The topics that are not 2-connected."""

    topics: NDArray[np.int64]
    """Their ids, ascending."""
    nodes: NDArray[np.int64]
    """By entry of `topics`: the smallest node whose failure splits it, or −1 if it is split already."""

    def __len__(self) -> int:
        return len(self.topics)


def weak_topics(overlay: Overlay | Any) -> WeakTopics:
    """Return the topics that are split, or would be by the failure of one of their subscribers.

    An overlay without any is 2-topic-connected: in the sub-overlay that a topic's subscribers induce, three
    or more stay connected when any one of them fails, and two are linked. Tarjan's search finds the cut
    vertices of each sub-overlay; time is linear in the edges of all of them together.

    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({v: {"x"} for v in "abc"})
    >>> path = Overlay(interest, np.array([0, 1]), np.array([1, 2]), np.array([1, 1]))
    >>> weak_topics(path)
    WeakTopics(topics=array([0]), nodes=array([1]))
    """
    overlay = Overlay.of(overlay)
    from meshwright.measure.connectivity_kernels import WHOLE, topic_cuts

    interest = overlay.interest
    cuts = topic_cuts(interest.topic_ptr, interest.topic_nodes, *adjacency(overlay))
    topics = np.flatnonzero(cuts != WHOLE)
    return WeakTopics(topics, cuts[topics].astype(np.int64))
