"""Brokers that publish on a topic without subscribing to it: each hands its messages to one carrier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from meshwright.measure.adjacency import Adjacency
    from meshwright.routes.trees import Trees


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
