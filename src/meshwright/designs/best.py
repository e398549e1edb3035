"""Best: an overlay better than the papers', by prices and local search from a greedy one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from meshwright import bounds, measure
from meshwright.arrays import Ids
from meshwright.bounds import NodePrices, Prices
from meshwright.bounds.degree_limits import require_proofs
from meshwright.designs.proofs import Budget
from meshwright.errors import InputError
from meshwright.formatting import excess
from meshwright.greedy import grow, rules
from meshwright.greedy.rules import Rule
from meshwright.greedy.weighted import price_greedy
from meshwright.interest import Interest
from meshwright.jit.announce import working_seconds
from meshwright.overlay import Overlay
from meshwright.progress import Progress
from meshwright.search.ruin_and_recreate import RuinAndRecreate

SLACK = 0.1
"""Pairs with a load of at least 1 − `SLACK` are candidates for links."""
PAIRS_PER_NODE = 100


def priced(
    interest: Interest,
    prices: Prices | NodePrices,
    greedy: Overlay,
    *,
    max_degree: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Overlay:
    """Grow by prices among the tight pairs and the links of a greedy overlay.

    With `max_degree` no node gets more links than that, unless topics would stay split: MinMax-ODA connects
    those at the lowest degree it can. With prices that know the degree, a link costs the allowances of its
    ends, so that nodes that many links want keep their places for those that need them most.
    """
    most = PAIRS_PER_NODE * interest.num_nodes
    tight = bounds.tight_pairs(prices, most=most, slack=SLACK, threads=threads)
    pairs = np.concatenate((np.column_stack((tight.u, tight.v)), np.column_stack((greedy.u, greedy.v))))
    pairs = np.unique(pairs, axis=0)
    costs = prices.allowed(*pairs.T) if isinstance(prices, bounds.NodePrices) else None
    overlay = price_greedy(interest, pairs, prices.q, costs=costs, max_degree=max_degree, progress=progress)
    rule = rules.gm if max_degree is None else rules.minmax
    return grow(interest, rule, start=overlay, threads=threads, progress=progress)


def pricing_seconds(interest: Interest, growing: float) -> float:
    """Estimate how long `priced` takes, given how long a greedy design took.

    Before it grows an overlay, it scans all pairs, topic by topic.
    """
    return DEARER * growing + bounds.pair_topics(interest) / SCANNED_A_SECOND


OBJECTIVES = ("edges", "degree", "balanced")
STRIDE = 200
"""Maximum number of steps between checks of the clock, progress and Ctrl-C."""
PRESSING_FROM = 0.9
"""The share of the budget after which the search also lowers the maximum degree."""
FOR_PRICES, FOR_DEGREES = 0.5, 0.12
"""The share of what is left of the budget for prices, and then for those that know the degree."""
IMPROVING = "improving"


def best(
    interest: Interest,
    *,
    objective: str = "edges",
    k: float = 3.0,
    seconds: float | None = None,
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
    that fails or is proven impossible. The search stops after `seconds`, 20 by default, or after
    `steps`, which give the same result for the same seed on every machine. With 0 of either the result is the
    pruned greedy overlay. `prices` of an earlier run can be reused.
    """
    rule = _rule(objective, k)
    budget = Budget(seconds, steps)
    prices, _ = require_proofs(interest, prices)
    greedy = grow(interest, rule, threads=threads, progress=progress)
    safe = _pruned(greedy, seed)
    growing = budget.clock.gone
    if not len(safe) or budget.spent:
        return safe.overlay()
    if prices is None and bounds.pair_topics(interest) <= budget.most_pairs:
        share = budget.seconds_for(FOR_PRICES)
        prices = bounds.prices(interest, seconds=share, threads=threads, progress=progress)
    limit = interest.num_nodes if objective == "edges" else measure.degrees(greedy).maximum
    kept, pricing = _Kept(safe, len(greedy), limit), pricing_seconds(interest, growing)
    improvement = _Improvement(greedy, safe, kept, budget, prices, seed, threads, progress, pricing)
    if objective == "edges":
        if prices is not None and budget.allows(pricing, FOR_THE_START):
            grown = priced(interest, prices, greedy, threads=threads, progress=progress)
            improvement.race(_pruned(grown, seed), limit)
        improvement.run(1.0, limit, pressing_from=PRESSING_FROM)
        return improvement.overlay()
    if prices is not None:
        share = budget.seconds_for(FOR_DEGREES / 2)
        lowest = bounds.lowest_degree(prices, seconds=share, threads=threads, progress=progress)
        improvement.lowest = lowest.bound
    if objective == "degree":
        while not budget.spent and not improvement.done:
            improvement.lower()
            # With another try to come, the search is not worth going on for long without a gain.
            patience = SHORT_PATIENCE if improvement.kept.degree > improvement.lowest else math.inf
            improvement.run(1.0, improvement.kept.limit, patience=patience)
        return improvement.overlay()
    start = improvement.priced_start(limit)
    if start is not None:
        improvement.race(start, limit)
    improvement.run(1.0, limit, pressing_from=PRESSING_FROM)
    return improvement.overlay()


FOR_A_RACE = 0.08
"""The share of what is left of the budget for each of the starts of a race."""
FOR_A_DASH, FOR_A_TRY = 0.03, 0.15
"""The share of what is left of the budget for one try from the best so far, and then from another start."""
FOR_A_NEW_START = 0.3
"""The share of what is left of the budget to reach the lowest degree from what its prices give."""
SPARING, GENEROUS = 8, 2
"""One of this many steps that lower degrees may add a link: at first, and from the middle of a try on."""
FEW_ABOVE = 5
"""Halfway, a try goes on with a fifth of the links above the degree, or with this many."""
FOR_A_START, FOR_THE_START = 0.4, 0.8
"""The share of what is left of the budget that growing a start by prices may take: one of several, or the
only one."""
DEARER, SCANNED_A_SECOND = 1.5, 50_000_000
"""To grow an overlay by prices takes this many times as long as without them, and a scan takes a second for
this many pairs, topic by topic."""
PATIENCE = 40
"""Steps for each link without a gain after which the search goes back to the best, with larger ruins. Larger
ruins take longer and gain less, so their patience falls with the third power of their size."""
SHORT_PATIENCE = 10
"""The same for `degree` between two tries of one degree less."""
IMPATIENCE = 10
"""The same while the search only has to come below a degree: it changes its ruins, and does not go back."""
RUINS = (3, 5, 8, 12)
"""How many links a step removes at most: these in turn, whenever the search has found nothing for long."""


@dataclass(eq=False)
class _Improvement:
    """A search that keeps the best overlay so far, and starts again from it with larger ruins when stuck."""

    greedy: Overlay
    safe: RuinAndRecreate
    kept: _Kept
    budget: Budget
    prices: Prices | None
    seed: int
    threads: int
    progress: Progress | None
    pricing: float
    """How long it takes to grow an overlay by prices, in seconds."""
    lowest: int = 1
    """The lowest maximum degree that is possible, as far as it is proven."""
    restarts: int = 0
    idle: int = 0
    larger: int = 0
    """How often ruins became larger, or small again."""
    trying: int | None = None
    """The degree that it tries, if it does."""
    failures: int = 0
    """How many tries have failed."""
    priced_for: set[int] = field(default_factory=set)
    """The degrees for which it has grown an overlay by prices."""

    def __post_init__(self) -> None:
        self.remaking = self.safe
        self.needed = None if self.prices is None else self.prices.bound
        """The number of links that are needed at least, within the limit."""

    @property
    def done(self) -> bool:
        """Whether no overlay is better."""
        return is_optimal(self.remaking, self.needed, self.lowest)

    def race(self, other: RuinAndRecreate, limit: int) -> None:
        """Search for a while from the current overlay and from another one, and continue with the better.

        The one with fewer links at first is not always the better one: with nodes of very different sizes,
        prices lead to overlays that are hard to improve.
        """
        runners = [self.remaking, other]
        share = FOR_A_RACE * (1 - self.budget.share)
        for turn, runner in enumerate(runners):
            self.remaking = runner
            self.kept.look(runner)
            self.run(min(1.0, self.budget.share + share), limit)
            runners[turn] = self.remaking
        self.remaking = min(runners, key=lambda runner: (runner.above(limit), len(runner)))

    def run(
        self, until: float, limit: int, *, pressing_from: float = 1.0, patience: float = math.inf
    ) -> None:
        """Look for fewer links with at most `limit` per node, until a share of the budget is spent.

        It ends before that after `patience` steps for each link without a gain.
        """
        budget, began = self.budget, self.budget.share
        while budget.share < until and not self.done and self.idle <= patience * len(self.remaking):
            gone = (budget.share - began) / (until - began)
            above = self.remaking.max_degree > limit
            if above and gone > 2 / 3:
                self._go_back()  # prices led above the limit, and the search did not come down in time
            pressing = budget.share > pressing_from
            # The fewest links may need a higher degree: after a restart it may rise, in turn with each ruin.
            rising = (self.larger + self.larger // len(RUINS)) % 2 == 1 and not pressing
            cap = limit if above or rising else cap_of(self.remaking, limit, pressing=pressing)
            self._step(until, cap, lowering=SPARING if above else 0)
        self.remaking.prune()
        self.kept.look(self.remaking)

    def lower(self) -> None:
        """Try one degree less, and again, until a try fails or less is proven impossible.

        Then start again at the degree reached from what its prices give, which is mostly better.
        """
        while self.kept.degree > self.lowest and not self.budget.spent:
            target = self.kept.degree - 1
            if not self._reach(target, self.kept.links, FOR_A_DASH):
                start = None if self.failures % 2 else self.priced_start(target)
                # The greedy overlay has many links, which make it easy to lower.
                links = (self.greedy.u, self.greedy.v) if start is None else start.links()
                if not self._reach(target, links, FOR_A_TRY):
                    self.failures += 1
                    break
        degree = self.kept.degree
        if degree not in self.priced_for and not self.budget.spent:
            start = self.priced_start(degree)
            if start is not None:
                self._reach(degree, start.links(), FOR_A_NEW_START)
        self.larger = 0
        self._go_back()

    def priced_start(self, degree: int) -> RuinAndRecreate | None:
        """Return an overlay grown by prices that know a degree; None if there is no time for that."""
        if self.prices is None or not self.budget.allows(self.pricing, FOR_A_START):
            return None
        share = self.budget.seconds_for(FOR_DEGREES)
        knowing = bounds.links_at_degree(
            self.prices, degree, seconds=share, threads=self.threads, progress=self.progress
        )
        began = working_seconds()
        grown = priced(
            self.greedy.interest,
            knowing,
            self.greedy,
            max_degree=degree,
            threads=self.threads,
            progress=self.progress,
        )
        start = _pruned(grown, self.seed)
        self.pricing = working_seconds() - began
        self.priced_for.add(degree)
        if degree == self.kept.limit:
            self.needed = knowing.bound
        return start

    def _reach(self, target: int, links: tuple[Ids, Ids], part: float) -> bool:
        """Search from some links for at most `target` per node, for a part of what is left of the budget."""
        self.trying = target
        began = self.budget.share
        until = began + (1 - began) * part
        self._start_from(links)
        hopeful = max(FEW_ABOVE, self.remaking.above(target) // 5)
        while self.remaking.max_degree > target and self.budget.share < until:
            late = self.budget.share > (began + until) / 2
            if late and self.remaking.above(target) > hopeful:
                break
            self._step(until, target, lowering=GENEROUS if late else SPARING)
        self.kept.limit = target
        self.kept.look(self.remaking)
        self.trying, self.kept.limit = None, self.kept.degree
        return self.kept.degree <= target

    def overlay(self) -> Overlay:
        """Return the best overlay found."""
        return self.safe.overlay(self.kept.links)

    def _step(self, until: float, cap: int, *, lowering: int) -> None:
        """Make some steps, keep what is better, and start again with larger ruins if nothing was for long."""
        remaking, budget, before = self.remaking, self.budget, (self.kept.rank, self.remaking.above(cap))
        count = budget.take(min(STRIDE, max(1, len(remaking)), budget.steps_until(until)))
        remaking.run(count, max_degree=cap, lowering=lowering)
        self.kept.look(remaking)
        self.idle = self.idle + count if before == (self.kept.rank, remaking.above(cap)) else 0
        patience = IMPATIENCE if lowering else PATIENCE * (RUINS[0] / remaking.ruin) ** 3
        if self.idle > patience * len(remaking):
            self.restarts += 1
            self.larger += 1
            links = self.kept.links if self.trying is None else remaking.links()
            if self.trying is None and self.larger % (2 * len(RUINS)) == 0:
                links = self.greedy.u, self.greedy.v  # what all ruins keep returning to may be no optimum
            self._start_from(links)
        if self.progress is not None:
            needed = _format_gap(remaking, self.needed)
            doing = IMPROVING if self.trying is None else f"trying a maximum degree of {cap}"
            fewest = len(remaking) if self.trying else min(len(remaking), self.kept.rank[0])
            self.progress(fewest, budget.share, f"{doing}{needed}")

    def _go_back(self) -> None:
        """Continue from the best overlay so far."""
        self._start_from(self.kept.links)

    def _start_from(self, links: tuple[Ids, Ids]) -> None:
        """Continue from some links, with other ruins and random numbers after a restart."""
        ruin = RUINS[self.larger % len(RUINS)]
        start = self.safe.overlay(links)
        self.remaking = RuinAndRecreate(start, seed=self.seed + self.restarts, ruin=ruin)
        self.idle = 0


class _Kept:
    """The links of the best overlay so far: the fewest, then the lowest maximum degree."""

    def __init__(self, safe: RuinAndRecreate, most: int, limit: int) -> None:
        self.limit, self.most = limit, most
        self.rank = (len(safe), safe.max_degree)
        self.links: tuple[Ids, Ids] = safe.links()

    @property
    def degree(self) -> int:
        """The maximum degree of the links."""
        return self.rank[1]

    def look(self, remaking: RuinAndRecreate) -> None:
        """Keep the links if they are better; within a limit that the kept ones exceed, any are."""
        rank = len(remaking), remaking.max_degree
        if remaking.max_degree > self.limit or len(remaking) > self.most:
            return
        if rank < self.rank or self.rank[1] > self.limit:
            self.rank, self.links = rank, remaking.links()


def _pruned(overlay: Overlay, seed: int) -> RuinAndRecreate:
    remaking = RuinAndRecreate(overlay, seed=seed)
    remaking.prune()
    return remaking


def is_optimal(remaking: RuinAndRecreate, needed: int | None, lowest: int = 1) -> bool:
    """Return whether no overlay is better: as few links as needed, spread evenly or at the lowest degree."""
    nodes = max(1, remaking.interest.num_nodes)
    return len(remaking) == needed and remaking.max_degree <= max(lowest, -(-2 * len(remaking) // nodes))


def cap_of(remaking: RuinAndRecreate, limit: int, *, pressing: bool) -> int:
    """Return the limit of links per node for new links: the current maximum degree, or less when pressing.

    When pressing, the limit is below the current maximum but above the average, so that the maximum falls.
    The search presses late, because without hubs it can save fewer links.
    """
    average, most = 2 * len(remaking) / max(1, remaking.interest.num_nodes), remaking.max_degree
    return min(limit, most, max(most - 1, math.ceil(average) + 1) if pressing else most)


def _format_gap(remaking: RuinAndRecreate, needed: int | None) -> str:
    if not needed:
        return ""
    return f", at most {excess(len(remaking) / needed - 1)} above the fewest possible"


def _rule(objective: str, k: float) -> Rule:
    if objective not in OBJECTIVES:
        raise InputError(f"no objective {objective!r}: choose one of {', '.join(OBJECTIVES)}")
    return {"edges": rules.gm, "degree": rules.minmax, "balanced": rules.low(k)}[objective]
