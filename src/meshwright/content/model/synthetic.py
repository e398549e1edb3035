"""Made-up workloads: the paper's evaluation, in two models of what links cost (cbps, section VI)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from meshwright.content.model.densities import Quadratic
from meshwright.content.model.places import Places
from meshwright.content.model.rates import Approximation, channel_rates, over_approximation
from meshwright.content.model.space import Attribute, Boxes, grid
from meshwright.content.model.workload import CAPACITY_OVER_DEMAND, Workload
from meshwright.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meshwright.content.model.demand import Floats

Model: TypeAlias = Literal["uniform", "plane"]
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
    """Make a workload up: content from 0 to 1, random quadratic rate densities, one interval a user.

    Parameters
    ----------
    users, brokers
        How many; a broker for every 100 users if not told.
    channels
        Into how many equal parts the content is cut.
    model
        What links cost: `uniform`, each a random number from 1 to 2, or `plane`, distances of random points
        in the unit square.
    length
        How long each user's interval is; without it, each user subscribes to one channel.
    ratio
        The mean access cost over the mean core cost between different brokers; core costs are scaled to it.
    capacity
        All capacities together over all loads; each broker has the same.
    seed
        The same seed gives the same workload.

    Raises
    ------
    InputError
        For a number that cannot be.
    """
    brokers = max(1, users // USERS_PER_BROKER) if brokers is None else brokers
    _check(users, brokers, model, length, ratio)
    rng = np.random.Generator(np.random.PCG64(seed))
    density, boxes = _contents(rng, users, channels, length)
    cut = grid([SPACE], [channels])
    rates = channel_rates([density], cut)
    publisher, published = np.nonzero(rates)
    places = access = core = None
    if model == "plane":
        places = Places(rng.random((users, 2)), rng.random((brokers, 2)))
        access, core = places.access(), places.core()
        weight = _weight(access, core, ratio)
        places, access, core = Places(places.users, places.brokers, weight), None, None
    else:
        access = rng.uniform(1.0, 2.0, (users, brokers))
        upper = np.triu(rng.uniform(1.0, 2.0, (brokers, brokers)), 1)
        core = upper + upper.T
        core *= _weight(access, core, ratio)
    made = Workload.build(
        _names("user", users),
        _names("broker", brokers),
        cut.names,
        rates=(publisher, published, rates[publisher, published]),
        subscriptions=cut.met_by(boxes),
        access=access,
        core=core,
        places=places,
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
    return made.with_capacity(capacity)


def synthetic_approximation(
    users: int, channels: int = 100, *, length: float | None = None, seed: int = 0
) -> Approximation:
    """Measure how much more than its interval a user of such a workload gets by whole channels."""
    rng = np.random.Generator(np.random.PCG64(seed))
    density, boxes = _contents(rng, users, channels, length)
    return over_approximation([density], grid([SPACE], [channels]), boxes)


def _contents(
    rng: np.random.Generator, users: int, channels: int, length: float | None
) -> tuple[Quadratic, Boxes]:
    """Draw densities and intervals: coefficients from −1 to 1, and where each interval lies."""
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


def _weight(access: Floats, core: Floats, ratio: float) -> float:
    """Return the factor of core costs that gives the wanted ratio of mean costs."""
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
        raise InputError(f"no cost model {model!r}: choose {' or '.join(get_args(Model))}")
    if length is not None and not 0 < length <= 1:
        raise InputError(f"subscriptions of length {length}: give more than 0 and at most 1")
    if not 0 < ratio < np.inf:
        raise InputError(f"a cost ratio of {ratio}: give a finite number above zero")
