"""The tree of the lowest depth for each topic, read plainly: all distances by scipy, then one search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, shortest_path

from meshwright.overlay import Overlay


def plain_routes(overlay: Overlay) -> NDArray[np.int64]:
    """Root each topic's tree where the longest way is shortest; return how deep each tree is.

    The distances between all subscribers of a topic, inside of its sub-overlay, are one matrix; a topic of
    thousands needs its rows in pieces.
    """
    interest, links = overlay.interest, overlay.to_scipy()
    depth = np.zeros(interest.num_topics, dtype=np.int64)
    for topic in range(interest.num_topics):
        members = interest.topic_nodes[interest.topic_ptr[topic] : interest.topic_ptr[topic + 1]]
        if len(members) < 2:
            continue
        own = links[members][:, members]
        furthest = [
            shortest_path(own, unweighted=True, indices=range(first, min(first + 500, len(members)))).max(
                axis=1
            )
            for first in range(0, len(members), 500)
        ]
        eccentricity = np.concatenate(furthest)
        root = int(np.argmin(eccentricity))
        breadth_first_order(own, root, directed=False)
        depth[topic] = int(eccentricity[root])
    return depth
