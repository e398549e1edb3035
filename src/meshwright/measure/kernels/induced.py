"""The sub-overlay that the subscribers of a topic induce."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.jit.compiler import compiled

if TYPE_CHECKING:
    from meshwright.arrays import Ids, Offsets


@compiled
def induce(
    members: Ids, ptr: Offsets, nodes: Ids, edges: Ids, local: Ids, sub_ptr: Offsets, sub: Ids, sub_edges: Ids
) -> None:
    """Write the sub-overlay that some nodes induce into `sub_ptr`, `sub` and `sub_edges`.

    Its nodes are numbered by their position in `members`; its layout is that of `Adjacency`. Cost: the links
    of the members. `local` has −1 for every node, before and after.
    """
    for i in range(len(members)):
        local[members[i]] = i
    filled = 0
    for i in range(len(members)):
        for slot in range(ptr[members[i]], ptr[members[i] + 1]):
            if local[nodes[slot]] >= 0:
                sub[filled] = local[nodes[slot]]
                sub_edges[filled] = edges[slot]
                filled += 1
        sub_ptr[i + 1] = filled
    for i in range(len(members)):
        local[members[i]] = -1
