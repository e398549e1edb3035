"""What flows: who publishes on which channel when, and who should receive it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.content.migration.terms import Terms
    from meshwright.content.workload import Workload
    from meshwright.interest import Ids


class Flow(NamedTuple):
    """Publications in the order of their times."""

    time: NDArray[np.float64]
    user: Ids
    channel: Ids


class Verdict(NamedTuple):
    """What a check of all deliveries has found."""

    expected: int
    delivered: int
    missing: int
    twice: int
    unexpected: int

    @property
    def sound(self) -> bool:
        """Whether everybody has received everything that is for it, once."""
        return not (self.missing or self.twice or self.unexpected)


def draw_flow(workload: Workload, terms: Terms, seed: int) -> Flow:
    """Draw publications by the users' rates, at random times; none if nobody publishes."""
    rng = np.random.Generator(np.random.PCG64(seed))
    total = float(workload.rates.sum())
    count = terms.publications if total > 0 else 0
    bounds = np.cumsum(workload.rates)
    slot = np.searchsorted(bounds, rng.random(count) * total, side="right") if count else np.zeros(0, int)
    slot = np.minimum(slot, np.flatnonzero(workload.rates)[-1]) if count else slot
    user = np.searchsorted(workload.rate_ptr, slot, side="right") - 1
    time = np.sort(rng.random(count) * terms.seconds)
    return Flow(time, user.astype(np.int32), workload.rate_channels[slot])


class Onlooker:
    """Counts what users are given, apart from the protocol; the n-th publication of a user has number n."""

    def __init__(self, workload: Workload, flow: Flow) -> None:
        self._workload, self._flow = workload, flow
        self._of: dict[int, list[int]] = {}
        for index, user in enumerate(flow.user.tolist()):
            self._of.setdefault(user, []).append(index)
        self._got: list[int] = []

    def received(self, user: int, publisher: int, number: int) -> None:
        """Hear that a user has been given a message."""
        self._got.append(self._of[publisher][number] * self._workload.num_users + user)

    @property
    def delivered(self) -> int:
        """How many messages users have been given."""
        return len(self._got)

    def verdict(self, left_out: set[int]) -> Verdict:
        """Compare with what each user should have: all on its channels but its own.

        Nothing is expected of or for those left out, though what they have published may arrive, once.
        """
        users = self._workload.num_users
        ptr, audience = self._workload.audience
        sizes = np.diff(ptr)[self._flow.channel]
        index = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        taker = audience[ptr[self._flow.channel[index]] + place].astype(np.int64)
        wanted = (taker != self._flow.user[index]) & ~np.isin(taker, list(left_out))
        allowed = (index * users + taker)[wanted]
        expected = allowed[~np.isin(self._flow.user[index][wanted], list(left_out))]
        got, times = np.unique(np.array(self._got, dtype=np.int64), return_counts=True)
        counted = ~np.isin(got % users, list(left_out))
        got, times = got[counted], times[counted]
        return Verdict(
            len(expected),
            int(times[np.isin(got, expected)].sum()),
            len(np.setdiff1d(expected, got)),
            int((times > 1).sum()),
            len(np.setdiff1d(got, allowed)),
        )
