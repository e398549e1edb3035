"""The shallowest tree for each topic, with scipy: all distances inside the sub-overlay, then one search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, shortest_path

from meshwright.overlay import Overlay

ROWS = 500
"""Rows of a distance matrix computed at a time. Large topics need too much memory at once."""


def tree_depths(overlay: Overlay) -> NDArray[np.int64]:
    """Root the tree of each topic at the node with the least eccentricity; return the depth of each tree."""
    interest, links = overlay.interest, overlay.to_scipy()
    depth = np.zeros(interest.num_topics, dtype=np.int64)
    for topic in range(interest.num_topics):
        members = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]]
        if len(members) < 2:
            continue
        own = links[members][:, members]
        blocks = [range(first, min(first + ROWS, len(members))) for first in range(0, len(members), ROWS)]
        furthest = [shortest_path(own, unweighted=True, indices=block).max(axis=1) for block in blocks]
        eccentricity = np.concatenate(furthest)
        root = int(np.argmin(eccentricity))
        breadth_first_order(own, root, directed=False)
        depth[topic] = int(eccentricity[root])
    return depth
