"""Some pairs spelled out: which two slots they have for each topic that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.bounds.kernels.relation import NONE, mark_topics, unmark_topics
from meshwright.compiling import kernel

if TYPE_CHECKING:
    from meshwright.bounds.kernels.relation import Relation
    from meshwright.interest import Ids, Offsets


@kernel
def count_shared(relation: Relation, us: Ids, vs: Ids, mark: Ids, ptr: Offsets) -> None:
    """Write into `ptr` where the shared topics of each pair begin; pairs with the same u stand together.

    `ptr[0]` is 0 and `mark` −1 throughout, before and after.
    """
    for pair in range(len(us)):
        u, v = us[pair], vs[pair]
        if pair == 0 or us[pair - 1] != u:
            mark_topics(relation, u, mark)
        shared = 0
        for slot in range(relation.node_ptr[v], relation.node_ptr[v + 1]):
            shared += mark[relation.node_topics[slot]] != NONE
        ptr[pair + 1] = ptr[pair] + shared
        if pair + 1 == len(us) or us[pair + 1] != u:
            unmark_topics(relation, u, mark)


@kernel
def fill_shared(
    relation: Relation, us: Ids, vs: Ids, mark: Ids, ptr: Offsets, ours: Ids, theirs: Ids
) -> None:
    """Write the slots of u and of v for each topic that they share, where `count_shared` has made room."""
    for pair in range(len(us)):
        u, v = us[pair], vs[pair]
        if pair == 0 or us[pair - 1] != u:
            mark_topics(relation, u, mark)
        filled = ptr[pair]
        for slot in range(relation.node_ptr[v], relation.node_ptr[v + 1]):
            own = mark[relation.node_topics[slot]]
            if own != NONE:
                ours[filled], theirs[filled] = own, slot
                filled += 1
        if pair + 1 == len(us) or us[pair + 1] != u:
            unmark_topics(relation, u, mark)
