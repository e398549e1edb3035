"""In which topics two nodes are connected by a short way, told for all topics at once.

Most topics of a link that is taken away have another way of two or three links, often through the same few
hubs. Topics are bits here, so that each of these ways is looked at once and not once for each topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.compiling import inner
from meshwright.search.kernels.lists import write_out
from meshwright.search.kernels.net import NONE

if TYPE_CHECKING:
    from meshwright.search.kernels.fragments import Groups
    from meshwright.search.kernels.net import Bits, Int, Net
    from meshwright.search.kernels.pieces import Pieces

HERE = 0
"""A neighbour's mark; marks are taken back at once."""


@inner
def mark_neighbours(net: Net, groups: Groups, pieces: Pieces, v: Int, mark: Int) -> None:
    """Set the marks of a node's neighbours."""
    for i in range(write_out(net, net.near_first, net.degree, v, pieces.near)):
        groups.mark[pieces.near[i]] = mark


@inner
def reach(net: Net, pieces: Pieces, x: Int) -> Int:
    """Return how many links a node's neighbours have."""
    links = np.int64(0)
    for i in range(write_out(net, net.near_first, net.degree, x, pieces.near)):
        links += net.degree[pieces.near[i]]
    return links


@inner
def find_bridged(net: Net, groups: Groups, pieces: Pieces, bridged: Bits, u: Int, v: Int) -> None:
    """Set the bits of the topics, u's and v's or not, of a node between them, or of two in a row."""
    bridged[:] = 0
    if reach(net, pieces, u) > reach(net, pieces, v):
        u, v = v, u
    mark_neighbours(net, groups, pieces, v, HERE)
    for i in range(write_out(net, net.near_first, net.degree, u, pieces.near)):
        w = np.int64(pieces.near[i])
        if groups.mark[w] == HERE:
            for word in range(len(bridged)):
                bridged[word] |= net.bits[w, word]
        for j in range(write_out(net, net.near_first, net.degree, w, pieces.far)):
            z = pieces.far[j]
            if groups.mark[z] == HERE:
                for word in range(len(bridged)):
                    bridged[word] |= net.bits[w, word] & net.bits[z, word]
    mark_neighbours(net, groups, pieces, v, NONE)
