"""Trees: for each topic, the paths of its messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.arrays import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets
    from meshwright.overlay import Overlay


@dataclass(frozen=True, eq=False)
class Trees:
    """One dissemination tree for each topic with at least two subscribers, inside an overlay.

    The tree of topic `t` has the nodes `nodes[ptr[t]:ptr[t + 1]]`, from the root outwards. `above` is the
    position of a node's parent within that slice (-1 for the root), and `links` is the overlay's edge to it.
    All nodes except relays are subscribers. A publisher-only broker is attached by a one-way link and is not
    among the nodes: `publishers` has a row of topic, broker and carrier for each.
    """

    overlay: Overlay
    objective: str
    rates: NDArray[np.float64]
    """Messages per second of each topic."""
    ptr: Offsets
    nodes: Ids
    above: Ids
    links: Ids
    unreachable: NDArray[np.int64]
    """Topics whose subscribers cannot reach each other even through relays: they have no tree."""
    publishers: NDArray[np.int32]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", frozen(self.rates, np.float64))
        object.__setattr__(self, "ptr", frozen(self.ptr, np.int64))
        object.__setattr__(self, "publishers", frozen(self.publishers.reshape(-1, 3), np.int32))
        for column in ("nodes", "above", "links"):
            object.__setattr__(self, column, frozen(getattr(self, column), np.int32))

    def __len__(self) -> int:
        """Return the number of topics with a tree."""
        return int(np.count_nonzero(np.diff(self.ptr)))

    def __repr__(self) -> str:
        return f"Trees({len(self)} topics, {int(self.relay.sum())} relays, by {self.objective})"

    @cached_property
    def topics(self) -> Ids:
        """The topic of each entry of `nodes`."""
        return np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int32), np.diff(self.ptr))

    @cached_property
    def parents(self) -> Ids:
        """The parent of each entry of `nodes`, -1 for roots."""
        parent = self.nodes[self.ptr[self.topics] + np.maximum(self.above, 0)]
        return np.where(self.above < 0, -1, parent).astype(np.int32)

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """The position of each entry of `nodes` in the interest's `topic_nodes`, -1 for relays."""
        interest = self.overlay.interest
        size = max(interest.num_nodes, 1)
        owners = np.repeat(np.arange(interest.num_topics), np.diff(interest.topic_ptr))
        held = owners * size + interest.topic_nodes
        asked = self.topics.astype(np.int64) * size + self.nodes
        place = np.searchsorted(held, asked)
        found = np.append(held, -1)[place] == asked
        return np.where(found, place, -1)

    @cached_property
    def relay(self) -> NDArray[np.bool_]:
        """Whether each entry of `nodes` is a relay: it forwards messages without subscribing."""
        return frozen(self.slots < 0, np.bool_)

    def edges_of(self, topic: int) -> list[tuple[int, int]]:
        """Return a tree as pairs of parent and child."""
        piece = slice(self.ptr[topic], self.ptr[topic + 1])
        pairs = zip(self.parents[piece].tolist(), self.nodes[piece].tolist(), strict=True)
        return [(parent, child) for parent, child in pairs if parent >= 0]

    def to_arrow(self) -> pa.Table:
        """Return a table `topic, parent, child` of names, as a plan stores it; the root has no parent.

        Publisher-only brokers are the last children of their topics.
        """
        interest = self.overlay.interest
        topics = np.concatenate((self.topics, self.publishers[:, 0]))
        parents = np.concatenate((self.parents, self.publishers[:, 2]))
        children = np.concatenate((self.nodes, self.publishers[:, 1]))
        order = np.argsort(topics, kind="stable")
        brokers = interest.node_names.cast(pa.string())
        return pa.table(
            {
                "topic": interest.topic_names.cast(pa.string()).take(pa.array(topics[order])),
                "parent": brokers.take(pa.array(parents[order], mask=parents[order] < 0)),
                "child": brokers.take(pa.array(children[order])),
            }
        )
