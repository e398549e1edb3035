"""Detours: the topics in which two nodes stay connected by a path of two or three links.

When a link is removed, most topics of its ends have such a path left, often through the same few hubs. Topics
are bits here, so that each path is walked once for all topics, instead of once for each of them: this spares
most of the searches for fragments.

The cost is the links of the neighbours of one end, a few words of bits for each path that is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.dynamic.link_lists import copy_list_inlined
from meshwright.dynamic.mutable_overlay import NONE
from meshwright.jit.compiler import inner

if TYPE_CHECKING:
    from meshwright.arrays import Bits, Ids, Int
    from meshwright.dynamic.fragments import Groups
    from meshwright.search.kernels.net import Net

HERE = 0
"""The mark of a neighbour of the other end; marks are cleared before the call returns."""


@inner
def mark_neighbours(net: Net, groups: Groups, near: Ids, v: Int, mark: Int) -> None:
    """Set the marks of the neighbours of a node."""
    for i in range(copy_list_inlined(net, net.near_first, net.degree, v, near)):
        groups.mark[near[i]] = mark


@inner
def links_of_neighbours(net: Net, near: Ids, x: Int) -> Int:
    """Return how many links the neighbours of a node have."""
    links = np.int64(0)
    for i in range(copy_list_inlined(net, net.near_first, net.degree, x, near)):
        links += net.degree[near[i]]
    return links


@inner
def find_detours(net: Net, groups: Groups, near: Ids, far: Ids, bridged: Bits, u: Int, v: Int) -> None:
    """Set in `bridged` the topics of every path u – w – v, and of every path u – w – z – v.

    These are topics that w, or w and z, have; u and v need not have them. `near` and `far` are working memory
    for the neighbours of a node.
    """
    bridged[:] = 0
    # The paths are the same from either end: walk them from the end with less to walk.
    if links_of_neighbours(net, near, u) > links_of_neighbours(net, near, v):
        u, v = v, u
    mark_neighbours(net, groups, near, v, HERE)
    for i in range(copy_list_inlined(net, net.near_first, net.degree, u, near)):
        w = np.int64(near[i])
        if groups.mark[w] == HERE:
            for word in range(len(bridged)):
                bridged[word] |= net.bits[w, word]
        for j in range(copy_list_inlined(net, net.near_first, net.degree, w, far)):
            z = far[j]
            if groups.mark[z] == HERE:
                for word in range(len(bridged)):
                    bridged[word] |= net.bits[w, word] & net.bits[z, word]
    mark_neighbours(net, groups, near, v, NONE)
