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
    from meshwright.bounds import Prices
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


def priced(interest: Interest, prices: Prices, greedy: Overlay, *, max_degree: int | None = None) -> Overlay:
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
    MinMax-ODA and for `balanced` Low-ODA(k): the maximum degree never exceeds theirs, with fewer links where
    possible. The search stops after `seconds`, or after `steps`, which give the same result for the same seed
    on every machine. Without any budget the result is the pruned greedy overlay. `prices` of an earlier run
    can be reused.
    """
    rule = _rule(objective, k)
    budget = Budget(seconds, steps)
    if prices is not None:
        prices.check(interest)
    greedy = grow(interest, rule, threads=threads, progress=progress)
    limit = measure.degrees(greedy).maximum if objective != "edges" else interest.num_nodes
    safe = remaking = _pruned(greedy, seed)
    if not len(safe) or budget.spent:
        return safe.overlay()
    if prices is None and bounds.pair_topics(interest) <= budget.most_pairs:
        half = budget.seconds_for(1 / 2)
        prices = bounds.prices(interest, seconds=half, threads=threads, progress=progress)
    if prices is not None:
        other = priced(interest, prices, greedy, max_degree=None if objective == "edges" else limit)
        remaking = min(safe, _pruned(other, seed), key=len)
    kept = _Kept(safe, limit)
    kept.look(remaking)
    while not budget.spent and not is_optimal(remaking, prices):
        if budget.share > 1 / 2 and remaking.max_degree > limit:
            remaking = safe  # prices led above the limit, and the search did not come down in time
        pressing = budget.share > PRESSING_FROM
        steps = budget.take(min(STRIDE, len(remaking)))
        remaking.run(steps, max_degree=cap_of(remaking, limit, pressing=pressing))
        kept.look(remaking)
        if progress is not None:
            progress(len(remaking), budget.share, IMPROVING + _format_gap(remaking, prices))
    remaking.prune()
    kept.look(remaking)
    return safe.overlay(kept.links)


class _Kept:
    """The links of the best overlay so far: the fewest, then the lowest maximum degree."""

    def __init__(self, safe: search.RuinAndRecreate, limit: int) -> None:
        self.limit, self.rank, self.links = limit, (len(safe), safe.max_degree), safe.links()

    def look(self, remaking: search.RuinAndRecreate) -> None:
        """Keep the links if they are better."""
        rank = len(remaking), remaking.max_degree
        if rank < self.rank and remaking.max_degree <= self.limit:
            self.rank, self.links = rank, remaking.links()


def _pruned(overlay: Overlay, seed: int) -> search.RuinAndRecreate:
    remaking = search.RuinAndRecreate(overlay, seed=seed)
    remaking.prune()
    return remaking


def is_optimal(remaking: search.RuinAndRecreate, prices: Prices | None) -> bool:
    """Return whether no overlay is better: as few links as proven possible, spread evenly."""
    nodes = max(1, remaking.interest.num_nodes)
    as_proven = prices is not None and len(remaking) == prices.bound
    return as_proven and remaking.max_degree <= -(-2 * len(remaking) // nodes)


def cap_of(remaking: search.RuinAndRecreate, limit: int, *, pressing: bool) -> int:
    """Return the limit of links per node for new links: the current maximum degree, or less when pressing.

    When pressing, the limit is below the current maximum but above the average, so that the maximum falls.
    The search presses late, because without hubs it can save fewer links.
    """
    average, most = 2 * len(remaking) / max(1, remaking.interest.num_nodes), remaking.max_degree
    return min(limit, most, max(most - 1, math.ceil(average) + 1) if pressing else most)


def _format_gap(remaking: search.RuinAndRecreate, prices: Prices | None) -> str:
    if prices is None or prices.bound == 0:
        return ""
    return f", at most {excess(len(remaking) / prices.bound - 1)} above the fewest possible"


def _rule(objective: str, k: float) -> Rule:
    if objective not in OBJECTIVES:
        raise InputError(f"no objective {objective!r}: choose one of {', '.join(OBJECTIVES)}")
    return {"edges": rules.gm, "degree": rules.minmax, "balanced": rules.low(k)}[objective]
