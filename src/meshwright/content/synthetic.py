"""Synthetic workloads, as in the paper's evaluation, with two models of link costs (cbps, section VI)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from meshwright.arrays import Floats
from meshwright.content.densities import Approximation, Quadratic, channel_rates, over_approximation
from meshwright.content.parts import Places
from meshwright.content.space import Attribute, Boxes, grid
from meshwright.content.workload import CAPACITY_OVER_DEMAND, Workload
from meshwright.errors import InputError

Model: TypeAlias = Literal["uniform", "narrow", "plane"]
DEAREST = {"uniform": 2.0, "narrow": 1.2}
"""Links cost from 1 to this; at most 2, so that the triangle inequality holds."""
USERS_PER_BROKER = 100
SPACE = Attribute("content")


def synthetic(
    users: int,
    brokers: int | None = None,
    channels: int = 100,
    *,
    model: Model = "uniform",
    length: float | None = None,
    ratio: float = 1.0,
    capacity: float = CAPACITY_OVER_DEMAND,
    seed: int = 0,
) -> Workload:
    """Draw a random workload: content from 0 to 1, quadratic rate densities, one interval for each user.

    Parameters
    ----------
    users, brokers
        How many; one broker for every 100 users by default.
    channels
        The number of equal channels that the content is cut into.
    model
        What links cost. `uniform`: each a random number from 1 to 2. `narrow`: from 1 to 1.2. `plane`:
        distances of random points in the unit square.
    length
        The length of each user's interval. By default each user subscribes to one channel.
    ratio
        The mean access cost divided by the mean core cost between different brokers; core costs are scaled
        to it.
    capacity
        All capacities together, divided by all loads; all brokers have the same capacity.
    seed
        The same seed gives the same workload.

    Raises
    ------
    InputError
        For a number out of its range or an unknown model.
    """
    brokers = max(1, users // USERS_PER_BROKER) if brokers is None else brokers
    _check(users, brokers, model, length, ratio)
    rng = np.random.Generator(np.random.PCG64(seed))
    density, boxes = _densities_and_intervals(rng, users, channels, length)
    cut = grid([SPACE], [channels])
    rates = channel_rates([density], cut)
    publisher, published = np.nonzero(rates)
    workload = Workload.build(
        _names("user", users),
        _names("broker", brokers),
        cut.names,
        rates=(publisher, published, rates[publisher, published]),
        subscriptions=cut.met_by(boxes),
        **_link_costs(rng, users, brokers, model, ratio),
        capacity=0.0,
        described={
            "model": model,
            "users": users,
            "brokers": brokers,
            "channels": channels,
            "length": length,
            "ratio": ratio,
            "capacity": capacity,
            "seed": seed,
        },
    )
    return workload.with_capacity(capacity)


def synthetic_approximation(
    users: int, channels: int = 100, *, length: float | None = None, seed: int = 0
) -> Approximation:
    """Measure how much more than its interval a user of such a workload gets by whole channels."""
    rng = np.random.Generator(np.random.PCG64(seed))
    density, boxes = _densities_and_intervals(rng, users, channels, length)
    return over_approximation([density], grid([SPACE], [channels]), boxes)


def _densities_and_intervals(
    rng: np.random.Generator, users: int, channels: int, length: float | None
) -> tuple[Quadratic, Boxes]:
    """Draw the coefficients of each user's density, from −1 to 1, and the place of its interval."""
    density = Quadratic(*(rng.uniform(-1.0, 1.0, users) for _ in range(3)))
    at = rng.random(users)
    if length is None:
        edges = grid([SPACE], [channels]).edges[0]
        part = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, channels - 1)
        low, high = edges[part], edges[part + 1]
    else:
        low = at * (1.0 - length)
        high = low + length
    return density, Boxes(np.arange(users), low[:, None], high[:, None])


def _link_costs(
    rng: np.random.Generator, users: int, brokers: int, model: Model, ratio: float
) -> dict[str, Any]:
    """Draw what links cost, as arguments of `Workload.build`."""
    if model == "plane":
        points = Places(rng.random((users, 2)), rng.random((brokers, 2)))
        weight = _core_factor(points.access(), points.core(), ratio)
        return {"places": Places(points.users, points.brokers, weight)}
    access = rng.uniform(1.0, DEAREST[model], (users, brokers))
    upper = np.triu(rng.uniform(1.0, DEAREST[model], (brokers, brokers)), 1)
    core = upper + upper.T
    core *= _core_factor(access, core, ratio)
    return {"access": access, "core": core}


def _core_factor(access: Floats, core: Floats, ratio: float) -> float:
    """Return the factor for core costs that gives the wanted ratio of mean costs."""
    brokers = len(core)
    if brokers < 2 or not len(access):
        return 1.0 / ratio
    return float(access.mean() / ratio / (core.sum() / (brokers * (brokers - 1))))


def _names(what: str, count: int) -> Sequence[str]:
    width = len(str(count - 1))
    return [f"{what}{number:0{width}}" for number in range(count)]


def _check(users: int, brokers: int, model: str, length: float | None, ratio: float) -> None:
    if users < 1 or brokers < 1:
        raise InputError(f"{users} users and {brokers} brokers: give at least one of each")
    if model not in get_args(Model):
        *others, last = get_args(Model)
        raise InputError(f"no cost model {model!r}: choose {', '.join(others)} or {last}")
    if length is not None and not 0 < length <= 1:
        raise InputError(f"subscriptions of length {length}: give more than 0 and at most 1")
    if not 0 < ratio < np.inf:
        raise InputError(f"a cost ratio of {ratio}: give a finite number above zero")
