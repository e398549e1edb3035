"""Ring per topic: the baseline that ignores how many links it takes (podc07)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.measure import contributions
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.interest import Interest


def ring(interest: Interest) -> Overlay:
    """Join the subscribers of each topic in a ring in node order; links shared by topics count once.

    Two subscribers get one link, one subscriber gets none. Every topic is connected; there is no useful bound
    on links (podc07, section 8: about three times GM's). Edges are in the order of the first topic that needs
    them.
    """
    starts, ends = interest.topic_ptr[:-1], interest.topic_ptr[1:]
    here = interest.topic_nodes.astype(np.int64)
    following = np.roll(here, -1)
    large = ends - starts >= 3
    following[ends[large] - 1] = here[starts[large]]  # close the ring
    keep = np.ones(len(here), dtype=bool)
    keep[ends[(ends > starts) & ~large] - 1] = False  # two subscribers: one link; one: none
    low, high = np.minimum(here, following)[keep], np.maximum(here, following)[keep]
    _, first = np.unique(low * max(interest.num_nodes, 1) + high, return_index=True)
    first.sort()
    u, v = low[first].astype(np.int32), high[first].astype(np.int32)
    return Overlay(interest, u, v, contributions(interest, u, v))
