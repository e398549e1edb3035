"""The dissemination tree of each channel, as one broker computes it from what it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.assignment.kernels.spanning_trees import span
from meshwright.content.migration.protocol.broker_state import BrokerState
from meshwright.content.migration.protocol.messages import Branch

if TYPE_CHECKING:
    from meshwright.arrays import Floats


class ChannelTrees:
    """For each channel, the tree from this broker to all brokers that have a subscriber.

    Trees are computed when they are needed, and kept until a subscriber moves or a broker crashes.
    """

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._trees: dict[int, tuple[Branch, list[int]]] = {}

    def tree(self, channel: int) -> tuple[Branch, list[int]]:
        """Return the tree of a channel, and the subscribers whose broker is dead."""
        known = self._trees.get(channel)
        if known is None:
            known = self._trees[channel] = self._compute(channel)
        return known

    def forget_user(self, user: int) -> None:
        """Drop the trees of the channels that a user subscribes to: its broker has changed."""
        workload = self._state.workload
        for slot in range(workload.subscription_ptr[user], workload.subscription_ptr[user + 1]):
            self._trees.pop(int(workload.subscription_channels[slot]), None)

    def forget_all(self) -> None:
        """Drop all trees: a broker has crashed."""
        self._trees.clear()

    def _compute(self, channel: int) -> tuple[Branch, list[int]]:
        state = self._state
        users_on: dict[int, list[int]] = {state.me: []}
        without_broker = []
        for user in state.subscribers[channel]:
            if user not in state.stranded:
                broker = state.broker_of(user)
                if broker in state.alive:
                    users_on.setdefault(broker, []).append(user)
                else:
                    without_broker.append(user)
        return spanning_tree(state.workload.core, state.me, users_on), without_broker


def spanning_tree(core: Floats, root: int, users_on: dict[int, list[int]]) -> Branch:
    """Return the minimum spanning tree of some brokers, rooted at one of them.

    `users_on` holds, for each broker of the tree, the users that the message is for.
    """
    order = np.array([root, *sorted(broker for broker in users_on if broker != root)], dtype=np.int32)
    size = len(order)
    parent, length = np.zeros(size, dtype=np.int32), np.zeros(size)
    span(core, order, size, parent, length)
    # Prim's algorithm starts at the root, so following the parents always leads there.
    children: list[list[Branch]] = [[] for _ in range(size)]
    branches = [
        Branch(broker, users_on[broker], children[place]) for place, broker in enumerate(order.tolist())
    ]
    for place in range(1, size):
        children[parent[place]].append(branches[place])
    return branches[0]
