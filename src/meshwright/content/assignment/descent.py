"""Descent: from the best of the paper's assignments on, move by move, as long as that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.content.assignment.clustering import clustering
from meshwright.content.assignment.cost import cost
from meshwright.content.assignment.incremental_cost import standing
from meshwright.content.assignment.packing import packing, random
from meshwright.content.assignment.steiner import channel_tree_weights, mixed, publisher_tree_weights
from meshwright.errors import InputError
from meshwright.jit.announce import working_seconds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from meshwright.arrays import Ids
    from meshwright.content.assignment.kernels.incremental_cost import Standing
    from meshwright.content.model.workload import Workload
    from meshwright.progress import Progress

USERS_AT_ONCE = 500
"""So many are looked at between two looks at the clock, or one channel."""
LEAST = 1e-9
"""A move that saves less than this part of the cost is none."""
ROUNDS, DISTURBANCES = 5, 16
"""So often every channel is made anew, from the second time on from so many disturbed states, too."""
SHARE = 0.25
"""The part of the time in which the paper's assignments are made."""
ENOUGH = 1e-5
"""Unless a round saves at least this part of the cost, no more of them are made."""


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
    it loses least or to the place that gets free. In turn with that each channel's brokers are chosen anew,
    its audience moving together: brokers are opened, left and swapped for near ones, also after those of some
    region were opened or closed at random. When nothing of that pays, every user is tried once more at each
    broker that would pay if its trees did not grow. This is ours, not the paper's.

    Parameters
    ----------
    workload
        The users and brokers.
    seconds
        Stop after so long, as good as it is by then. Those of the paper's algorithms that are not done after
        a quarter of it are left out, so that one of them may be better.
    steps
        Stop when so many users and channels have been looked at, at most 499 more: as on every machine.
    start
        Improve this assignment instead.
    seed
        For those of the starting assignments that are drawn, and for the regions.
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
    began = working_seconds()
    if start is None:
        given = best_start(workload, seed=seed, seconds=None if seconds is None else SHARE * seconds)
    else:
        given = workload.check_assignment(start)
    known = cost(workload, given)
    if not known.within_capacity:
        raise InputError("the assignment to start from exceeds a capacity: give one that does not")
    if seconds == 0 or steps == 0:
        return given
    at = standing(known)
    total, done = known.total, 0
    for saved, looked in search(workload, at, known.total, seed):
        total -= saved
        done += looked
        spent = [0.0 if seconds is None else (working_seconds() - began) / max(seconds, 1e-9)]
        spent.append(0.0 if steps is None else done / max(steps, 1))
        if progress is not None:
            progress(done, min(max(spent), 1.0), f"cost {total:,.6g}")
        if max(spent) >= 1.0:
            break
    better: Ids = at.broker_of.astype(np.int32)
    return better if cost(workload, better).total < known.total else given


def best_start(workload: Workload, *, seed: int = 0, seconds: float | None = None) -> Ids:
    """Return the cheapest of the paper's assignments, or of those that can be made in some seconds.

    The quickest come first, and one is made in any case.

    Raises
    ------
    InputError
        If in none of them all users find room.
    """
    found: list[tuple[float, Ids]] = []
    stuck: InputError | None = None
    until = None if seconds is None else working_seconds() + seconds

    def late() -> bool:
        return bool(found) and until is not None and working_seconds() >= until

    for make in _makers(workload, seed, late):
        try:
            broker_of = make()
        except InputError as error:
            stuck = stuck or error
        else:
            found.append((cost(workload, broker_of).total, broker_of))
        if late():
            break
    if not found:
        assert stuck is not None
        raise stuck
    return min(found, key=lambda it: it[0])[1]


def _makers(workload: Workload, seed: int, late: Callable[[], bool]) -> Iterator[Callable[[], Ids]]:
    """Give the paper's algorithms in all variants, those that take longest last; the last may be too late."""
    yield lambda: packing(workload)
    yield lambda: random(workload, seed=seed)
    weights = channel_tree_weights(workload)
    yield partial(mixed, workload, weights, argmax=True, seed=seed)
    yield partial(mixed, workload, weights, argmax=False, seed=seed)
    yield lambda: clustering(workload)
    literal = publisher_tree_weights(workload, late=late)
    if literal is not None:
        yield partial(mixed, workload, literal, argmax=True, seed=seed)
        yield partial(mixed, workload, literal, argmax=False, seed=seed)


def search(workload: Workload, at: Standing, total: float, seed: int) -> Iterator[tuple[float, int]]:
    """Search until nothing pays; tell after each part what it has saved and how many it has looked at."""
    from meshwright.content.assignment.kernels.channel_rebuild import remake
    from meshwright.content.assignment.kernels.local_search import sweep_users

    users, brokers = workload.num_users, workload.num_brokers
    ptr, members = workload.audience
    audience = frozen(members, np.int64)
    widest = max(int(np.diff(ptr).max(initial=0)), 2)
    costs, guess = np.zeros((widest, brokers)), np.zeros(brokers)
    held, kept, due = (np.zeros(brokers, dtype=np.bool_) for _ in range(3))
    first_choice, second_choice = (np.zeros(widest, dtype=np.int64) for _ in range(2))
    group = [np.zeros(widest, dtype=np.int64) for _ in range(3)]
    near, rng = _nearest(workload), np.random.Generator(np.random.PCG64(seed))
    busy = np.flatnonzero((np.diff(ptr) > 1) & (workload.demand.channel_rate > 0))

    def over_users(hopeful: bool) -> Iterator[tuple[float, int]]:
        for first in range(0, users, USERS_AT_ONCE):
            last = min(first + USERS_AT_ONCE, users)
            yield sweep_users(at, first, last, hopeful, LEAST * total, guess, *group), last - first

    def over_channels(disturbances: int) -> Iterator[tuple[float, int]]:
        for channel in busy.tolist():
            them = audience[ptr[channel] : ptr[channel + 1]]
            centres = rng.integers(brokers, size=disturbances)
            saved = remake(
                at, channel, them, centres, near, LEAST * total, costs, held, kept, due,
                first_choice, second_choice, guess, *group,
            )  # fmt: skip
            yield saved, 1

    for number in range(ROUNDS):
        gained = 0.0
        for parts in (over_channels(DISTURBANCES if number else 0), over_users(False)):
            for saved, looked in parts:
                gained += saved
                yield saved, looked
        if number and gained < ENOUGH * total:
            break
    again = True
    while again:
        again = False
        for parts in (over_users(False), over_channels(0), over_users(True)):
            for saved, looked in parts:
                again = again or saved > 0.0
                yield saved, looked


def _nearest(workload: Workload) -> NDArray[np.int64]:
    """Return all brokers in order of their distance from each, that one first."""
    apart = np.array(workload.core)
    np.fill_diagonal(apart, -1.0)
    return np.argsort(apart, axis=1, kind="stable")
