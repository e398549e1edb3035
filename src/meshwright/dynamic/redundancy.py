"""Redundant links: links without which every topic stays connected.

A link is redundant if its ends are connected by other links in each topic that both have. Removing one link
can make another one necessary, so `prune` decides one link at a time, on the overlay as it is then.
Afterwards none of the links that it looked at is redundant.

The cost per link is one search of fragments for each topic that both ends have, until one of them finds the
ends apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.dynamic.fragments import are_connected
from meshwright.dynamic.link_lists import add_link, remove_link
from meshwright.dynamic.mutable_overlay import lowest_position, without_lowest
from meshwright.jit.compiler import inner, kernel

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Int
    from meshwright.dynamic.fragments import Groups
    from meshwright.dynamic.mutable_overlay import MutableOverlay


@inner
def remove_if_redundant(net: MutableOverlay, groups: Groups, u: Int, v: Int) -> bool:
    """Remove a link if every topic stays connected without it, and return whether that is so."""
    remove_link(net, u, v)
    for place in range(net.bits.shape[1]):
        common = net.bits[u, place] & net.bits[v, place]
        while common:
            if not are_connected(net, groups, lowest_position(place, common), u, v):
                add_link(net, u, v)
                return False
            common = without_lowest(common)
    return True


@kernel
def prune(net: MutableOverlay, groups: Groups, us: Ids, vs: Ids, most: Int) -> Int:
    """Remove up to `most` redundant links, in the order given, and return how many.

    The ends of the links removed are moved to the front of `us` and `vs`.
    """
    removed = np.int64(0)
    for i in range(len(us)):
        if removed == most:
            break
        u, v = us[i], vs[i]
        if remove_if_redundant(net, groups, np.int64(u), np.int64(v)):
            us[i], vs[i] = us[removed], vs[removed]
            us[removed], vs[removed] = u, v
            removed += 1
    return removed
