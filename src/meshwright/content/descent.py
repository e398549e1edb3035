"""Descent: improve the best of the other assignments by local search. This algorithm is ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meshwright.arrays import Ids, frozen
from meshwright.content.cost import assignment_state, cost
from meshwright.content.sequential import (
    channel_tree_weights,
    clustering,
    draw_brokers,
    mixing,
    packing,
    random,
)
from meshwright.content.workload import Workload
from meshwright.errors import InputError
from meshwright.jit.announce import working_seconds
from meshwright.progress import Progress

if TYPE_CHECKING:
    from meshwright.content.kernels.assignment_cost import AssignmentState, BrokerSearch

    Savings = Iterator[tuple[float, int]]
    """What each part of the search has saved, and the number of users and channels that it looked at."""

USERS_AT_ONCE = 500
"""Number of users that are swept between two looks at the clock."""
LEAST = 1e-9
"""A change that saves less than this fraction of the cost is ignored."""
ROUNDS, PERTURBATIONS = 5, 16
"""Number of rounds in which every channel is rebuilt; from the second one on also from perturbed sets."""
ENOUGH = 1e-5
"""The rounds end early after one that saves less than this fraction of the cost."""
START_SHARE = 0.25
"""Fraction of the time limit for building the assignments to start from."""


def descent(
    workload: Workload,
    *,
    seconds: float | None = None,
    steps: int | None = None,
    start: ArrayLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ids:
    """Improve the best of the other assignments by local search; the result is never worse than any of them.

    Users move one by one to the broker that saves most. If that is full, one of its users makes way: to where
    it loses least, or in a swap. In turn with this, each channel's brokers are chosen again, and its audience
    moves together: brokers are opened, left and swapped for near ones, also from perturbed sets in which the
    brokers of some region were opened or closed. Once nothing pays, every user is tried once more on each
    broker that would pay if trees did not grow. This is ours, not the paper's.

    Parameters
    ----------
    workload
        The users and brokers.
    seconds
        Stop after this time and return the best so far. Algorithms to start from that are not done after a
        quarter of it are left out, so one of them may be better.
    steps
        Stop after looking at this number of users and channels, or at most 499 more. The result is the same
        on every machine.
    start
        Improve this assignment instead.
    seed
        For the random ones of the starting assignments, and for the perturbed regions.
    progress
        Called from time to time with the steps so far, the fraction of the limit that is used, and the cost.

    Raises
    ------
    InputError
        If seconds or steps are negative, both are given, the start exceeds a capacity, or no algorithm finds
        room for all.
    """
    if seconds is not None and steps is not None:
        raise InputError("seconds and steps both limit the search: give one of them")
    for limit, what in ((seconds, "seconds"), (steps, "steps")):
        if limit is not None and not limit >= 0:
            raise InputError(f"{limit} {what}: give zero or more")
    began = working_seconds()
    if start is None:
        given = best_start(workload, seed=seed, seconds=None if seconds is None else START_SHARE * seconds)
    else:
        given = workload.check_assignment(start)
    known = cost(workload, given)
    if not known.within_capacity:
        raise InputError("the assignment to start from exceeds a capacity: give one that does not")
    if seconds == 0 or steps == 0:
        return given
    state = assignment_state(known)
    total, done = known.total, 0
    for saved, looked in search(workload, state, known.total, seed):
        total -= saved
        done += looked
        spent = [0.0 if seconds is None else (working_seconds() - began) / max(seconds, 1e-9)]
        spent.append(0.0 if steps is None else done / max(steps, 1))
        if progress is not None:
            progress(done, min(max(spent), 1.0), f"cost {total:,.6g}")
        if max(spent) >= 1.0:
            break
    better: Ids = state.broker_of.astype(np.int32)
    return better if cost(workload, better).total < known.total else given


def best_start(workload: Workload, *, seed: int = 0, seconds: float | None = None) -> Ids:
    """Return the cheapest assignment of the other algorithms in all variants.

    With `seconds`, those that are not done in time are left out. The fastest come first, and at least one
    assignment is made.

    Raises
    ------
    InputError
        If none of the algorithms finds room for all users.
    """
    found: list[tuple[float, Ids]] = []
    stuck: InputError | None = None
    until = None if seconds is None else working_seconds() + seconds

    for make in _start_algorithms(workload, seed):
        try:
            broker_of = make()
        except InputError as error:
            stuck = stuck or error
        else:
            found.append((cost(workload, broker_of).total, broker_of))
        if found and until is not None and working_seconds() >= until:
            break
    if not found:
        assert stuck is not None
        raise stuck
    return min(found, key=lambda it: it[0])[1]


def _start_algorithms(workload: Workload, seed: int) -> Iterator[Callable[[], Ids]]:
    """Yield the other algorithms in all variants, the slowest ones last."""
    yield lambda: packing(workload)
    yield lambda: random(workload, seed=seed)
    weights = channel_tree_weights(workload)
    chance = np.random.Generator(np.random.PCG64(seed)).random(workload.num_users)
    yield partial(draw_brokers, workload, weights, argmax=True, chance=chance)
    yield partial(draw_brokers, workload, weights, argmax=False, chance=chance)
    yield partial(mixing, workload, argmax=True, seed=seed)
    yield partial(mixing, workload, argmax=False, seed=seed)
    yield lambda: clustering(workload)


def search(workload: Workload, state: AssignmentState, total: float, seed: int) -> Savings:
    """Improve a state of cost `total` until nothing pays; yield after each part what it has saved."""
    from meshwright.content.kernels.local_search import Moves, rebuild_channel, sweep_users

    users, brokers = workload.num_users, workload.num_brokers
    ptr, subscribers = workload.audience
    audience = frozen(subscribers, np.int64)
    widest = max(int(np.diff(ptr).max(initial=0)), 2)
    channel_search = _channel_search(workload, widest)
    moves = Moves(*(np.zeros(widest, dtype=np.int64) for _ in Moves._fields))
    rng, least = np.random.Generator(np.random.PCG64(seed)), LEAST * total
    busy = np.flatnonzero((np.diff(ptr) > 1) & (workload.demand.channel_rate > 0))

    def over_users(hopeful: bool) -> Savings:
        estimate = channel_search.by_broker
        for first in range(0, users, USERS_AT_ONCE):
            last = min(first + USERS_AT_ONCE, users)
            yield sweep_users(state, first, last, hopeful, least, estimate, moves), last - first

    def over_channels(perturbations: int) -> Savings:
        for channel in busy.tolist():
            members = audience[ptr[channel] : ptr[channel + 1]]
            centres = rng.integers(brokers, size=perturbations)
            yield rebuild_channel(state, channel, members, centres, least, channel_search, moves), 1

    for number in range(ROUNDS):
        gained = 0.0
        for parts in (over_channels(PERTURBATIONS if number else 0), over_users(False)):
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


def _channel_search(workload: Workload, widest: int) -> BrokerSearch:
    """Return the arrays of a channel's search, for audiences of at most `widest` users."""
    from meshwright.content.kernels.assignment_cost import BrokerSearch

    brokers = workload.num_brokers
    return BrokerSearch(
        near=_by_distance(workload),
        costs=np.zeros((widest, brokers)),
        held=np.zeros(brokers, dtype=np.bool_),
        best_held=np.zeros(brokers, dtype=np.bool_),
        due=np.zeros(brokers, dtype=np.bool_),
        first=np.zeros(widest, dtype=np.int64),
        second=np.zeros(widest, dtype=np.int64),
        by_broker=np.zeros(brokers),
    )


def _by_distance(workload: Workload) -> NDArray[np.int64]:
    """Return, for each broker, all brokers by their distance from it, itself first."""
    apart = np.array(workload.core)
    np.fill_diagonal(apart, -1.0)
    return np.argsort(apart, axis=1, kind="stable")
