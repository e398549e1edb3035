"""Best: an overlay better than the papers', by prices and local search from a greedy one."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np

from meshwright import bounds, measure, search
from meshwright.errors import InputError
from meshwright.formatting import excess
from meshwright.greedy import grow, rules
from meshwright.greedy.weighted import price_greedy
from meshwright.jit.announce import working_seconds

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.bounds import NodePrices, Prices
    from meshwright.greedy.rules import Rule
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.progress import Progress


PAIRS_A_SECOND = 25_000_000
MOST_PAIRS = 2_000_000_000


class Budget:
    """A budget in seconds from now, or in steps, which are the same on every machine and ignore the clock.

    >>> budget = Budget(20.0, 300)
    >>> budget.take(200), budget.take(200), budget.share, budget.spent
    (200, 100, 1.0, True)
    """

    def __init__(self, seconds: float, steps: int | None) -> None:
        if not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf:
            raise InputError(f"{seconds} seconds: give zero or more")
        if steps is not None and (not isinstance(steps, (int, np.integer)) or steps < 0):
            raise InputError(f"{steps} steps: give a whole number of zero or more, or leave it out")
        self.seconds, self.steps, self.taken = seconds, steps, 0
        self.began = working_seconds()

    @property
    def share(self) -> float:
        """The share of the budget that is spent, from 0 to 1."""
        gone, whole = working_seconds() - self.began, self.seconds
        if self.steps is not None:
            gone, whole = self.taken, self.steps
        return min(1.0, gone / whole) if whole else 1.0

    @property
    def spent(self) -> bool:
        """Whether the budget is spent."""
        return self.share >= 1

    @property
    def most_pairs(self) -> int:
        """The number of pairs, topic by topic, that prices can handle in a part of the time."""
        return MOST_PAIRS if self.steps is not None else int(self.seconds * PAIRS_A_SECOND)

    def seconds_for(self, part: float) -> float | None:
        """Return a part of the remaining seconds, or None for a budget in steps."""
        return None if self.steps is not None else part * self.seconds * (1 - self.share)

    def steps_until(self, share: float) -> int:
        """Return the steps left until a share is spent, at least 1; unlimited for a budget in seconds."""
        return sys.maxsize if self.steps is None else max(1, math.ceil(share * self.steps) - self.taken)

    def take(self, most: int) -> int:
        """Return the number of steps to do next, and count them as spent."""
        count = most if self.steps is None else min(most, self.steps - self.taken)
        self.taken += count
        return count


SLACK = 0.1
"""Pairs with a load of at least 1 − `SLACK` are candidates for links."""
PAIRS_PER_NODE = 100


def priced(
    interest: Interest, prices: Prices | NodePrices, greedy: Overlay, *, max_degree: int | None = None
) -> Overlay:
    """Grow by prices among the tight pairs and the links of a greedy overlay.

    With `max_degree` no node gets more links than that, unless topics would stay split: MinMax-ODA connects
    those at the lowest degree it can.
    """
    tight = bounds.tight_pairs(prices, most=PAIRS_PER_NODE * interest.num_nodes, slack=SLACK)
    pairs = np.concatenate((np.column_stack((tight.u, tight.v)), np.column_stack((greedy.u, greedy.v))))
    overlay = price_greedy(interest, np.unique(pairs, axis=0), prices.q, max_degree=max_degree)
    return grow(interest, rules.gm if max_degree is None else rules.minmax, start=overlay)


OBJECTIVES = ("edges", "degree", "balanced")
STRIDE = 200
"""Maximum number of steps between checks of the clock, progress and Ctrl-C."""
SECONDS = 20.0
"""Default time of the search."""
PRESSING_FROM = 2 / 3
"""The share of the budget after which the search also lowers the maximum degree."""
FOR_PRICES, FOR_DEGREES = 0.5, 0.12
"""The share of what is left of the budget for prices, and then for those that know the degree."""
IMPROVING = "improving"


def best(
    interest: Interest,
    *,
    objective: str = "edges",
    k: float = 3.0,
    seconds: float = SECONDS,
    steps: int | None = None,
    seed: int = 0,
    prices: Prices | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Overlay:
    """Design by prices, prune, then ruin and recreate parts: few links, and never worse than greedy.

    Guarantee: every topic is connected, and the overlay is never worse than the greedy one. For the objective
    `edges`, which asks for few links and then for a low maximum degree, that is GM. For `degree` it is
    MinMax-ODA and for `balanced` Low-ODA(k): neither links nor maximum degree ever exceed theirs. `degree`
    asks for the lowest maximum degree and then for few links: it tries one degree less again and again, until
    that fails or is proven impossible. The search stops after `seconds`, or after `steps`, which give the
    same result for the same seed on every machine. Without any budget the result is the pruned greedy
    overlay. `prices` of an earlier run can be reused.
    """
    rule = _rule(objective, k)
    budget = Budget(seconds, steps)
    if prices is not None:
        prices.check(interest)
    greedy = grow(interest, rule, threads=threads, progress=progress)
    safe = _pruned(greedy, seed)
    growing = working_seconds() - budget.began
    if not len(safe) or budget.spent:
        return safe.overlay()
    if prices is None and bounds.pair_topics(interest) <= budget.most_pairs:
        share = budget.seconds_for(FOR_PRICES)
        prices = bounds.prices(interest, seconds=share, threads=threads, progress=progress)
    limit = interest.num_nodes if objective == "edges" else measure.degrees(greedy).maximum
    improvement = _Improvement(greedy, safe, limit, budget, prices, seed, progress)
    improvement.pricing = DEARER * growing
    if objective == "edges":
        if prices is not None:
            improvement.consider(_pruned(priced(interest, prices, greedy), seed))
        improvement.run(1.0, limit)
        return improvement.overlay()
    if prices is not None:
        share = budget.seconds_for(FOR_DEGREES)
        knowing = bounds.links_at_degree(prices, limit, seconds=share, threads=threads, progress=progress)
        improvement.needed = knowing.bound
        if improvement.affords_start():
            began = working_seconds()
            improvement.consider(_pruned(priced(interest, knowing, greedy, max_degree=limit), seed))
            improvement.pricing = working_seconds() - began
        share = None if share is None else share / 2
        improvement.lowest = bounds.lowest_degree(
            prices, seconds=share, threads=threads, progress=progress
        ).bound
    if objective == "degree":
        improvement.run(budget.share + (1 - budget.share) * TRYING_FROM, limit)
        improvement.lower()
    improvement.run(1.0, improvement.kept.limit)
    return improvement.overlay()


TRYING_FROM = 0.4
"""The share of what is left of the budget after which `degree` tries one degree less."""
FOR_A_TRY = 0.6
"""The share of what is left of the budget for one try."""
FOR_A_START = 0.4
"""The share of what is left of the budget that growing a start by prices may take."""
DEARER = 2
"""To grow an overlay by prices takes about this many times as long as without them."""
PATIENCE = 40
"""Steps for each link without a gain after which the search goes back to the best, with larger ruins."""
IMPATIENCE = 4
"""The same while the search only has to come below a degree: it changes its ruins, and does not go back."""
RUINS = (3, 5, 8, 12)
"""How many links a step removes at most: these in turn, whenever the search has found nothing for long."""


class _Improvement:
    """A search that keeps the best overlay so far, and starts again from it with larger ruins when stuck."""

    def __init__(
        self,
        greedy: Overlay,
        safe: search.RuinAndRecreate,
        limit: int,
        budget: Budget,
        prices: Prices | None,
        seed: int,
        progress: Progress | None,
    ) -> None:
        self.greedy = greedy
        self.safe = self.remaking = safe
        self.budget, self.prices, self.seed, self.progress = budget, prices, seed, progress
        self.kept = _Kept(safe, len(greedy), limit)
        self.needed = None if prices is None else prices.bound
        """The number of links that are needed at least, within the limit."""
        self.lowest = 1
        """The lowest maximum degree that is possible, as far as it is proven."""
        self.restarts = self.idle = 0
        self.pricing = 0.0
        """How long it takes to grow an overlay by prices, in seconds."""
        self.starts: list[tuple[Ids, Ids]] = []
        """The links to start from while it tries a degree."""

    def consider(self, other: search.RuinAndRecreate) -> None:
        """Continue from another overlay if it has fewer links."""
        self.kept.look(other)
        self.remaking = min(self.remaking, other, key=len)

    def run(self, until: float, limit: int) -> None:
        """Look for fewer links with at most `limit` per node, until a share of the budget is spent."""
        budget, began = self.budget, self.budget.share
        while budget.share < until and not self._done():
            gone = (budget.share - began) / (until - began)
            above = self.remaking.max_degree > limit
            if above and gone > 2 / 3:
                self._go_back()  # prices led above the limit, and the search did not come down in time
            pressing = budget.share > PRESSING_FROM
            cap = limit if above else cap_of(self.remaking, limit, pressing=pressing)
            # A node above the limit may cost a link more.
            self._step(until, cap, lowering=above)
        self.remaking.prune()
        self.kept.look(self.remaking)

    def lower(self) -> None:
        """Try one degree less, and again, until a try fails or less is proven impossible."""
        while self.kept.degree > self.lowest and not self.budget.spent:
            target = self.kept.degree - 1
            until = self.budget.share + (1 - self.budget.share) * FOR_A_TRY
            self.starts = self._starts(target)
            self._start_from(self.starts[0])
            while self.remaking.max_degree > target and self.budget.share < until:
                self._step(until, target, lowering=True)
            self.kept.limit = target
            self.kept.look(self.remaking)
            if self.kept.degree > target:
                break
        self.starts = []
        self.kept.limit = self.kept.degree
        self._go_back()

    def affords_start(self) -> bool:
        """Return whether there is time to grow an overlay by prices, and to search from it."""
        affordable = self.budget.seconds_for(FOR_A_START)
        return affordable is None or self.pricing < affordable

    def _starts(self, degree: int) -> list[tuple[Ids, Ids]]:
        """Return links to start from on the way to a degree: the nearest first."""
        starts = [search.RuinAndRecreate(self.greedy, seed=self.seed)]
        if self.prices is not None and self.affords_start():
            share = self.budget.seconds_for(FOR_DEGREES / 2)
            knowing = bounds.links_at_degree(self.prices, degree, seconds=share)
            overlay = priced(self.greedy.interest, knowing, self.greedy, max_degree=degree)
            starts.append(_pruned(overlay, self.seed))
        self._go_back()
        nearest = sorted((self.remaking, *starts), key=lambda own: (own.above(degree), len(own)))
        return [own.links() for own in nearest]

    def overlay(self) -> Overlay:
        """Return the best overlay found."""
        return self.safe.overlay(self.kept.links)

    def _step(self, until: float, cap: int, *, lowering: bool) -> None:
        """Make some steps, keep what is better, and start again with larger ruins if nothing was for long."""
        remaking, budget, before = self.remaking, self.budget, (self.kept.rank, self.remaking.above(cap))
        count = budget.take(min(STRIDE, max(1, len(remaking)), budget.steps_until(until)))
        remaking.run(count, max_degree=cap, lowering=lowering)
        self.kept.look(remaking)
        self.idle = self.idle + count if before == (self.kept.rank, remaking.above(cap)) else 0
        if self.idle > (IMPATIENCE if lowering else PATIENCE) * len(remaking):
            self.restarts += 1
            # While it tries a degree: after all ruins from where it is, from another start.
            turn, again = divmod(self.restarts, len(RUINS))
            elsewhere = self.starts[turn % len(self.starts)] if self.starts else self.kept.links
            self._start_from(remaking.links() if lowering and again else elsewhere)
        if self.progress is not None:
            needed = _format_gap(remaking, self.needed)
            doing = f"trying a maximum degree of {cap}" if self.starts else IMPROVING
            self.progress(len(remaking), budget.share, f"{doing}{needed}")

    def _go_back(self) -> None:
        """Continue from the best overlay so far."""
        self._start_from(self.kept.links)

    def _start_from(self, links: tuple[Ids, Ids]) -> None:
        """Continue from some links, with other ruins and random numbers after a restart."""
        ruin = RUINS[self.restarts % len(RUINS)]
        start = self.safe.overlay(links)
        self.remaking = search.RuinAndRecreate(start, seed=self.seed + self.restarts, ruin=ruin)
        self.idle = 0

    def _done(self) -> bool:
        return is_optimal(self.remaking, self.needed, self.lowest)


class _Kept:
    """The links of the best overlay so far: the fewest, then the lowest maximum degree."""

    def __init__(self, safe: search.RuinAndRecreate, most: int, limit: int) -> None:
        self.limit, self.most = limit, most
        self.rank = (len(safe), safe.max_degree)
        self.links: tuple[Ids, Ids] = safe.links()

    @property
    def degree(self) -> int:
        """The maximum degree of the links."""
        return self.rank[1]

    def look(self, remaking: search.RuinAndRecreate) -> None:
        """Keep the links if they are better; within a limit that the kept ones exceed, any are."""
        rank = len(remaking), remaking.max_degree
        if remaking.max_degree > self.limit or len(remaking) > self.most:
            return
        if rank < self.rank or self.rank[1] > self.limit:
            self.rank, self.links = rank, remaking.links()


def _pruned(overlay: Overlay, seed: int) -> search.RuinAndRecreate:
    remaking = search.RuinAndRecreate(overlay, seed=seed)
    remaking.prune()
    return remaking


def is_optimal(remaking: search.RuinAndRecreate, needed: int | None, lowest: int = 1) -> bool:
    """Return whether no overlay is better: as few links as needed, spread evenly or at the lowest degree."""
    nodes = max(1, remaking.interest.num_nodes)
    return len(remaking) == needed and remaking.max_degree <= max(lowest, -(-2 * len(remaking) // nodes))


def cap_of(remaking: search.RuinAndRecreate, limit: int, *, pressing: bool) -> int:
    """Return the limit of links per node for new links: the current maximum degree, or less when pressing.

    When pressing, the limit is below the current maximum but above the average, so that the maximum falls.
    The search presses late, because without hubs it can save fewer links.
    """
    average, most = 2 * len(remaking) / max(1, remaking.interest.num_nodes), remaking.max_degree
    return min(limit, most, max(most - 1, math.ceil(average) + 1) if pressing else most)


def _format_gap(remaking: search.RuinAndRecreate, needed: int | None) -> str:
    if not needed:
        return ""
    return f", at most {excess(len(remaking) / needed - 1)} above the fewest possible"


def _rule(objective: str, k: float) -> Rule:
    if objective not in OBJECTIVES:
        raise InputError(f"no objective {objective!r}: choose one of {', '.join(OBJECTIVES)}")
    return {"edges": rules.gm, "degree": rules.minmax, "balanced": rules.low(k)}[objective]
