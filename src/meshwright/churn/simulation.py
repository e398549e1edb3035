"""Random churn: nodes join and leave, one at a time or in bursts (shadows, section VI)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.churn.events import CRASH, JOIN, LEAVE, Event
from meshwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.interest import Interest
    from meshwright.names import Name


def random_churn(interest: Interest, rounds: int, *, seed: int = 0, burst: int = 1) -> Iterator[list[Event]]:
    """Yield rounds of random churn: in each, a node joins or a node leaves, with equal probability.

    A newcomer has as many topics as a random node of the interest. Its topics are drawn so that each is about
    as popular among newcomers as it is in the interest. The node that leaves is drawn from all that are
    there. With `burst`, that many nodes join or crash at once.

    >>> from meshwright.workloads import unif
    >>> for events in random_churn(unif(3, 4, size=2, seed=1), 2, seed=3):
    ...     print(events)
    [Event(event='join', node='new-0', topics=('t2', 't3'))]
    [Event(event='join', node='new-1', topics=('t0', 't2'))]
    """
    if rounds < 0:
        raise InputError(f"{rounds} rounds: give zero or more")
    if burst < 1:
        raise InputError(f"a burst of {burst} nodes: give 1 or more")
    if not interest.num_subscriptions:
        raise InputError(
            "nobody subscribes to anything, so newcomers cannot be drawn: give some subscriptions"
        )
    chance = np.random.Generator(np.random.PCG64(seed))
    there: list[Name] = interest.node_names.to_pylist()
    names = _new_names(interest)
    sizes = np.diff(interest.node_ptr)
    sizes = sizes[sizes > 0]
    drawable, rates = _rates(interest)
    topic_names = interest.topic_names.to_pylist()
    for _ in range(rounds):
        if chance.random() < 0.5 or len(there) <= burst:
            events = []
            for _ in range(burst):
                size = int(sizes[chance.integers(len(sizes))])
                # Independent exponential clocks: the topics of the first to ring are a weighted draw
                # without replacement.
                rings = chance.standard_exponential(len(drawable)) / rates
                chosen = np.sort(drawable[np.argsort(rings, kind="stable")[:size]])
                events.append(Event(JOIN, next(names), tuple(topic_names[topic] for topic in chosen)))
            there += [event.node for event in events]
        else:
            events = []
            for _ in range(burst):
                place = int(chance.integers(len(there)))
                there[place], there[-1] = there[-1], there[place]
                events.append(Event(LEAVE if burst == 1 else CRASH, there.pop()))
        yield events


def _rates(interest: Interest) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the topics that have subscribers, and the rates at which they are drawn.

    A clock of rate w has rung by time τ with probability 1 − exp(−w·τ). For this to be the share of nodes
    that have the topic at τ = 1, the rate is −log(1 − share), far above the share for the most popular
    topics.
    """
    subscribers = np.diff(interest.topic_ptr)
    drawable = np.flatnonzero(subscribers)
    share = np.minimum(subscribers[drawable] / interest.num_nodes, 1 - 0.5 / interest.num_nodes)
    return drawable, -np.log1p(-share)


def _new_names(interest: Interest) -> Iterator[Name]:
    """Yield names that no node has: new-0, new-1 and so on, or the next integers."""
    if pa.types.is_string(interest.node_names.type):
        taken = set(interest.node_names.to_pylist())
        number = 0
        while True:
            name = f"new-{number}"
            number += 1
            if name not in taken:
                yield name
    number = max(interest.node_names.to_pylist(), default=-1) + 1
    while True:
        yield number
        number += 1
