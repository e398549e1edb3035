"""The assignment of least cost for small workloads, by integer programming (cbps, section II-B).

x[i, b]: user i is on broker b. a[c, b]: b has a subscriber of channel c. y[i, c, j, k]: messages of user i on
channel c cross the link from j to k. Only brokers that are the source or have a subscriber may pass a message
on: without that, a broker in the middle could shorten a tree, and the cost would not be the one that is
defined by spanning trees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.content.assignment.cost import cost
from meshwright.content.assignment.descent import descent
from meshwright.errors import InputError
from meshwright.jit.announce import working_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.content.model.demand import Floats
    from meshwright.content.model.workload import Workload
    from meshwright.progress import Progress


MOST_VARIABLES = 400_000
"""More than this no solver handles in any time that somebody would wait."""


class Program:
    """The variables and rows for one workload; costs are scaled so that the solver's tolerance suits them."""

    def __init__(self, workload: Workload, scale: float) -> None:
        self.workload, self.scale = workload, scale
        users, brokers, demand = workload.num_users, workload.num_brokers, workload.demand
        self.busy = np.flatnonzero(demand.channel_rate > 0)
        place = {int(channel): number for number, channel in enumerate(self.busy)}
        sender = np.repeat(np.arange(users), np.diff(demand.ptr))
        self.flows = [(int(u), place[int(c)]) for u, c in zip(sender, demand.channels, strict=True)]
        self.arcs = [(j, k) for j in range(brokers) for k in range(brokers) if j != k]
        self.audience_at = users * brokers
        self.arcs_at = self.audience_at + len(self.busy) * brokers
        self.size = self.arcs_at + len(self.flows) * len(self.arcs)
        if self.size > MOST_VARIABLES:
            raise InputError(
                f"{self.size:,} variables are more than {MOST_VARIABLES:,}: the optimum is for small "
                "workloads; take descent"
            )
        self.rows: list[tuple[list[int], list[float], float, float]] = []
        self.cuts: set[tuple[int, ...]] = set()
        for row in self._rows():
            self.rows.append(row)

    def x(self, user: int, broker: int) -> int:
        """Return the variable that says whether a user is on a broker."""
        return user * self.workload.num_brokers + broker

    def a(self, channel: int, broker: int) -> int:
        """Return the variable that says whether a broker has a subscriber of a channel."""
        return self.audience_at + channel * self.workload.num_brokers + broker

    def y(self, flow: int, j: int, k: int) -> int:
        """Return the variable that says whether a flow crosses a link."""
        brokers = self.workload.num_brokers
        return self.arcs_at + flow * len(self.arcs) + j * (brokers - 1) + k - (k > j)

    @property
    def objective(self) -> Floats:
        """What each variable costs."""
        workload = self.workload
        made = np.zeros(self.size)
        made[: self.audience_at] = (workload.load[:, None] * workload.access).reshape(-1)
        lengths = np.array([workload.core[j, k] for j, k in self.arcs])
        made[self.arcs_at :] = np.multiply.outer(workload.demand.sent, lengths).reshape(-1)
        return made / self.scale

    def _rows(self) -> Iterator[tuple[list[int], list[float], float, float]]:
        workload, brokers = self.workload, range(self.workload.num_brokers)
        unit = max(float(workload.load.max(initial=0.0)), 1e-300)
        for user in range(workload.num_users):
            yield [self.x(user, b) for b in brokers], [1.0] * len(brokers), 1.0, 1.0
        for b in brokers:
            if np.isfinite(workload.room[b]) and workload.num_users:
                users = range(workload.num_users)
                loads = (workload.load / unit).tolist()
                yield [self.x(user, b) for user in users], loads, -np.inf, float(workload.room[b]) / unit
        ptr, audience = workload.audience
        for number, channel in enumerate(self.busy):
            takers = audience[ptr[channel] : ptr[channel + 1]].tolist()
            for b in brokers:
                for user in takers:
                    yield [self.a(number, b), self.x(user, b)], [1.0, -1.0], 0.0, np.inf
                columns = [self.a(number, b), *(self.x(user, b) for user in takers)]
                yield columns, [1.0] + [-1.0] * len(takers), -np.inf, 0.0
        for flow, (user, number) in enumerate(self.flows):
            for j, k in self.arcs:
                y = self.y(flow, j, k)
                yield [y, self.a(number, k)], [1.0, -1.0], -np.inf, 0.0
                yield [y, self.a(number, j), self.x(user, j)], [1.0, -1.0, -1.0], -np.inf, 0.0
            for k in brokers:
                yield self._cut(flow, k, [k])

    def _cut(self, flow: int, wanted: int, inside: list[int]) -> tuple[list[int], list[float], float, float]:
        """Return the row: a flow enters some brokers if one of them wants it and its source is not there."""
        user, number = self.flows[flow]
        outside = [b for b in range(self.workload.num_brokers) if b not in inside]
        entering = [self.y(flow, j, k) for j in outside for k in inside]
        columns = [*entering, self.a(number, wanted), *(self.x(user, b) for b in inside)]
        return columns, [1.0] * len(entering) + [-1.0] + [1.0] * len(inside), 0.0, np.inf

    def constraint(self) -> Any:
        """Return all rows as the solver takes them."""
        from scipy.optimize import LinearConstraint
        from scipy.sparse import csr_array

        counts = [len(row[0]) for row in self.rows]
        columns = np.concatenate([np.array(row[0], dtype=np.int64) for row in self.rows])
        values = np.concatenate([np.array(row[1]) for row in self.rows])
        ptr = np.concatenate(([0], np.cumsum(counts)))
        matrix = csr_array((values, columns, ptr), shape=(len(self.rows), self.size))
        return LinearConstraint(matrix, [row[2] for row in self.rows], [row[3] for row in self.rows])

    def assignment(self, values: Floats) -> Ids:
        """Return the broker of each user in a solution."""
        chosen = values[: self.audience_at].reshape(self.workload.num_users, -1)
        best: Ids = np.argmax(chosen, axis=1).astype(np.int32)
        return best

    def separate(self, values: Floats) -> bool:
        """Add the rows that a solution breaks; say whether there are any."""
        added = False
        broker_of = self.assignment(values)
        for flow, (user, number) in enumerate(self.flows):
            reached = self._reached(values, flow, int(broker_of[user]))
            lost = [
                b
                for b in range(self.workload.num_brokers)
                if b not in reached and values[self.a(number, b)] > 0.5
            ]
            if lost:
                inside = [b for b in range(self.workload.num_brokers) if b not in reached]
                added = self._add_cuts(number, lost, inside) or added
        return self._refuse_overload(broker_of) or added

    def _reached(self, values: Floats, flow: int, source: int) -> set[int]:
        reached, waiting = {source}, [source]
        while waiting:
            j = waiting.pop()
            for k in range(self.workload.num_brokers):
                if k not in reached and values[self.y(flow, j, k)] > 0.5:
                    reached.add(k)
                    waiting.append(k)
        return reached

    def _add_cuts(self, number: int, lost: list[int], inside: list[int]) -> bool:
        """Add a cut for every flow of a channel: others would come by the same way next."""
        added = False
        for flow, (_, channel) in enumerate(self.flows):
            for wanted in lost if channel == number else ():
                key = (flow, wanted, *inside)
                if key not in self.cuts:
                    self.cuts.add(key)
                    self.rows.append(self._cut(flow, wanted, inside))
                    added = True
        return added

    def _refuse_overload(self, broker_of: Ids) -> bool:
        """Forbid users together on a broker whose loads exceed it by less than the solver's tolerance."""
        workload = self.workload
        load: NDArray[Any] = np.bincount(broker_of, weights=workload.load, minlength=workload.num_brokers)
        over = np.flatnonzero(load > workload.room)
        for b in over.tolist():
            users = np.flatnonzero((broker_of == b) & (workload.load > 0)).tolist()
            row = [self.x(user, b) for user in users]
            self.rows.append((row, [1.0] * len(row), -np.inf, len(row) - 1.0))
        return bool(len(over))


TOLERANCE = 1e-6
"""The solver's: proofs are as good as this, relatively."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best assignment that was found, what it costs, and what any costs at least."""

    broker_of: Ids
    cost: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """By which part of its cost it may be above the best."""
        return (self.cost - self.lower_bound) / self.cost if self.cost else 0.0

    @property
    def proven(self) -> bool:
        """Whether none is cheaper, within the solver's tolerance."""
        return self.gap <= TOLERANCE


def exact(
    workload: Workload, *, time_limit: float = 60.0, seed: int = 0, progress: Progress | None = None
) -> Optimum:
    """Find the assignment of least cost, or the best within a time limit together with a proven bound.

    Integer programs are solved by HiGHS; when a solution leaves a subscriber's broker unconnected, the
    constraints that say so are added and it goes on. It begins with what descent finds and is never worse.

    Parameters
    ----------
    workload
        A dozen users and a handful of brokers and channels rather than more.
    time_limit
        Seconds; at 0 descent's assignment and the simplest bound: everybody at the cheapest access.
    seed
        For descent.
    progress
        Called now and then with the rounds so far, the part of the time that is gone, and the bound.

    Raises
    ------
    InputError
        For a time limit below 0, a workload that is far too large, or one that has no assignment.
    """
    if not 0 <= time_limit < math.inf:
        raise InputError(f"a time limit of {time_limit} seconds: give a number of zero or more")
    began = working_seconds()
    best: Ids | None = None
    stuck: InputError | None = None
    try:
        best = descent(workload, seed=seed)
    except InputError as error:
        stuck = error  # not all found room one after the other: the solver may know better
    upper = math.inf if best is None else cost(workload, best).total
    lower = float((workload.load * workload.access.min(axis=1)).sum()) if workload.num_users else 0.0
    scale = (upper if 0 < upper < math.inf else max(lower, 1.0)) / 1000
    program = Program(workload, scale)
    rounds = 0
    while (left := time_limit - (working_seconds() - began)) > 0 and lower < upper * (1 - TOLERANCE / 10):
        found = _solved(program, left)
        rounds += 1
        if found.status == 2:
            if best is None:
                raise InputError("no assignment keeps within all capacities: raise them, or add brokers")
            lower = upper  # the solver's tolerance at a capacity that is met exactly
            break
        if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
            lower = max(lower, found.mip_dual_bound * scale)
        if found.x is not None:
            candidate = program.assignment(found.x)
            known = cost(workload, candidate)
            if known.within_capacity and known.total < upper * (1 - 1e-12):
                best, upper = candidate, known.total
            if not program.separate(found.x) and found.status == 0:
                break
        if progress is not None:
            gone = (working_seconds() - began) / time_limit
            progress(rounds, min(gone, 1.0), f"cost {upper:,.6g}, at least {lower:,.6g}")
    if best is None:
        assert stuck is not None
        raise stuck
    return Optimum(best, upper, min(lower, upper))


def _solved(program: Program, seconds: float) -> Any:
    from scipy.optimize import Bounds, milp

    return milp(
        program.objective,
        constraints=program.constraint(),
        bounds=Bounds(0.0, 1.0),
        integrality=np.ones(program.size, dtype=np.int64),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
