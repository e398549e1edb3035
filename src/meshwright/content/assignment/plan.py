"""Run an algorithm by its name; the result is a plan: an assignment with its cost and figures."""

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
    """An assignment of users to brokers, its cost, and how it was made."""

    workload: Workload
    algorithm: str
    """The name of the algorithm, as in `ALGORITHMS`."""
    parameters: Mapping[str, Any]
    """The parameters that the algorithm was given."""
    seed: int
    cost: Cost
    """The assignment with its cost."""
    seconds: float
    """How long the algorithm took, without the compilation of its kernels."""
    lower_bound: float | None = None
    """A proven lower bound on the cost of any assignment; None if none is known."""
    random_cost: float | None = None
    """The cost of a random assignment; None if that finds no room for everybody."""

    @property
    def crr(self) -> float | None:
        """The cost reduction ratio: the cost of a random assignment divided by the cost of this one."""
        if self.random_cost is None:
            return None
        return self.random_cost / self.cost.total if self.cost.total else 1.0

    @property
    def gap(self) -> float | None:
        """The fraction of its cost by which it may exceed the optimum; None if no bound is known."""
        if self.lower_bound is None:
            return None
        return (self.cost.total - self.lower_bound) / self.cost.total if self.cost.total else 0.0

    @cached_property
    def tree(self) -> BrokerTree:
        """The same brokers connected by one tree instead."""
        return broker_tree(self.cost)

    @property
    def figures(self) -> dict[str, Any]:
        """The figures that plans are stored and compared with."""
        workload = self.workload
        total = self.cost.total
        figures: dict[str, Any] = {
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
            figures |= {"lower_bound": self.lower_bound, "gap": self.gap}
        return figures


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
        Called from time to time by the slower algorithms: steps so far, the fraction done, and a text.
    parameters
        Parameters of the algorithm: `argmax` for the two Steiner variants, `seconds` and `steps` for descent,
        `time_limit` for exact. Those that are None count as not given.

    Raises
    ------
    InputError
        For an unknown algorithm or parameter, or if no broker has room for some user.

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
    # Computed here, so that the time is that of the algorithm alone.
    workload.load, workload.audience  # noqa: B018
    began = working_seconds()
    broker_of, bound = known.make(workload, seed=seed, progress=progress, **given)
    seconds = working_seconds() - began
    return ContentPlan(
        workload,
        algorithm=algorithm,
        parameters=given,
        seed=seed,
        cost=cost(workload, broker_of),
        seconds=seconds,
        lower_bound=bound,
        random_cost=_random_cost(workload, seed),
    )


def _random_cost(workload: Workload, seed: int) -> float | None:
    try:
        return cost(workload, random(workload, seed=seed)).total
    except InputError:
        return None
