"""`resilient`: overlays in which no single broker failure splits a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs.greedy import gm
from meshwright.designs.resilient.growth import grow_biconnected
from meshwright.designs.resilient.prune import remove_spare_links
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.progress import Progress

RUNS = (((1, 1, 0), (0, 0, 1)), ((1, 1, 4),))
"""For each run and phase: what a link counts by components, by missing links and by blocks."""


def resilient(
    interest: Interest, *, k: float = 2, threads: int = 1, progress: Progress | None = None
) -> Overlay:
    """Link every topic so that it stays connected when any one of its subscribers fails.

    With k = 2 each topic's sub-overlay is 2-connected: of three or more subscribers, any one may fail and the
    others stay connected among themselves; two subscribers are linked. No link can be removed without losing
    that. With k = 1 it is GM, on `threads` threads. Larger k are not supported.

    A topic of n subscribers needs at least n links, as a ring has: hardly more than the n − 1 of a tree. So
    it does not pay to begin with trees, whose many leaves each need a second link later. Instead, from the
    start, a link counts in each topic of its ends 1 if it merges two components and 1 for each end with fewer
    than two links there. This is greedy growth of a submodular function. So, to connect every topic with two
    links at each subscriber, it needs at most H(3·c) ≤ 1 + ln(3·c) times the fewest links, where c is the
    most topics that two nodes share (Wolsey 1982). The few cuts that remain are then closed by links whose
    ends share no block in the most topics.

    Where large subscribers hold nearly all topics of small ones, it is better to link to the large ones. A
    second run therefore weighs blocks most from the start. Spare links are removed from both runs, and the
    run with fewer links is the answer (the first of equals).

    Each run takes a few passes over all pairs of subscribers of each topic, O(Σ_t n_t²), and O(Σ|T(v)|)
    memory.

    Raises
    ------
    InputError
        If k is neither 1 nor 2.

    Examples
    --------
    >>> from meshwright import Interest
    >>> resilient(Interest.from_dict({v: {"x"} for v in "abcd"})).edges
    [('a', 'b'), ('a', 'c'), ('b', 'd'), ('c', 'd')]
    """
    if k not in (1, 2):
        raise InputError(
            f"k is {k}: give 1 (connected) or 2 (connected when one broker fails); larger k are not supported"
        )
    if k == 1:
        return gm(interest, threads=threads, progress=progress)
    overlays = [
        remove_spare_links(grow_biconnected(interest, phases, progress=_part_of(progress, number)))
        for number, phases in enumerate(RUNS)
    ]
    return min(overlays, key=len)


def _part_of(progress: Progress | None, number: int) -> Progress | None:
    """Return a callback that reports the progress of one run as part of all runs."""
    if progress is None:
        return None
    return lambda links, share, what: progress(links, (number + share) / len(RUNS), what)
