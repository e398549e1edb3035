"""Best: an overlay better than the papers', by prices and local search from a greedy one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from meshwright import bounds, measure, search
from meshwright.designs.budget import Budget
from meshwright.designs.priced import priced
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.spelling import excess

if TYPE_CHECKING:
    from meshwright.bounds import Prices
    from meshwright.greedy import Progress
    from meshwright.greedy.rules import Rule
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay

OBJECTIVES = ("edges", "degree", "balanced")
STRIDE = 200
"""Steps between two looks at the clock, at progress and at Ctrl-C, at most."""
PRESSING_FROM = 2 / 3
"""The part of its time after which it also presses the maximum degree down."""
IMPROVING = "improving"


def best(
    interest: Interest,
    *,
    objective: str = "edges",
    k: float = 3.0,
    seconds: float = 20.0,
    steps: int | None = None,
    seed: int = 0,
    prices: Prices | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Overlay:
    """Design by prices, prune, then ruin and recreate parts: few links, and never worse than greedy.

    Guarantee: every topic is connected, and the overlay is never worse than the greedy one. That is GM's for
    the objective `edges`, which asks for few links and then for a low maximum degree; MinMax-ODA's for
    `degree` and Low-ODA(k)'s for `balanced`, whose maximum degree it never exceeds and with fewer links
    wherever it finds them. It stops after `seconds`, or, the same for the same seed on every machine, after
    `steps`; with neither left it is the pruned greedy overlay. `prices` of an earlier run save finding them.
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
            remaking = safe  # prices led above the limit, and the way down was too long
        pressing = budget.share > PRESSING_FROM
        steps = budget.take(min(STRIDE, len(remaking)))
        remaking.run(steps, max_degree=cap_of(remaking, limit, pressing=pressing))
        kept.look(remaking)
        if progress is not None:
            progress(len(remaking), budget.share, IMPROVING + _gap_told(remaking, prices))
    remaking.prune()
    kept.look(remaking)
    return safe.overlay(kept.links)


class _Kept:
    """The links of the best overlay so far: the fewest, then the lowest maximum degree."""

    def __init__(self, safe: search.Remaking, limit: int) -> None:
        self.limit, self.rank, self.links = limit, (len(safe), safe.max_degree), safe.links()

    def look(self, remaking: search.Remaking) -> None:
        """Keep the links if they are better."""
        rank = len(remaking), remaking.max_degree
        if rank < self.rank and remaking.max_degree <= self.limit:
            self.rank, self.links = rank, remaking.links()


def prepare(progress: Progress | None = None) -> None:
    """Compile the kernels that `best` has beside the engine's, or load them where they are kept."""
    search.prepare(progress)
    bounds.prepare(progress)


def _pruned(overlay: Overlay, seed: int) -> search.Remaking:
    remaking = search.Remaking(overlay, seed=seed)
    remaking.prune()
    return remaking


def is_optimal(remaking: search.Remaking, prices: Prices | None) -> bool:
    """Say whether nothing better is possible: links as proven, spread as evenly as so many can be."""
    nodes = max(1, remaking.interest.num_nodes)
    as_proven = prices is not None and len(remaking) == prices.bound
    return as_proven and remaking.max_degree <= -(-2 * len(remaking) // nodes)


def cap_of(remaking: search.Remaking, limit: int, *, pressing: bool) -> int:
    """Return how many links a node may have after it is given one: not above the most that one has now.

    When pressing it is below that, but above the average, so that the most falls; with hubs gone fewer
    links can be saved.
    """
    average, most = 2 * len(remaking) / max(1, remaking.interest.num_nodes), remaking.max_degree
    return min(limit, most, max(most - 1, math.ceil(average) + 1) if pressing else most)


def _gap_told(remaking: search.Remaking, prices: Prices | None) -> str:
    if prices is None or prices.bound == 0:
        return ""
    return f", at most {excess(len(remaking) / prices.bound - 1)} above the fewest possible"


def _rule(objective: str, k: float) -> Rule:
    if objective not in OBJECTIVES:
        raise InputError(f"no objective {objective!r}: choose one of {', '.join(OBJECTIVES)}")
    return {"edges": rules.gm, "degree": rules.minmax, "balanced": rules.low(k)}[objective]
