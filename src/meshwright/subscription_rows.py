"""Rows of subscriptions, as an `Interest` keeps them: built from pairs of ids, checked, and read from graphs.

Node `v` subscribes to `node_topics[node_ptr[v]:node_ptr[v + 1]]`, ascending.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrays import Ids, Offsets, check_within, settled, stable_order
from meshwright.arrow import from_numpy
from meshwright.errors import InputError, first_five

MOST_SUBSCRIPTIONS = 2**31 - 1
"""Slots are numbered by int32 throughout."""


def check_size(subscriptions: int) -> None:
    """Raise an InputError if there are more subscriptions than slots can number."""
    if subscriptions > MOST_SUBSCRIPTIONS:
        raise InputError(
            f"{subscriptions} subscriptions are more than {MOST_SUBSCRIPTIONS} (2³¹ − 1): "
            "sample the data, or split it by topic"
        )


def check_lengths(nodes: int, topics: int, what: str = "") -> None:
    """Raise an InputError unless two columns of nodes and topics, or of their ids, make subscriptions."""
    if nodes != topics:
        raise InputError(f"{nodes} node{what}s but {topics} topic{what}s: give one topic for each node entry")
    check_size(nodes)


def rows_of_pairs(
    nodes: int, topics: int, node_ids: NDArray[Any], topic_ids: NDArray[Any]
) -> tuple[Offsets, Ids]:
    """Return `node_ptr` and `node_topics` of pairs of ids in any order; repeated pairs count once."""
    check_size(len(node_ids))
    width = max(topics, 1)
    keys = np.asarray(node_ids, dtype=np.int64) * width + np.asarray(topic_ids, dtype=np.int64)
    if len(keys) and not (keys[1:] > keys[:-1]).all():
        # With numpy 2.4, np.unique takes a hundred times as long on ten million keys.
        keys = np.sort(keys)
        keys = keys[np.concatenate(([True], keys[1:] > keys[:-1]))]
    node_ptr = np.searchsorted(keys, np.arange(nodes + 1, dtype=np.int64) * width)
    return settled(node_ptr), settled((keys % width).astype(np.int32))


def rows_by_topic(topics: int, node_of_slot: Ids, node_topics: Ids) -> tuple[Offsets, Ids, Ids]:
    """Return by topic where its row begins; the nodes of these rows; and the slot of each entry."""
    order = stable_order(node_topics, topics)
    sizes = np.bincount(node_topics, minlength=topics)
    return settled(np.concatenate(([0], np.cumsum(sizes)))), settled(node_of_slot[order]), settled(order)


def check_rows(node_names: pa.Array, topics: int, node_ptr: Offsets, node_topics: Ids) -> None:
    """Raise an InputError unless each node has a row of topics, all known and in ascending order."""
    nodes = len(node_names)
    check_size(len(node_topics))
    if len(node_ptr) != nodes + 1:
        raise InputError(f"node_ptr has {len(node_ptr)} entries for {nodes} nodes: give {nodes + 1}")
    if node_ptr[0] != 0 or node_ptr[-1] != len(node_topics):
        raise InputError(
            f"node_ptr goes from {node_ptr[0]} to {node_ptr[-1]}: "
            f"begin with 0, and end with {len(node_topics)}, the length of node_topics"
        )
    falls = node_ptr[1:] < node_ptr[:-1]
    if falls.any():
        raise InputError(
            f"node_ptr falls at the nodes {_first_nodes(node_names, np.flatnonzero(falls))}: "
            "give where each node's topics begin, in the order of the nodes"
        )
    check_within(node_topics, topics, "topics")
    rises = node_topics[1:] > node_topics[:-1]
    begins = node_ptr[1:-1]
    rises[begins[(begins > 0) & (begins < len(node_topics))] - 1] = True  # from one node to the next
    if not rises.all():
        owners = np.searchsorted(node_ptr, np.flatnonzero(~rises), side="right") - 1
        raise InputError(
            f"the topics of the nodes {_first_nodes(node_names, np.unique(owners))} are not in ascending "
            "order, each once: sort them, or give pairs of ids in any order to Interest.from_ids"
        )


def _first_nodes(node_names: pa.Array, nodes: NDArray[Any]) -> str:
    return first_five(node_names.take(from_numpy(nodes)).to_pylist())


def graph_columns(graph: Any) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return the node and the topic of each subscription in a networkx graph, all its nodes, and all topics.

    If its nodes have the attribute `bipartite`, those with 0 are nodes and those with 1 are topics. In any
    other graph each node is a topic too, and an undirected edge stands for a subscription both ways.
    """
    if not (hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise InputError(f"{type(graph).__name__} is not a networkx graph: give a Graph or a DiGraph")
    pairs = [(u, v) for u, v, *_ in graph.edges]
    side = dict(graph.nodes(data="bipartite"))
    if all(value is None for value in side.values()):
        if not graph.is_directed():
            pairs += [(v, u) for u, v in pairs if u != v]
        return [u for u, _ in pairs], [v for _, v in pairs], list(graph.nodes), list(graph.nodes)
    unsaid = [name for name, value in side.items() if value not in (0, 1)]
    if unsaid:
        raise InputError(f"nodes {first_five(unsaid)} have no bipartite = 0 or 1: set it on all")
    pairs = [(u, v) if side[u] == 0 else (v, u) for u, v in pairs]
    wrong = [pair for pair in pairs if side[pair[0]] == side[pair[1]]]
    if wrong:
        raise InputError(f"edges {first_five(wrong)} join two of one side: join nodes to topics")
    nodes, topics = ([name for name, value in side.items() if value == own] for own in (0, 1))
    return [node for node, _ in pairs], [topic for _, topic in pairs], nodes, topics
