"""`grow`: the greedy engine behind every design that picks links by contribution; exact and deterministic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from meshwright.arrays import Ids, as_ids, check_threads
from meshwright.errors import InputError
from meshwright.greedy import rules
from meshwright.greedy.candidates import Candidates, everything
from meshwright.greedy.driver import check_budgets
from meshwright.greedy.layout import Tuning
from meshwright.greedy.path_choice import Task
from meshwright.interest import Interest
from meshwright.overlay import Overlay
from meshwright.progress import Progress


class Start(NamedTuple):
    """Where a run starts, if its nodes have other degrees than the links that count for its components."""

    links: Overlay | None
    """Links that exist already."""
    degrees: Ids
    """How many links each node has."""


def grow(
    interest: Interest | Any,
    rule: rules.Rule,
    *,
    start: Overlay | Start | None = None,
    candidates: Candidates = everything,
    topics: Iterable[int] | None = None,
    max_edges: int | None = None,
    max_degree: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    tuning: Tuning | None = None,
) -> Overlay:
    """Add, one at a time, the link that the rule picks by its contribution, until no link contributes.

    Ties go to the smallest (u, v). The answer is exact: it does not depend on `threads` or `tuning`.

    Parameters
    ----------
    interest
        Who subscribes to what: an Interest, or whatever `Interest.of` takes.
    rule
        `rules.gm`, `rules.minmax` or `rules.low(k)`.
    start
        Links that exist already. They count for components and degrees and come first in the result. A
        `Start` states other degrees than theirs.
    candidates
        The pairs that may be linked: everything, or a set made by `candidates.among`, `pairs`, `star`,
        `all_but`.
    topics
        Ids of the topics that count; all by default.
    max_edges, max_degree
        Budgets: how many links may be added; a link that would push either end over `max_degree` is not a
        candidate.
    threads
        How many threads rebuild rows or list pairs at once.
    progress
        Called every few tenths of a second; what it raises ends the run.
    tuning
        Sizes of the engine's arrays; they change its speed only.

    Raises
    ------
    InputError
        For a negative budget, unknown nodes or topics, or a start made for another interest.

    Examples
    --------
    >>> from meshwright.greedy import rules
    >>> grow({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, rules.low(3)).edges
    [('a', 'b'), ('a', 'c')]
    """
    from meshwright.greedy.level_run import LevelRun  # it imports kernels, and so numba

    interest = Interest.of(interest)
    if not isinstance(rule, rules.Rule):
        raise InputError(f"the rule is {rule!r}: make one by rules.gm, rules.minmax or rules.low(k)")
    check_budgets(max_edges, max_degree)
    start, degrees = start if isinstance(start, Start) else (start, None)
    _check_start(interest, start, threads)
    candidates = candidates.checked(interest.num_nodes)
    counted = interest if topics is None else interest.restrict(as_ids(topics, "topics"))
    task = Task(counted, rule, candidates, max_degree, tuning or Tuning())
    run = LevelRun(task, start, max_edges=max_edges, threads=threads, progress=progress, degrees=degrees)
    u, v, contribution = run.finish()
    if start is not None:
        u, v = np.concatenate((start.u, u)), np.concatenate((start.v, v))
        contribution = np.concatenate((start.contribution, contribution))
    return Overlay(interest, u, v, contribution)


def _check_start(interest: Interest, start: Overlay | None, threads: int) -> None:
    check_threads(threads)
    if start is None or start.interest is interest:
        return
    if start.interest.fingerprint != interest.fingerprint:
        raise InputError(
            "the starting overlay was made for another interest: start from an overlay of this one"
        )
