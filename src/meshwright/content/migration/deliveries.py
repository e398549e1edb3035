"""The publications of a run, and a check outside the protocol that each is delivered exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.content.migration.terms import Terms
    from meshwright.content.model.workload import Workload


class Schedule(NamedTuple):
    """What is published when, in order of time."""

    time: NDArray[np.float64]
    """The time of each publication."""
    user: Ids
    """The user that publishes it."""
    channel: Ids
    """The channel."""


class Verdict(NamedTuple):
    """The counts of a check of all deliveries."""

    expected: int
    """Pairs of a publication and a user that must receive it."""
    delivered: int
    """Deliveries that were expected."""
    missing: int
    """Expected pairs that were not delivered."""
    twice: int
    """Pairs that were delivered more than once."""
    unexpected: int
    """Pairs that were delivered although the user does not subscribe, or published it itself."""

    @property
    def sound(self) -> bool:
        """Whether every user has received exactly what it should, once."""
        return not (self.missing or self.twice or self.unexpected)


def draw_schedule(workload: Workload, terms: Terms, seed: int) -> Schedule:
    """Draw publications in proportion to the users' rates, at uniform times; none if all rates are 0."""
    rng = np.random.Generator(np.random.PCG64(seed))
    total = float(workload.rates.sum())
    count = terms.publications if total > 0 else 0
    bounds = np.cumsum(workload.rates)
    slot = np.searchsorted(bounds, rng.random(count) * total, side="right") if count else np.zeros(0, int)
    # A rounding error may lead past the last slot, or to one without a rate at the end.
    slot = np.minimum(slot, np.flatnonzero(workload.rates)[-1]) if count else slot
    user = np.searchsorted(workload.rate_ptr, slot, side="right") - 1
    time = np.sort(rng.random(count) * terms.seconds)
    return Schedule(time, user.astype(np.int32), workload.rate_channels[slot])


class DeliveryCheck:
    """Records what users receive, and compares it with the schedule."""

    def __init__(self, workload: Workload, schedule: Schedule) -> None:
        self._workload, self._schedule = workload, schedule
        self._publications_of: dict[int, list[int]] = {}
        """The positions of each user's publications in the schedule: the n-th has number n."""
        for index, user in enumerate(schedule.user.tolist()):
            self._publications_of.setdefault(user, []).append(index)
        self._received: list[int] = []
        """One entry for each delivery: the publication's position times the number of users, plus user."""

    def record(self, user: int, publisher: int, number: int) -> None:
        """Record that a user has received a publication."""
        self._received.append(self._publications_of[publisher][number] * self._workload.num_users + user)

    @property
    def delivered(self) -> int:
        """How many publications users have received so far."""
        return len(self._received)

    def verdict(self, stranded: set[int]) -> Verdict:
        """Compare with what each user must receive: all publications on its channels except its own.

        Stranded users need not receive anything. What they have published may be received, at most once.
        """
        users, schedule = self._workload.num_users, self._schedule
        ptr, subscribers = self._workload.audience
        # One row for each pair of a publication and a subscriber of its channel.
        sizes = np.diff(ptr)[schedule.channel]
        index = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        receiver = subscribers[ptr[schedule.channel[index]] + place].astype(np.int64)
        wanted = (receiver != schedule.user[index]) & ~np.isin(receiver, list(stranded))
        allowed = (index * users + receiver)[wanted]
        expected = allowed[~np.isin(schedule.user[index][wanted], list(stranded))]
        received, times = np.unique(np.array(self._received, dtype=np.int64), return_counts=True)
        counted = ~np.isin(received % users, list(stranded))
        received, times = received[counted], times[counted]
        return Verdict(
            len(expected),
            int(times[np.isin(received, expected)].sum()),
            len(np.setdiff1d(expected, received)),
            int((times > 1).sum()),
            len(np.setdiff1d(received, allowed)),
        )
