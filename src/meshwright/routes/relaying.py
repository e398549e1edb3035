"""Who carries each topic: its subscribers, and relays where these are not connected among themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.interest import frozen
from meshwright.measure import components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.interest import Ids, Offsets
    from meshwright.measure.adjacency import Adjacency
    from meshwright.overlay import Overlay


def carriers(overlay: Overlay, links: Adjacency) -> tuple[Offsets, Ids, NDArray[np.bool_], NDArray[np.int64]]:
    """Return each topic's carriers (from where, which, whether a relay), and the topics that have no tree.

    The relays are those of Mehlhorn's approximate Steiner tree, of at most twice the fewest links. Topics of
    fewer than two subscribers, and those that cannot be spanned, have no carriers.
    """
    interest = overlay.interest
    sizes = np.diff(interest.topic_ptr)
    split = np.flatnonzero(components(overlay).of_topic > 1)
    topics = np.repeat(np.arange(interest.num_topics), sizes)
    members, relay = interest.topic_nodes, np.zeros(interest.num_subscriptions, dtype=bool)
    unreachable = np.zeros(0, dtype=np.int64)
    if len(split):
        from meshwright.routes.kernels import relays as kernels

        chosen = np.isin(topics, split)
        split_ptr = np.concatenate(([0], np.cumsum(sizes[split])))
        counts, found = kernels.relays(
            frozen(split_ptr, np.int64), frozen(members[chosen], np.int32), links.ptr, links.nodes
        )
        unreachable = split[counts < 0]
        topics = np.concatenate((topics, np.repeat(split, np.maximum(counts, 0))))
        members = np.concatenate((members, found))
        relay = np.concatenate((relay, np.ones(len(found), dtype=bool)))
    keep = (sizes[topics] > 1) & ~np.isin(topics, unreachable)
    topics, members, relay = topics[keep], members[keep], relay[keep]
    order = np.lexsort((members, topics))
    counts = np.bincount(topics, minlength=interest.num_topics)
    return (
        frozen(np.concatenate(([0], np.cumsum(counts))), np.int64),
        frozen(members[order], np.int32),
        frozen(relay[order], np.bool_),
        unreachable.astype(np.int64),
    )
