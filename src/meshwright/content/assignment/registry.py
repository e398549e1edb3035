"""The assignment algorithms by name: their titles, what each one does, and its parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.content.model.workload import Workload
    from meshwright.progress import Progress

    Result = tuple[Ids, float | None]
    """An assignment, and a lower bound on the cost of any assignment, if one is known."""


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
    """The names of the parameters that `make` takes, apart from `seed` and `progress`."""
    make: Callable[..., Result]


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


def _random(workload: Workload, *, seed: int, progress: Progress | None) -> Result:
    from meshwright.content.assignment.packing import random

    return random(workload, seed=seed), None


def _packing(workload: Workload, *, seed: int, progress: Progress | None) -> Result:
    from meshwright.content.assignment.packing import packing

    return packing(workload), None


def _clustering(workload: Workload, *, seed: int, progress: Progress | None) -> Result:
    from meshwright.content.assignment.clustering import clustering

    return clustering(workload), None


def _steiner(workload: Workload, *, seed: int, progress: Progress | None, argmax: bool = False) -> Result:
    from meshwright.content.assignment.steiner import steiner

    return steiner(workload, argmax=argmax, seed=seed), None


def _literal(workload: Workload, *, seed: int, progress: Progress | None, argmax: bool = False) -> Result:
    from meshwright.content.assignment.steiner import steiner_literal

    return steiner_literal(workload, argmax=argmax, seed=seed), None


def _descent(workload: Workload, *, seed: int, progress: Progress | None, **limits: Any) -> Result:
    from meshwright.content.assignment.descent import descent

    return descent(workload, seed=seed, progress=progress, **limits), None


def _exact(workload: Workload, *, seed: int, progress: Progress | None, time_limit: float = 60.0) -> Result:
    from meshwright.content.assignment.exact import exact

    found = exact(workload, time_limit=time_limit, seed=seed, progress=progress)
    return found.broker_of, found.lower_bound


ALGORITHMS = {
    known.name: known
    for known in (
        Algorithm("random", "Random", "the baseline for cost reduction ratios", (), _random),
        Algorithm("packing", "Greedy packing", "each user on its cheapest broker with room", (), _packing),
        Algorithm(
            "clustering",
            "Clustering by mean",
            "users with much traffic between them share a broker; the paper takes the sum, not the mean",
            (),
            _clustering,
        ),
        Algorithm(
            "steiner",
            "Steiner mixing, ours",
            "a tree for each channel, mixed; our own reading, not the paper's Algorithm 3",
            ("argmax",),
            _steiner,
        ),
        Algorithm(
            "steiner-literal",
            "Steiner mixing, Alg. 3",
            "a tree for each channel and publisher, mixed, as the paper prints it: close to random",
            ("argmax",),
            _literal,
        ),
        Algorithm(
            "descent",
            "Descent",
            "never worse than any of the above, if it has the time to run them",
            ("seconds", "steps"),
            _descent,
        ),
        Algorithm(
            "exact",
            "Exact",
            "the optimum, or a bound within the time limit; for small workloads",
            ("time_limit",),
            _exact,
        ),
    )
}
"""All algorithms, by name."""
