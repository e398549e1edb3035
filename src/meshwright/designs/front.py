"""The trade-off between few links and a low maximum degree: the fewest links found for each degree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meshwright import bounds, measure
from meshwright.arrays import check_whole
from meshwright.bounds import NodePrices, Prices
from meshwright.bounds.degree_limits import require_proofs
from meshwright.designs import best
from meshwright.designs.best import priced
from meshwright.designs.plan import Plan
from meshwright.designs.proofs import Budget, Timing, lowest_of, prove_degrees
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.jit.announce import working_seconds
from meshwright.overlay import Overlay
from meshwright.progress import Progress
from meshwright.search.ruin_and_recreate import RuinAndRecreate

SECONDS = 60.0
"""Default time of all searches together."""
GREEDIEST = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
"""Values of k with which Low-ODA lies between Greedy Merge and MinMax-ODA."""
CAPS = 10
"""Maximum number of degree limits to search under."""
FOR_GREEDY = 0.2
"""Share of the budget after which no further Low-ODA begins."""
UNLIMITED = 0.25
"""Share of the budget for the search without a limit."""
LOWER = 3
"""How far the limits go below the lowest degree of a greedy design."""


def front(
    interest: Interest,
    *,
    max_degree: int | None = None,
    seconds: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    certify: bool = False,
    prices: Prices | None = None,
    lowest: NodePrices | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Plan, ...]:
    """Return the overlays that no other beats in both links and maximum degree, lowest degree first.

    GM, MinMax-ODA and Low-ODA with several k come first. Then the local search of `best` runs without a
    degree limit, and under one limit after another, down to below MinMax-ODA's degree. Each search continues
    from the one before or, if that is still above the limit, from the best known overlay within it.
    `seconds`, 60 by default, or `steps` limit all searches together; with steps the same seed gives the same
    front. With `max_degree` there is only one limit, the whole time for it, and nothing above it. With
    `certify` each plan has a proof, which takes a part of the seconds; with steps it takes as long as it
    needs. `prices` and the proof of the `lowest` degree of another plan of the interest are used again.
    """
    check_whole("seed", seed)
    prices, lowest = require_proofs(interest, prices, lowest)
    began = working_seconds()
    budget = Budget(seconds, steps, default=SECONDS)
    given: dict[str, int | float] = {**budget.limit}
    timing = Timing("best", {**given, "front": True})
    if certify:
        budget = Budget(timing.for_search.get("seconds"), steps)
    known, slowest = _grow_greedily(interest, budget, threads, progress)
    if prices is None and (certify or not (budget.spent or bounds.pair_topics(interest) > budget.most_pairs)):
        half = budget.seconds_for(1 / 2)
        prices = bounds.prices(interest, seconds=half, threads=threads, progress=progress)
    pricing = best.pricing_seconds(interest, slowest)
    searching = _CappedSearch(known, budget, prices, seed, threads, progress, pricing)
    searching.run(searching.start(), interest.num_nodes, UNLIMITED)
    least, highest = _lowest_cap(known.lowest, prices), known.highest - 1
    caps = _caps(least, highest)
    if max_degree is not None:
        caps = [max(least, min(max_degree, highest))]
        searching.pressing = False
    for turn, cap in enumerate(reversed(caps)):
        until = UNLIMITED + (1 - UNLIMITED) * (turn + 1) / len(caps)
        if searching.reached > cap + 1:  # the search did not come down: start from below
            searching.run(searching.start(cap), cap, until)
        else:
            searching.resume(cap, until)
    made = working_seconds() - began
    if max_degree is not None:
        given["max_degree"] = max_degree
    plans = tuple(
        Plan(overlay, "best", {"front": measure.degrees(overlay).maximum, **given}, seed, made, prices=prices)
        for overlay in known.unbeaten(max_degree)
    )
    return _proved(plans, lowest, timing, threads, progress) if certify else plans


def _grow_greedily(
    interest: Interest, budget: Budget, threads: int, progress: Progress | None
) -> tuple[_Known, float]:
    """Return what greedy designs find, and how many seconds the slowest of them took."""
    known, slowest = _Known(), 0.0
    for rule in (rules.gm, rules.minmax, *(rules.low(k) for k in GREEDIEST)):
        if rule.k not in (None, np.inf) and budget.is_late(FOR_GREEDY):
            break
        began = working_seconds()
        known.add(grow(interest, rule, threads=threads, progress=progress))
        slowest = max(slowest, working_seconds() - began)
    return known, slowest


def _proved(
    plans: tuple[Plan, ...],
    lowest: NodePrices | None,
    timing: Timing,
    threads: int,
    progress: Progress | None,
) -> tuple[Plan, ...]:
    """Return the plans with proofs of degrees, which share the seconds that are left."""
    proved: list[Plan] = []
    for plan in plans:
        # Half of what the first plan gets is for the lowest degree, which all of them have in common.
        parts = 2 if lowest is None else 1
        left = timing.for_degrees
        share = None if left is None else left * parts / (len(plans) - len(proved) + parts - 1)
        proved.append(prove_degrees(plan, lowest=lowest, seconds=share, threads=threads, progress=progress))
        lowest = lowest_of(proved)
    return tuple(proved)


@dataclass(eq=False)
class _CappedSearch:
    """Ruin and recreate under one limit after another."""

    known: _Known
    budget: Budget
    prices: Prices | None
    seed: int
    threads: int
    progress: Progress | None
    pricing: float
    """About how many seconds it takes to grow an overlay by prices."""
    pressing: bool = True
    """Whether the search lowers the degree below the limit, or uses it up."""
    remaking: RuinAndRecreate | None = None

    @property
    def reached(self) -> int:
        """The maximum degree of the last search's overlay."""
        assert self.remaking is not None
        return self.remaking.max_degree

    def start(self, cap: int | None = None) -> Overlay:
        """Return the best known overlay within a limit, or one grown by prices that has fewer links.

        The latter may be above the limit. It is left out if growing it takes too much of the time.
        """
        known = self.known.within(self.known.nodes if cap is None else cap)
        if self.prices is None or not self.budget.allows(self.pricing, best.FOR_A_START):
            return known
        began = working_seconds()
        grown = priced(
            known.interest, self.prices, known, max_degree=cap, threads=self.threads, progress=self.progress
        )
        self.pricing = working_seconds() - began
        return min(known, grown, key=len)

    def run(self, start: Overlay, cap: int, until: float) -> None:
        """Search from an overlay until a share of the budget is spent."""
        self.remaking = RuinAndRecreate(start, seed=self.seed)
        self.remaking.prune()
        self.resume(cap, until)

    def resume(self, cap: int, until: float) -> None:
        """Continue the last search; from halfway on, also accept extra links to get below the limit."""
        remaking, budget = self.remaking, self.budget
        assert remaking is not None
        needed = None if self.prices is None else self.prices.bound
        half = (budget.share + until) / 2
        while len(remaking) and budget.share < until and not best.is_optimal(remaking, needed):
            # When forced, one more link is allowed to bring a node below the limit.
            forced = budget.share > half and remaking.max_degree > cap
            limit = cap if forced or not self.pressing else best.cap_of(remaking, cap, pressing=True)
            left = budget.steps_until(until)
            remaking.run(budget.take(min(best.STRIDE, left)), max_degree=limit, lowering=int(forced))
            if self.progress is not None:
                self.progress(len(remaking), budget.share, f"maximum degree {remaking.max_degree}")
        self.known.add(remaking.overlay())


class _Known:
    """The overlay with the fewest links for each maximum degree."""

    def __init__(self) -> None:
        self._of_degree: dict[int, Overlay] = {}

    def add(self, overlay: Overlay) -> None:
        degree = measure.degrees(overlay).maximum
        if degree not in self._of_degree or len(overlay) < len(self._of_degree[degree]):
            self._of_degree[degree] = overlay

    @property
    def nodes(self) -> int:
        """The number of nodes, which no degree reaches."""
        return next(iter(self._of_degree.values())).interest.num_nodes

    @property
    def lowest(self) -> int:
        return min(self._of_degree)

    @property
    def highest(self) -> int:
        """The maximum degree of the overlay with the fewest links."""
        return min(self._of_degree, key=lambda degree: (len(self._of_degree[degree]), degree))

    def within(self, cap: int) -> Overlay:
        """Return the overlay with the fewest links within the cap, or at the lowest degree above it."""
        cap = max(cap, self.lowest)
        return min((own for degree, own in self._of_degree.items() if degree <= cap), key=len)

    def unbeaten(self, most: int | None = None) -> list[Overlay]:
        """Return the overlays within a degree with fewer links than all of lower degree, lowest first."""
        kept: list[Overlay] = []
        for degree in sorted(degree for degree in self._of_degree if most is None or degree <= most):
            if not kept or len(self._of_degree[degree]) < len(kept[-1]):
                kept.append(self._of_degree[degree])
        return kept


def _lowest_cap(lowest: int, prices: Prices | None) -> int:
    """Return the lowest limit to try: below the lowest known degree, not below the average of any overlay."""
    if prices is None:
        return lowest
    return min(lowest, max(lowest - LOWER, -(-2 * prices.bound // max(1, prices.interest.num_nodes))))


def _caps(lowest: int, highest: int) -> list[int]:
    """Return degree limits from the lowest to the highest, closer together where they are low.

    >>> _caps(7, 11), _caps(10, 1000), _caps(7, 6)
    ([7, 8, 9, 10, 11], [10, 17, 28, 46, 77, 129, 215, 359, 599, 1000], [])
    """
    if highest < lowest:
        return []
    return sorted({int(cap) for cap in np.rint(np.geomspace(max(lowest, 1), max(highest, 1), CAPS))})
