"""Which links no topic needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.interest import frozen
from meshwright.measure.adjacency import adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.overlay import Overlay


def redundant_edges(overlay: Overlay) -> NDArray[np.int64]:
    """Return the positions of the edges whose removal alone leaves every topic as connected as it was.

    Such an edge is a bridge of no sub-overlay induced by the subscribers of a topic common to its ends. Two
    redundant edges may stand in for each other: removing both can split a topic. Time is linear in the edges
    of all induced sub-overlays together; memory in the overlay.
    """
    from meshwright.measure import kernels

    interest = overlay.interest
    needed = kernels.topic_bridges(
        frozen(interest.topic_ptr, np.int64), frozen(interest.topic_nodes, np.int32), *adjacency(overlay)
    )
    return np.flatnonzero(~needed)
