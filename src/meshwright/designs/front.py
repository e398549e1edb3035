"""The trade-off between few links and a low maximum degree: for each degree the fewest links found."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from meshwright import bounds, measure, search
from meshwright.designs import best
from meshwright.designs.best import Budget, priced
from meshwright.designs.plan import Plan
from meshwright.greedy import grow, rules

if TYPE_CHECKING:
    from meshwright.bounds import Prices
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.progress import Progress

GREEDIEST = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
"""Low-ODA with each of these k lies somewhere between Greedy Merge and MinMax-ODA."""
CAPS = 10
"""Searches are made under no more limits of the degree than this."""
UNLIMITED = 0.25
"""The share of the budget for the search without a limit."""
LOWER = 3
"""Limits go this far below the lowest degree that a greedy design has."""


def front(
    interest: Interest,
    *,
    seconds: float = 60.0,
    steps: int | None = None,
    seed: int = 0,
    certify: bool = False,
    prices: Prices | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Plan, ...]:
    """Return the overlays that are beaten by none in both links and maximum degree, lowest degree first.

    GM, MinMax-ODA and Low-ODA with several k come first, then local search as of `best`: without a limit of
    the degree, and then under one limit after another, down to lower than MinMax-ODA's. Each goes on from the
    one before, or if that is too high still, from the fewest links known within the limit. `seconds` or
    `steps` are for all together; with steps the same seed gives the same front. With `certify` there are
    prices in any case, found in as long as it takes.
    """
    if prices is not None:
        prices.check(interest)
    best.prepare(progress)
    began, budget = time.perf_counter(), Budget(seconds, steps)
    known = _Known()
    for rule in (rules.gm, rules.minmax, *(rules.low(k) for k in GREEDIEST)):
        known.add(grow(interest, rule, threads=threads, progress=progress))
    if prices is None and certify:
        prices = bounds.prices(interest, threads=threads, progress=progress)
    if prices is None and not budget.spent and bounds.pair_topics(interest) <= budget.most_pairs:
        half = budget.seconds_for(1 / 2)
        prices = bounds.prices(interest, seconds=half, threads=threads, progress=progress)
    searching = _Searching(known, budget, prices, seed, progress)
    searching.run(_best_start(known.within(interest.num_nodes), prices, None), interest.num_nodes, UNLIMITED)
    caps = _caps(_lowest_cap(known.lowest, prices), known.highest - 1)
    for turn, cap in enumerate(reversed(caps)):
        until = UNLIMITED + (1 - UNLIMITED) * (turn + 1) / len(caps)
        if searching.reached > cap + 1:  # it did not come down: begin from below
            searching.run(_best_start(known.within(cap), prices, cap), cap, until)
        else:
            searching.go_on(cap, until)
    made = time.perf_counter() - began
    timing: dict[str, int | float] = {"seconds": seconds} if steps is None else {"steps": steps}
    return tuple(
        Plan(
            overlay, "best", {"front": measure.degrees(overlay).maximum, **timing}, seed, made, prices=prices
        )
        for overlay in known.unbeaten()
    )


class _Searching:
    """Ruin and recreate under one limit after another."""

    def __init__(
        self, known: _Known, budget: Budget, prices: Prices | None, seed: int, progress: Progress | None
    ) -> None:
        self.known, self.budget, self.prices = known, budget, prices
        self.seed, self.progress = seed, progress
        self.remaking: search.RuinAndRecreate | None = None

    @property
    def reached(self) -> int:
        """The maximum degree of the last search's overlay."""
        assert self.remaking is not None
        return self.remaking.max_degree

    def run(self, start: Overlay, cap: int, until: float) -> None:
        """Search from an overlay until a share of the budget is gone."""
        self.remaking = search.RuinAndRecreate(start, seed=self.seed)
        self.remaking.prune()
        self.go_on(cap, until)

    def go_on(self, cap: int, until: float) -> None:
        """Search on from where the last search ended; half-way, force comes in."""
        remaking, budget = self.remaking, self.budget
        assert remaking is not None
        half = (budget.share + until) / 2
        while len(remaking) and budget.share < until and not best.is_optimal(remaking, self.prices):
            # A link more is allowed to bring a node down that would not come down without.
            forced = budget.share > half and remaking.max_degree > cap
            limit = cap if forced else best.cap_of(remaking, cap, pressing=True)
            left = budget.steps_until(until)
            remaking.run(budget.take(min(best.STRIDE, left)), max_degree=limit, lowering=forced)
            if self.progress is not None:
                told = f"{remaking.max_degree} at a broker at most"
                self.progress(len(remaking), budget.share, told)
        self.known.add(remaking.overlay())


class _Known:
    """For each maximum degree the overlay of fewest links."""

    def __init__(self) -> None:
        self._of_degree: dict[int, Overlay] = {}

    def add(self, overlay: Overlay) -> None:
        degree = measure.degrees(overlay).maximum
        if degree not in self._of_degree or len(overlay) < len(self._of_degree[degree]):
            self._of_degree[degree] = overlay

    @property
    def lowest(self) -> int:
        return min(self._of_degree)

    @property
    def highest(self) -> int:
        """The maximum degree at which links are fewest."""
        return min(self._of_degree, key=lambda degree: (len(self._of_degree[degree]), degree))

    def within(self, cap: int) -> Overlay:
        """Return the overlay of fewest links whose maximum degree is at most the cap, or the lowest one."""
        cap = max(cap, self.lowest)
        return min((own for degree, own in self._of_degree.items() if degree <= cap), key=len)

    def unbeaten(self) -> list[Overlay]:
        """Return, lowest degree first, what has fewer links than everything before it."""
        kept: list[Overlay] = []
        for degree in sorted(self._of_degree):
            if not kept or len(self._of_degree[degree]) < len(kept[-1]):
                kept.append(self._of_degree[degree])
        return kept


def _best_start(known: Overlay, prices: Prices | None, cap: int | None) -> Overlay:
    """Return what prices lead to if that has fewer links, although it may be above the cap."""
    if prices is None:
        return known
    return min(known, priced(known.interest, prices, known, max_degree=cap), key=len)


def _lowest_cap(lowest: int, prices: Prices | None) -> int:
    """Return a limit to try: below the lowest degree known, but not below the average of any overlay."""
    if prices is None:
        return lowest
    return min(lowest, max(lowest - LOWER, -(-2 * prices.bound // max(1, prices.interest.num_nodes))))


def _caps(lowest: int, highest: int) -> list[int]:
    """Return limits of the degree from the lowest to the highest, near each other where they are low.

    >>> _caps(7, 11), _caps(10, 1000), _caps(7, 6)
    ([7, 8, 9, 10, 11], [10, 17, 28, 46, 77, 129, 215, 359, 599, 1000], [])
    """
    if highest < lowest:
        return []
    return sorted({int(cap) for cap in np.rint(np.geomspace(max(lowest, 1), max(highest, 1), CAPS))})
