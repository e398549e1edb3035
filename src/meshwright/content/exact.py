"""The assignment of least cost, for small workloads: integer programming by a solver from the shelf."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.content.cost import cost
from meshwright.content.descent import descent
from meshwright.content.program import Program
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.content.descent import Progress
    from meshwright.content.workload import Workload
    from meshwright.interest import Ids

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
    began = time.monotonic()
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
    while (left := time_limit - (time.monotonic() - began)) > 0 and lower < upper * (1 - TOLERANCE / 10):
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
            gone = (time.monotonic() - began) / time_limit
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
