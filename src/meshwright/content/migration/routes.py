"""The trees that publications take between brokers: the ones that the cost is made of (cbps, section II)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.kernels.trees import span
from meshwright.content.migration.desk import Desk
from meshwright.content.migration.verbs import Branch

if TYPE_CHECKING:
    from meshwright.content.demand import Floats


class Routes:
    """For each channel the tree from this broker to all that have a subscriber, as far as it knows."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._kept: dict[int, tuple[Branch, list[int]]] = {}

    def route(self, channel: int) -> tuple[Branch, list[int]]:
        """Return the tree of a channel, and the subscribers that are on no broker that is alive."""
        kept = self._kept.get(channel)
        if kept is None:
            kept = self._kept[channel] = self._laid(channel)
        return kept

    def moved(self, user: int) -> None:
        """Forget the trees of the channels that a user subscribes to."""
        workload = self._desk.workload
        for slot in range(workload.subscription_ptr[user], workload.subscription_ptr[user + 1]):
            self._kept.pop(int(workload.subscription_channels[slot]), None)

    def forget(self) -> None:
        """Forget all trees."""
        self._kept.clear()

    def _laid(self, channel: int) -> tuple[Branch, list[int]]:
        desk = self._desk
        targets: dict[int, list[int]] = {desk.me: []}
        absent = []
        for user in desk.audience[channel]:
            if user not in desk.lost:
                place = desk.directory[user][0]
                if place in desk.alive:
                    targets.setdefault(place, []).append(user)
                else:
                    absent.append(user)
        return tree(desk.workload.core, desk.me, targets), absent


def tree(core: Floats, root: int, targets: dict[int, list[int]]) -> Branch:
    """Lay the minimum spanning tree of some brokers, from one of them on."""
    order = np.array([root, *sorted(broker for broker in targets if broker != root)], dtype=np.int32)
    size = len(order)
    up, length = np.zeros(size, dtype=np.int32), np.zeros(size)
    span(core, order, size, up, length)
    # Prim's algorithm starts with the root, so whoever joins later hangs on one that has joined before.
    below: list[list[Branch]] = [[] for _ in range(size)]
    branches = [Branch(broker, targets[broker], below[place]) for place, broker in enumerate(order.tolist())]
    for place in range(1, size):
        below[up[place]].append(branches[place])
    return branches[0]
