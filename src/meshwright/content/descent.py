"""Descent: from the best of the paper's assignments on, move by move, as long as that pays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from meshwright.content.chance import random
from meshwright.content.clustering import clustering
from meshwright.content.cost import cost
from meshwright.content.literal import steiner_literal
from meshwright.content.packing import packing
from meshwright.content.running import standing
from meshwright.content.steiner import channel_tree_weights, mixed
from meshwright.errors import InputError
from meshwright.interest import frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from meshwright.content.kernels.standing import Standing
    from meshwright.content.workload import Workload
    from meshwright.interest import Ids

    Progress = Callable[[int, float, str], None]

USERS_AT_ONCE = 500
CHANNELS_AT_ONCE = 5
"""So many are looked at between two looks at the clock."""
LEAST = 1e-9
"""A move that saves less than this part of the cost is none."""


def descent(
    workload: Workload,
    *,
    seconds: float | None = None,
    steps: int | None = None,
    start: ArrayLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ids:
    """Improve the best of the paper's assignments by local search; never worse than any of them.

    Users move one by one to the broker that saves most; where there is no room, another makes way, to where
    it loses least or to the place that gets free. A channel's audience at one broker moves as a whole where
    single moves cannot gather or dissolve it. When nothing of that pays, every user is tried once more at
    each broker that would pay if its trees did not grow. This is ours, not the paper's.

    Parameters
    ----------
    workload
        The users and brokers.
    seconds
        Stop after so long, as good as it is by then; the paper's algorithms are not cut short.
    steps
        Stop when so many users and channels have been looked at, at most 499 more: as on every machine.
    start
        Improve this assignment instead.
    seed
        For those of the starting assignments that are drawn.
    progress
        Called now and then with the steps so far, the part of the time or steps that is gone, and the cost.

    Raises
    ------
    InputError
        If seconds or steps are negative, the start exceeds a capacity, or no algorithm finds room for all.
    """
    for limit, what in ((seconds, "seconds"), (steps, "steps")):
        if limit is not None and not limit >= 0:
            raise InputError(f"{limit} {what}: give zero or more")
    began = time.monotonic()
    given = best_start(workload, seed=seed) if start is None else workload.check_assignment(start)
    known = cost(workload, given)
    if not known.within_capacity:
        raise InputError("the assignment to start from exceeds a capacity: give one that does not")
    if seconds == 0 or steps == 0:
        return given
    at = standing(known)
    total, done = known.total, 0
    for saved, looked in _search(workload, at, LEAST * known.total):
        total -= saved
        done += looked
        spent = [0.0 if seconds is None else (time.monotonic() - began) / max(seconds, 1e-9)]
        spent.append(0.0 if steps is None else done / max(steps, 1))
        if progress is not None:
            progress(done, min(max(spent), 1.0), f"cost {total:,.6g}")
        if max(spent) >= 1.0:
            break
    better: Ids = at.broker_of.astype(np.int32)
    return better if cost(workload, better).total < known.total else given


def best_start(workload: Workload, *, seed: int = 0) -> Ids:
    """Return the cheapest of the paper's assignments.

    Raises
    ------
    InputError
        If in none of them all users find room.
    """
    weights = channel_tree_weights(workload)
    makers: list[Callable[[], Ids]] = [
        lambda: mixed(workload, weights, argmax=True, seed=seed),
        lambda: mixed(workload, weights, argmax=False, seed=seed),
        lambda: packing(workload),
        lambda: clustering(workload),
        lambda: steiner_literal(workload, seed=seed),
        lambda: random(workload, seed=seed),
    ]
    found: list[tuple[float, Ids]] = []
    stuck: InputError | None = None
    for make in makers:
        try:
            broker_of = make()
        except InputError as error:
            stuck = stuck or error
        else:
            found.append((cost(workload, broker_of).total, broker_of))
    if not found:
        assert stuck is not None
        raise stuck
    return min(found, key=lambda it: it[0])[1]


def _search(workload: Workload, at: Standing, least: float) -> Iterator[tuple[float, int]]:
    """Search until nothing pays; tell after each part what it has saved and how many it has looked at."""
    from meshwright.content.kernels.descending import sweep_channels, sweep_users

    users, channels, brokers = workload.num_users, workload.num_channels, workload.num_brokers
    ptr, members = workload.audience
    audience = frozen(members, np.int64)
    widest = max(int(np.diff(ptr).max(initial=0)), 2)
    guess, gain = np.zeros(brokers), np.zeros(brokers)
    group = [np.zeros(widest, dtype=np.int64) for _ in range(3)]

    def over_users(hopeful: bool) -> Iterator[tuple[float, int]]:
        for first in range(0, users, USERS_AT_ONCE):
            last = min(first + USERS_AT_ONCE, users)
            yield sweep_users(at, first, last, hopeful, least, guess, *group), last - first

    def over_channels() -> Iterator[tuple[float, int]]:
        for first in range(0, channels, CHANNELS_AT_ONCE):
            last = min(first + CHANNELS_AT_ONCE, channels)
            found = sweep_channels(at, ptr, audience, first, last, least, guess, gain, *group)
            yield found, last - first

    again = True
    while again:
        again = False
        for parts in (over_users(False), over_channels()):
            for saved, looked in parts:
                again = again or saved > 0.0
                yield saved, looked
        if not again:
            for saved, looked in over_users(True):
                again = again or saved > 0.0
                yield saved, looked
