"""In which topics two nodes are connected by a short way, told for all topics at once.

Most topics of a link that is taken away have another way of two or three links, often through the same few
hubs. Topics are bits here, so that each of these ways is looked at once and not once for each topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import inner
from meshwright.search.kernels.net import NONE

if TYPE_CHECKING:
    from meshwright.search.kernels.fragments import Groups
    from meshwright.search.kernels.net import Bits, Int, Net

HERE = 0
"""A neighbour's mark; marks are taken back at once."""


@inner
def mark_neighbours(net: Net, groups: Groups, v: Int, mark: Int) -> None:
    """Set the marks of a node's neighbours."""
    half = net.head[v]
    while half != NONE:
        groups.mark[net.target[half]] = mark
        half = net.following[half]


@inner
def reach(net: Net, x: Int) -> Int:
    """Return how many links a node's neighbours have."""
    links, half = np.int64(0), net.head[x]
    while half != NONE:
        links += net.degree[net.target[half]]
        half = net.following[half]
    return links


@inner
def find_bridged(net: Net, groups: Groups, bridged: Bits, u: Int, v: Int) -> None:
    """Set the bits of the topics, u's and v's or not, of a node between them, or of two in a row."""
    bridged[:] = 0
    if reach(net, u) > reach(net, v):
        u, v = v, u
    mark_neighbours(net, groups, v, HERE)
    near = net.head[u]
    while near != NONE:
        w = net.target[near]
        near = net.following[near]
        if groups.mark[w] == HERE:
            for word in range(len(bridged)):
                bridged[word] |= net.bits[w, word]
        far = net.head[w]
        while far != NONE:
            z = net.target[far]
            far = net.following[far]
            if groups.mark[z] == HERE:
                for word in range(len(bridged)):
                    bridged[word] |= net.bits[w, word] & net.bits[z, word]
    mark_neighbours(net, groups, v, NONE)
