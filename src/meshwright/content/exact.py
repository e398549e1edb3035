"""The assignment of least cost for small workloads, by integer programming (cbps, section II-B).

Variables: x[i, b] is 1 if user i is on broker b; a[c, b] is 1 if b has a subscriber of channel c;
y[i, c, j, k] is 1 if messages of user i on channel c cross the link from j to k. Only the source and brokers
with a subscriber may forward a message: otherwise a broker in the middle could shorten a tree, and the cost
would not be the one that spanning trees define.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Floats, Ids
from meshwright.content.cost import cost
from meshwright.content.descent import descent
from meshwright.content.workload import Workload
from meshwright.errors import InputError
from meshwright.jit.announce import working_seconds
from meshwright.progress import Progress

Row = tuple[list[int], list[float], float, float]
"""A constraint: variables, their coefficients, and the least and largest value of the sum."""

MOST_VARIABLES = 400_000
"""Larger programs are rejected: no solver finishes them in reasonable time."""
TOLERANCE = 1e-6
"""The solver's relative tolerance: proofs are as good as this."""
INFEASIBLE = 2
"""The solver's status for a program without a solution."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best assignment found, its cost, and a lower bound on the cost of any assignment."""

    broker_of: Ids
    cost: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """The fraction of its cost by which it may exceed the optimum."""
        return (self.cost - self.lower_bound) / self.cost if self.cost else 0.0

    @property
    def proven(self) -> bool:
        """Whether it is the optimum, within the solver's tolerance."""
        return self.gap <= TOLERANCE


def exact(
    workload: Workload, *, time_limit: float = 60.0, seed: int = 0, progress: Progress | None = None
) -> Optimum:
    """Find the assignment of least cost, or the best one within a time limit, with a proven lower bound.

    HiGHS solves the integer program. If a solution leaves the broker of a subscriber unconnected, the
    constraints that it violates are added, and the program is solved again. The search starts with the
    assignment of descent, so the result is never worse.

    Parameters
    ----------
    workload
        About a dozen users, and a handful of brokers and channels.
    time_limit
        In seconds. With 0, the result is descent's assignment with the simplest bound: every user at its
        cheapest access link.
    seed
        For descent.
    progress
        Called from time to time with the rounds so far, the fraction of the time that is used, and the bound.

    Raises
    ------
    InputError
        For a negative time limit, a workload that is too large, or one without a possible assignment.
    """
    if not 0 <= time_limit < math.inf:
        raise InputError(f"a time limit of {time_limit} seconds: give a number of zero or more")
    began = working_seconds()
    best: Ids | None = None
    stuck: InputError | None = None
    # If descent finds no room for some user, the solver may still find an assignment.
    try:
        best = descent(workload, seed=seed)
    except InputError as error:
        stuck = error
    upper = math.inf if best is None else cost(workload, best).total
    lower = float((workload.load * workload.access.min(axis=1)).sum()) if workload.num_users else 0.0
    scale = (upper if 0 < upper < math.inf else max(lower, 1.0)) / 1000
    program = Program(workload, scale)
    rounds = 0
    while (left := time_limit - (working_seconds() - began)) > 0 and lower < upper * (1 - TOLERANCE / 10):
        found = _solve(program, left)
        rounds += 1
        if found.status == INFEASIBLE:
            if best is None:
                raise InputError("no assignment keeps within all capacities: raise them, or add brokers")
            # There is an assignment, but it meets a capacity so exactly that the solver rejects it.
            lower = upper
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


def _solve(program: Program, seconds: float) -> Any:
    """Return the solver's result."""
    from scipy.optimize import Bounds, milp

    return milp(
        program.objective,
        constraints=program.constraint(),
        bounds=Bounds(0.0, 1.0),
        integrality=np.ones(program.size, dtype=np.int64),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )


class Program:
    """The integer program of one workload.

    Flow f is one user's messages on one channel: `flows[f]` is the user and the channel's position in `busy`.
    Costs are divided by `scale`, so that the solver's absolute tolerance fits them.
    """

    def __init__(self, workload: Workload, scale: float) -> None:
        self.workload, self.scale = workload, scale
        users, brokers, demand = workload.num_users, workload.num_brokers, workload.demand
        self.busy = np.flatnonzero(demand.channel_rate > 0)
        place = {int(channel): number for number, channel in enumerate(self.busy)}
        sender = np.repeat(np.arange(users), np.diff(demand.ptr))
        self.flows = [(int(u), place[int(c)]) for u, c in zip(sender, demand.channels, strict=True)]
        self.arcs = [(j, k) for j in range(brokers) for k in range(brokers) if j != k]
        # Variables come in this order: all x, then all a, then all y.
        self.audience_at = users * brokers
        self.arcs_at = self.audience_at + len(self.busy) * brokers
        self.size = self.arcs_at + len(self.flows) * len(self.arcs)
        if self.size > MOST_VARIABLES:
            raise InputError(
                f"{self.size:,} variables are more than {MOST_VARIABLES:,}: exact is for small workloads; "
                "use descent"
            )
        self.cuts: set[tuple[int, ...]] = set()
        self.rows: list[Row] = list(self._first_rows())

    def x(self, user: int, broker: int) -> int:
        """Return the variable for a user being on a broker."""
        return user * self.workload.num_brokers + broker

    def a(self, channel: int, broker: int) -> int:
        """Return the variable for a broker having a subscriber of a channel."""
        return self.audience_at + channel * self.workload.num_brokers + broker

    def y(self, flow: int, j: int, k: int) -> int:
        """Return the variable for a flow crossing the link from j to k."""
        brokers = self.workload.num_brokers
        return self.arcs_at + flow * len(self.arcs) + j * (brokers - 1) + k - (k > j)

    @property
    def objective(self) -> Floats:
        """The cost of each variable."""
        workload = self.workload
        costs = np.zeros(self.size)
        costs[: self.audience_at] = (workload.load[:, None] * workload.access).reshape(-1)
        lengths = np.array([workload.core[j, k] for j, k in self.arcs])
        costs[self.arcs_at :] = np.multiply.outer(workload.demand.sent, lengths).reshape(-1)
        return costs / self.scale

    def _first_rows(self) -> Iterator[Row]:
        """Yield all rows except for cuts around several brokers, which `separate` adds as needed."""
        workload, brokers = self.workload, range(self.workload.num_brokers)
        # Loads are divided by the largest one: the solver's tolerance is absolute.
        unit = max(float(workload.load.max(initial=0.0)), 1e-300)
        # Every user is on exactly one broker.
        for user in range(workload.num_users):
            yield [self.x(user, b) for b in brokers], [1.0] * len(brokers), 1.0, 1.0
        # No broker exceeds its room.
        for b in brokers:
            if np.isfinite(workload.room[b]) and workload.num_users:
                users = range(workload.num_users)
                loads = (workload.load / unit).tolist()
                yield [self.x(user, b) for user in users], loads, -np.inf, float(workload.room[b]) / unit
        # a[c, b] is 1 if and only if a subscriber of c is on b.
        ptr, audience = workload.audience
        for number, channel in enumerate(self.busy):
            takers = audience[ptr[channel] : ptr[channel + 1]].tolist()
            for b in brokers:
                for user in takers:
                    yield [self.a(number, b), self.x(user, b)], [1.0, -1.0], 0.0, np.inf
                columns = [self.a(number, b), *(self.x(user, b) for user in takers)]
                yield columns, [1.0] + [-1.0] * len(takers), -np.inf, 0.0
        # A flow enters only brokers with a subscriber, and leaves only those and its source.
        for flow, (user, number) in enumerate(self.flows):
            for j, k in self.arcs:
                y = self.y(flow, j, k)
                yield [y, self.a(number, k)], [1.0, -1.0], -np.inf, 0.0
                yield [y, self.a(number, j), self.x(user, j)], [1.0, -1.0, -1.0], -np.inf, 0.0
            for k in brokers:
                yield self._cut(flow, k, [k])

    def _cut(self, flow: int, wanted: int, inside: list[int]) -> Row:
        """Return the row: a flow enters some brokers if one of them wants it and none is its source."""
        user, number = self.flows[flow]
        outside = [b for b in range(self.workload.num_brokers) if b not in inside]
        entering = [self.y(flow, j, k) for j in outside for k in inside]
        columns = [*entering, self.a(number, wanted), *(self.x(user, b) for b in inside)]
        return columns, [1.0] * len(entering) + [-1.0] + [1.0] * len(inside), 0.0, np.inf

    def constraint(self) -> Any:
        """Return all rows in the solver's form."""
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
        """Add the rows that a solution violates; return whether there are any."""
        added = False
        broker_of = self.assignment(values)
        for flow, (user, number) in enumerate(self.flows):
            reached = self._reached(values, flow, int(broker_of[user]))
            lost = [
                b
                for b in range(self.workload.num_brokers)
                if b not in reached and values[self.a(number, b)] > 0.5
            ]
            # The brokers that the flow does not reach must have a link that enters them.
            if lost:
                inside = [b for b in range(self.workload.num_brokers) if b not in reached]
                added = self._add_cuts(number, lost, inside) or added
        return self._forbid_overload(broker_of) or added

    def _reached(self, values: Floats, flow: int, source: int) -> set[int]:
        """Return the brokers that a flow reaches from its source in a solution."""
        reached, waiting = {source}, [source]
        while waiting:
            j = waiting.pop()
            for k in range(self.workload.num_brokers):
                if k not in reached and values[self.y(flow, j, k)] > 0.5:
                    reached.add(k)
                    waiting.append(k)
        return reached

    def _add_cuts(self, number: int, lost: list[int], inside: list[int]) -> bool:
        """Add a cut for every flow of a channel: the other flows would violate it next."""
        added = False
        for flow, (_, channel) in enumerate(self.flows):
            for wanted in lost if channel == number else ():
                key = (flow, wanted, *inside)
                if key not in self.cuts:
                    self.cuts.add(key)
                    self.rows.append(self._cut(flow, wanted, inside))
                    added = True
        return added

    def _forbid_overload(self, broker_of: Ids) -> bool:
        """Forbid the users of a broker whose load exceeds its room by less than the solver's tolerance."""
        workload = self.workload
        load: NDArray[Any] = np.bincount(broker_of, weights=workload.load, minlength=workload.num_brokers)
        over = np.flatnonzero(load > workload.room)
        for b in over.tolist():
            users = np.flatnonzero((broker_of == b) & (workload.load > 0)).tolist()
            row = [self.x(user, b) for user in users]
            self.rows.append((row, [1.0] * len(row), -np.inf, len(row) - 1.0))
        return bool(len(over))
