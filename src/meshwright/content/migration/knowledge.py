"""What a broker knows of all users, and the trees that publications take between brokers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.content.assignment.kernels.spanning_trees import span
from meshwright.content.migration.broker_state import Desk
from meshwright.content.migration.messages import Branch, Row
from meshwright.content.model.workload import Workload

if TYPE_CHECKING:
    from meshwright.arrays import Floats, Offsets


def rows_of(workload: Workload) -> list[Row]:
    """Return what each user of a workload knows of itself."""
    made = []
    for user in range(workload.num_users):
        taken = slice(workload.subscription_ptr[user], workload.subscription_ptr[user + 1])
        sent = slice(workload.rate_ptr[user], workload.rate_ptr[user + 1])
        made.append(
            Row(
                user,
                workload.subscription_channels[taken].tolist(),
                workload.rate_channels[sent].tolist(),
                workload.rates[sent].tolist(),
                workload.access[user].tolist(),
            )
        )
    return made


def workload_of(rows: Iterable[Row], core: Floats, capacity: Floats, channels: int) -> Workload:
    """Put rows together to the workload that they tell of; everything is named by number."""
    import pyarrow as pa

    known = sorted(rows)
    return Workload(
        pa.array([str(row.user) for row in known], pa.string()),
        pa.array([str(broker) for broker in range(len(core))], pa.string()),
        pa.array([str(channel) for channel in range(channels)], pa.string()),
        frozen(_offsets([len(row.channels) for row in known]), np.int64),
        frozen(np.concatenate([np.array(row.channels, np.int32) for row in known]), np.int32),
        frozen(np.concatenate([np.array(row.rates, np.float64) for row in known]), np.float64),
        frozen(_offsets([len(row.subscriptions) for row in known]), np.int64),
        frozen(np.concatenate([np.array(row.subscriptions, np.int32) for row in known]), np.int32),
        frozen(capacity, np.float64),
        frozen(np.array([row.access for row in known]).reshape(len(known), len(core)), np.float64),
        frozen(core, np.float64),
    )


def _offsets(sizes: Sequence[int]) -> Offsets:
    return np.concatenate(([0], np.cumsum(np.array(sizes, np.int64))))


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
