"""One assignment made by a named algorithm, with its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from meshwright.content.assignment.broker_tree import BrokerTree, broker_tree
from meshwright.content.assignment.cost import Cost, cost
from meshwright.content.assignment.packing import random
from meshwright.content.assignment.registry import find
from meshwright.errors import InputError
from meshwright.jit.announce import working_seconds

if TYPE_CHECKING:
    from meshwright.content.model.workload import Workload
    from meshwright.progress import Progress


@dataclass(frozen=True, eq=False)
class ContentPlan:
    """Where each user goes, what that costs, and how it was made."""

    workload: Workload
    algorithm: str
    parameters: Mapping[str, Any]
    seed: int
    cost: Cost
    seconds: float
    """How long the algorithm took, without the compilation of its kernels."""
    lower_bound: float | None = None
    random_cost: float | None = None
    """What random assignment costs; None if that finds no room for everybody."""

    @property
    def crr(self) -> float | None:
        """The cost reduction ratio: what random assignment costs over what this one does."""
        if self.random_cost is None:
            return None
        return self.random_cost / self.cost.total if self.cost.total else 1.0

    @property
    def gap(self) -> float | None:
        """By which part of its cost it may be above the best; None if nothing is known of that."""
        if self.lower_bound is None:
            return None
        return (self.cost.total - self.lower_bound) / self.cost.total if self.cost.total else 0.0

    @cached_property
    def tree(self) -> BrokerTree:
        """The brokers wired as one tree instead."""
        return broker_tree(self.cost)

    @property
    def figures(self) -> dict[str, Any]:
        """What a plan states of itself."""
        workload = self.workload
        total = self.cost.total
        made: dict[str, Any] = {
            "users": workload.num_users,
            "brokers": workload.num_brokers,
            "channels": workload.num_channels,
            "subscribers_per_channel": len(workload.subscription_channels) / max(workload.num_channels, 1),
            "cost": total,
            "access_cost": self.cost.access,
            "core_cost": self.cost.core,
            "core_share": self.cost.core / total if total else 0.0,
            "tree_core_cost": self.tree.core,
            "crr": self.crr,
            "max_load": self.cost.max_load,
            "seconds": self.seconds,
        }
        if self.lower_bound is not None:
            made |= {"lower_bound": self.lower_bound, "gap": self.gap}
        return made


def assign(
    workload: Workload,
    algorithm: str = "descent",
    *,
    seed: int = 0,
    progress: Progress | None = None,
    **parameters: Any,
) -> ContentPlan:
    """Put users on brokers by a named algorithm.

    Parameters
    ----------
    workload
        The users and brokers.
    algorithm
        One of `ALGORITHMS`.
    seed
        The same seed gives the same assignment.
    progress
        Called now and then by the longer ones with steps, the part that is done, and what is told.
    parameters
        What the algorithm takes: `argmax` for the Steiner ones, `seconds` and `steps` for descent,
        `time_limit` for exact. Those that are None count as not given.

    Raises
    ------
    InputError
        For an unknown algorithm or parameter, or if some user finds no room.

    Examples
    --------
    >>> from meshwright.content import synthetic
    >>> plan = assign(synthetic(200, 4, seed=1), "packing")
    >>> plan.cost.within_capacity, plan.crr > 1
    (True, True)
    """
    known = find(algorithm)
    given = {name: value for name, value in parameters.items() if value is not None}
    wrong = [name for name in given if name not in known.parameters]
    if wrong:
        takes = ", ".join(known.parameters) or "no parameters"
        raise InputError(f"{algorithm} does not take {', '.join(wrong)}: it takes {takes}")
    workload.load, workload.audience  # noqa: B018  worked out before the clock runs
    began = working_seconds()
    broker_of, bound = known.make(workload, seed=seed, progress=progress, **given)
    seconds = working_seconds() - began
    return ContentPlan(
        workload, algorithm, given, seed, cost(workload, broker_of), seconds, bound, _baseline(workload, seed)
    )


def _baseline(workload: Workload, seed: int) -> float | None:
    try:
        return cost(workload, random(workload, seed=seed)).total
    except InputError:
        return None
