"""Prices that prove as much as can be had: the lower bound on links that plans are measured by."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from meshwright.bounds.ascent import PAYING, STEPS, Ascent
from meshwright.bounds.certify import certified, first_prices, polished
from meshwright.bounds.loads import Loads
from meshwright.bounds.prices import Prices
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.preparing import prepares

if TYPE_CHECKING:
    from meshwright.greedy import Progress

EFFORTS = ("full", "first")
NEEDED = "needed at least"
"""What progress says beside the bound so far."""
FAINT = np.float32(1e-4)
"""A price of 0 cannot rise: where one is handed over, it starts from here."""


def prices(
    interest: Interest,
    *,
    effort: str = "full",
    start: Prices | None = None,
    seconds: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Prices:
    """Find prices that prove that many links are needed; docs/certificate.md tells how.

    Parameters
    ----------
    effort
        `first` is a bound at once: all prices alike, brought down until they prove something. `full` improves
        them until little more is to be had.
    start
        Prices of an earlier run for the same interest, to go on from. The bound never gets worse.
    seconds
        Stop improving after so long; the answer then depends on the machine's speed. Without, it does not.
    threads
        How many threads work at once; the prices do not depend on it.
    progress
        Called now and then with the bound so far, how far it is (0 to 1) and what is being done.

    Raises
    ------
    InputError
        For an unknown effort, or a start that was made for another interest.

    Examples
    --------
    >>> from meshwright import Interest
    >>> prices(Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}))
    Prices(at least 2 links for 3 nodes)
    """
    _check(interest, effort, start, seconds, threads)
    prepare(progress)
    began = time.perf_counter()
    loads = Loads(interest, threads)
    best = first_prices(loads) if start is None else certified(loads, start.scaled)
    if effort == "first" or best.bound == 0:
        return best
    ascent = Ascent(
        loads,
        best.q.astype(np.float32) if start is None else np.maximum(best.q.astype(np.float32), FAINT),
        0 if start is None else PAYING,
    )
    while not ascent.done and (seconds is None or time.perf_counter() - began < seconds):
        if progress is not None:
            proven = max(best.bound, int(ascent.value), int(ascent.value_paying))
            progress(proven, ascent.step / STEPS, NEEDED)
        ascent.round()
    for price, value in ((ascent.best_paying, ascent.value_paying), (ascent.best, ascent.value)):
        if value > best.bound - 1:
            found = polished(loads, price)
            best = found if found.bound > best.bound else best
    if progress is not None:
        progress(best.bound, 1.0, NEEDED)
    return best


@prepares("bounds")
def prepare() -> None:
    """Compile the kernels of the price bound, or load them where they are kept; `prices` does so itself."""
    # Call every kernel once on the smallest of interests.
    loads = Loads(Interest.from_dict({"a": {"t"}, "b": {"t"}}))
    ascent = Ascent(loads, first_prices(loads).q.astype(np.float32), STEPS - 1)
    ascent.round()
    polished(loads, ascent.best)


def _check(
    interest: Interest, effort: str, start: Prices | None, seconds: float | None, threads: int
) -> None:
    if effort not in EFFORTS:
        raise InputError(f"no effort {effort!r}: choose one of {', '.join(EFFORTS)}")
    if seconds is not None and not seconds >= 0:
        raise InputError(f"{seconds} seconds: give zero or more, or leave it out")
    if threads < 1:
        raise InputError(f"{threads} threads: give at least 1")
    if start is not None:
        start.check(interest)
