"""The assignment algorithms by name; running one gives a plan: an assignment with its cost and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np

from meshwright.arrays import Ids
from meshwright.content.cost import BrokerTree, Cost, broker_tree, cost
from meshwright.content.descent import descent
from meshwright.content.exact import Optimum, exact
from meshwright.content.sequential import clustering, mixing, packing, random, steiner
from meshwright.content.workload import Workload
from meshwright.errors import InputError
from meshwright.formatting import amount, counted, shown
from meshwright.jit.announce import working_seconds
from meshwright.progress import Progress


@dataclass(frozen=True)
class Algorithm:
    """One way to put users on brokers."""

    name: str
    """The name that `assign` and commands take."""
    title: str
    """The name in tables and charts."""
    promise: str
    """What it does or guarantees, in one line."""
    parameters: tuple[str, ...]
    """The names of the parameters that `assign` takes for it, apart from `seed` and `progress`."""
    make: Callable[..., Ids | Optimum]
    """Takes a workload, these parameters, and `seed` and `progress` where it needs them."""

    def run(self, workload: Workload, *, parameters: Mapping[str, Any], **shared: Any) -> Ids | Optimum:
        """Run it; `shared` is what only some algorithms need."""
        needed = signature(self.make).parameters.keys() & shared.keys()
        return self.make(workload, **{name: shared[name] for name in needed}, **parameters)


def find(name: str) -> Algorithm:
    """Return the algorithm with a name.

    Raises
    ------
    InputError
        If there is no such algorithm; the error lists all names.
    """
    if name not in ALGORITHMS:
        raise InputError(f"no algorithm {name!r}: choose one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


def _clustering(workload: Workload, *, sum: bool = False) -> Ids:  # noqa: A002  the name of the option
    return clustering(workload, by_sum=sum)


ALGORITHMS = {
    known.name: known
    for known in (
        Algorithm("random", "Random", "the baseline for cost reduction ratios", (), random),
        Algorithm("packing", "Greedy packing", "each user on its cheapest broker with room", (), packing),
        Algorithm(
            "clustering",
            "Clustering by mean",
            "users with much traffic between them share a broker; the mean is ours, the sum is the paper's",
            ("sum",),
            _clustering,
        ),
        Algorithm(
            "mixing",
            "Steiner mixing, Alg. 3",
            "a tree for each channel and publisher, mixed; on one channel a user has one broker",
            ("argmax",),
            mixing,
        ),
        Algorithm(
            "steiner",
            "Steiner mixing, ours",
            "a tree for each channel, mixed; brokers open where they save most; not the paper's Algorithm 3",
            ("argmax",),
            steiner,
        ),
        Algorithm(
            "descent",
            "Descent",
            "never worse than any of the above, if it has the time to run them",
            ("seconds", "steps"),
            descent,
        ),
        Algorithm(
            "exact",
            "Exact",
            "the optimum, or a bound within the time limit; for small workloads",
            ("time_limit",),
            exact,
        ),
    )
}
"""All algorithms, by name."""


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

    def __repr__(self) -> str:
        size = f"{counted(self.workload.num_users, 'user')} on {counted(self.workload.num_brokers, 'broker')}"
        return f"ContentPlan({self.algorithm}: {size}, cost {amount(self.cost.total)})"

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_bars, html_table

        rows = [(name, shown(value)) for name, value in self.figures.items() if value is not None]
        load = np.bincount(self.cost.broker_of, minlength=self.workload.num_brokers).tolist()
        return html_table(rows, caption=repr(self)) + html_bars(load, label="users of each broker")

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
        Parameters of the algorithm: `sum` for clustering, `argmax` for mixing and steiner, `seconds`
        and `steps` for descent, `time_limit` for exact. Those that are None count as not given.

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
    # Loads, audiences and the compiler are loaded here, so that the time is that of the algorithm alone.
    workload.load, workload.audience  # noqa: B018
    random_cost = _random_cost(workload, seed)
    began = working_seconds()
    found = known.run(workload, parameters=given, seed=seed, progress=progress)
    seconds = working_seconds() - began
    broker_of, bound = (found.broker_of, found.lower_bound) if isinstance(found, Optimum) else (found, None)
    return ContentPlan(
        workload,
        algorithm=algorithm,
        parameters=given,
        seed=seed,
        cost=cost(workload, broker_of),
        seconds=seconds,
        lower_bound=bound,
        random_cost=random_cost,
    )


def _random_cost(workload: Workload, seed: int) -> float | None:
    try:
        return cost(workload, random(workload, seed=seed)).total
    except InputError:
        return None
