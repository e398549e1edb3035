"""Best: an overlay better than the papers', by local search from a greedy one."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from meshwright import measure, search
from meshwright.errors import InputError
from meshwright.greedy import grow, rules

if TYPE_CHECKING:
    from meshwright.greedy import Progress
    from meshwright.greedy.rules import Rule
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay

OBJECTIVES = ("edges", "degree", "balanced")
STRIDE = 200
"""Steps between two looks at the clock, at progress and at Ctrl-C."""
IMPROVING = "improving"


def best(
    interest: Interest,
    *,
    objective: str = "edges",
    k: float = 3.0,
    seconds: float = 20.0,
    steps: int | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Overlay:
    """Improve a greedy overlay by local search: prune it, then ruin and recreate parts of it.

    Guarantee: every topic is connected, and the overlay is never worse than the one it starts from. That is
    GM's for the objective `edges`, which asks for few links and then for a low maximum degree; MinMax-ODA's
    for `degree` and Low-ODA(k)'s for `balanced`, whose maximum degree it never exceeds and with fewer links
    wherever it finds them. It stops after `seconds`, or, the same for the same seed on every machine, after
    `steps`; with neither left it is the pruned greedy overlay.
    """
    rule = _rule(objective, k)
    _check(seconds, steps)
    greedy = grow(interest, rule, threads=threads, progress=progress)
    began = time.perf_counter()
    remaking = search.Remaking(greedy, seed=seed)
    remaking.prune()
    limit = None if objective == "edges" else measure.degrees(greedy).maximum
    done = 0
    while len(remaking) and (time.perf_counter() - began < seconds if steps is None else done < steps):
        count = STRIDE if steps is None else min(STRIDE, steps - done)
        remaking.run(count, max_degree=_cap(remaking, limit))
        done += count
        if progress is not None:
            share = (time.perf_counter() - began) / seconds if steps is None else done / steps
            progress(len(remaking), min(1.0, share), IMPROVING)
    remaking.prune()
    return remaking.overlay()


def _cap(remaking: search.Remaking, limit: int | None) -> int:
    """Return how many links a node may have after it is given one: below the most, well above the average."""
    average = 2 * len(remaking) / max(1, remaking.interest.num_nodes)
    below = max(remaking.max_degree - 1, math.ceil(average) + 3)
    return below if limit is None else min(below, limit)


def _rule(objective: str, k: float) -> Rule:
    if objective not in OBJECTIVES:
        raise InputError(f"no objective {objective!r}: choose one of {', '.join(OBJECTIVES)}")
    return {"edges": rules.gm, "degree": rules.minmax, "balanced": rules.low(k)}[objective]


def _check(seconds: float, steps: int | None) -> None:
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf:
        raise InputError(f"{seconds} seconds: give zero or more")
    if steps is not None and (not isinstance(steps, (int, np.integer)) or steps < 0):
        raise InputError(f"{steps} steps: give a whole number of zero or more, or leave it out")
