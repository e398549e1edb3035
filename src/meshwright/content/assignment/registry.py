"""The algorithms by name, with what they take and promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.content.model.workload import Workload
    from meshwright.progress import Progress

    Made = tuple[Ids, float | None]
    """An assignment, and what any costs at least, if that is known."""


@dataclass(frozen=True)
class Algorithm:
    """One way to put users on brokers."""

    name: str
    title: str
    promise: str
    parameters: tuple[str, ...]
    make: Callable[..., Made]


def find(name: str) -> Algorithm:
    """Return the algorithm of that name.

    Raises
    ------
    InputError
        If there is none; the message lists those there are.
    """
    if name not in ALGORITHMS:
        raise InputError(f"no algorithm {name!r}: choose one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


def _random(workload: Workload, *, seed: int, progress: Progress | None) -> Made:
    from meshwright.content.assignment.packing import random

    return random(workload, seed=seed), None


def _packing(workload: Workload, *, seed: int, progress: Progress | None) -> Made:
    from meshwright.content.assignment.packing import packing

    return packing(workload), None


def _clustering(workload: Workload, *, seed: int, progress: Progress | None) -> Made:
    from meshwright.content.assignment.clustering import clustering

    return clustering(workload), None


def _steiner(workload: Workload, *, seed: int, progress: Progress | None, argmax: bool = False) -> Made:
    from meshwright.content.assignment.steiner import steiner

    return steiner(workload, argmax=argmax, seed=seed), None


def _literal(workload: Workload, *, seed: int, progress: Progress | None, argmax: bool = False) -> Made:
    from meshwright.content.assignment.steiner import steiner_literal

    return steiner_literal(workload, argmax=argmax, seed=seed), None


def _descent(workload: Workload, *, seed: int, progress: Progress | None, **limits: Any) -> Made:
    from meshwright.content.assignment.descent import descent

    return descent(workload, seed=seed, progress=progress, **limits), None


def _exact(workload: Workload, *, seed: int, progress: Progress | None, time_limit: float = 60.0) -> Made:
    from meshwright.content.assignment.exact import exact

    found = exact(workload, time_limit=time_limit, seed=seed, progress=progress)
    return found.broker_of, found.lower_bound


ALGORITHMS = {
    known.name: known
    for known in (
        Algorithm("random", "Random", "none: what the others are measured against", (), _random),
        Algorithm("packing", "Greedy packing", "each user at its cheapest broker with room", (), _packing),
        Algorithm("clustering", "Clustering", "users who talk much share a broker", (), _clustering),
        Algorithm("steiner", "Steiner mixing", "a tree for each channel, mixed", ("argmax",), _steiner),
        Algorithm(
            "steiner-literal",
            "Steiner, literal",
            "a tree for each channel and publisher: near random",
            ("argmax",),
            _literal,
        ),
        Algorithm(
            "descent",
            "Descent",
            "never worse than any of the above, given the time for them",
            ("seconds", "steps"),
            _descent,
        ),
        Algorithm(
            "exact", "Exact", "the optimum, or a bound by the time limit; small ones", ("time_limit",), _exact
        ),
    )
}
"""Every algorithm, by the name that commands take."""
