"""The interest as the kernels of the price bound walk it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from meshwright.compiling import inner

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from meshwright.interest import Ids, Offsets

    Floats: TypeAlias = NDArray[np.float32]
    Whole: TypeAlias = NDArray[np.int64]
    Int: TypeAlias = int | np.int64

NONE = -1


class Relation(NamedTuple):
    """The interest by node and by topic.

    A *slot* is a position in `node_topics`, a *place* one in `topic_nodes`; each subscription has one of
    both. Subscribers of a topic are in ascending order.
    """

    node_ptr: Offsets
    node_topics: Ids
    topic_ptr: Offsets
    topic_nodes: Ids
    place: Ids
    """By slot: the place of the same subscription."""


@inner
def mark_topics(relation: Relation, u: Int, mark: Ids) -> None:
    """Note for each topic of u the slot of that subscription."""
    for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
        mark[relation.node_topics[slot]] = slot


@inner
def unmark_topics(relation: Relation, u: Int, mark: Ids) -> None:
    """Forget what `mark_topics` noted."""
    for slot in range(relation.node_ptr[u], relation.node_ptr[u + 1]):
        mark[relation.node_topics[slot]] = NONE
