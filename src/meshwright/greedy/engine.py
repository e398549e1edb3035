"""`grow`: the greedy engine behind every design that picks links by contribution; exact and deterministic.

Every picker runs in one loop: strides, progress, room for the result, and the budgets. A picker is a kernel
that adds links to a state until it is done or must pause. The driver calls it stride by stride. Between two
strides Python runs: it reports progress, and Ctrl-C takes effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from meshwright.arrays import Ids, as_ids, check_threads, is_whole
from meshwright.errors import InputError, first_five
from meshwright.greedy import rules
from meshwright.greedy.candidates import Candidates, everything
from meshwright.greedy.kernels.state import BROKEN, EDGES, EXHAUSTED, FULL, MERGES, WORK, Goal, Links, State
from meshwright.greedy.layout import Tuning
from meshwright.greedy.path_choice import Task
from meshwright.interest import Interest
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.progress import Progress

LINKING = "linking"
"""The phase that progress reports while links are added."""
NO_LIMIT = np.iinfo(np.int32).max
"""What kernels take for no budget."""
STRIDE = 300_000_000
"""Work between two looks at progress and at Ctrl-C, as `State.tally` counts it: some tenths of a second."""
ROOM = 1024
"""The result columns start with room for this many links."""

Step: TypeAlias = Callable[[Goal, Links], int]
"""A picker's kernel with its arrays bound: it adds links and returns how it ended."""


def check_budgets(max_edges: int | None, max_degree: int | None) -> None:
    """Refuse a budget that is not a whole number of zero or more."""
    for name, budget in (("max_edges", max_edges), ("max_degree", max_degree)):
        if budget is not None and (not is_whole(budget) or budget < 0):
            raise InputError(f"{name} is {budget}: give a whole number of zero or more, or leave it out")


def limit_of(budget: int | None) -> int:
    """Return a budget as kernels take it: `NO_LIMIT` for None or for more than 32 bits hold."""
    return NO_LIMIT if budget is None else min(int(budget), NO_LIMIT)


class Driver:
    """Runs pickers over one state and keeps the links they add.

    Parameters
    ----------
    state
        The state that the pickers link.
    max_edges
        How many links may be added in all.
    progress
        Called after each stride; what it raises ends the run.
    share
        Returns how much is done, from 0 to 1; by default the part of all possible merges that is done, which
        is the support.
    room
        How many links the columns have room for at first, `ROOM` at least; a picker that adds many links
        before it returns needs more.
    """

    def __init__(
        self,
        state: State,
        *,
        max_edges: int | None = None,
        progress: Progress | None = None,
        share: Callable[[], float] | None = None,
        room: int = 0,
    ) -> None:
        self.state, self.progress = state, progress
        self.max_edges = limit_of(max_edges)
        self.share = share or self._support
        self.to_merge = max(1, int(np.maximum(np.diff(state.topic_ptr) - 1, 0).sum()))
        room = min(max(room, ROOM), self.max_edges)
        self.columns = Links(*(np.empty(room, dtype=np.int32) for _ in Links._fields))

    def run(self, step: Step, before_stride: Callable[[], None] | None = None) -> None:
        """Call a picker's kernel until it is exhausted."""
        tally, status = self.state.tally, -1
        while status != EXHAUSTED:
            if before_stride is not None:
                before_stride()
            status = step(Goal(self.max_edges, int(tally[WORK]) + STRIDE), self.columns)
            if status == BROKEN:
                raise AssertionError(
                    "the engine lost count of a contribution: this is a bug, please report it"
                )
            if status == FULL:
                self.columns = Links(*(_doubled(column) for column in self.columns))
            self.report()

    def report(self) -> None:
        """Report the number of links and the share that is done."""
        if self.progress is not None:
            self.progress(int(self.state.tally[EDGES]), self.share(), LINKING)

    def links(self) -> tuple[Ids, Ids, Ids]:
        """Return a copy of the links added so far: u, v and contribution."""
        u, v, contribution = (column[: self.state.tally[EDGES]].copy() for column in self.columns)
        return u, v, contribution

    def _support(self) -> float:
        return min(1.0, float(self.state.tally[MERGES] / self.to_merge))


def _doubled(column: Ids) -> Ids:
    """Return a copy with as much room again, which takes no memory before it is used."""
    larger = np.empty(2 * len(column), dtype=column.dtype)
    larger[: len(column)] = column
    return larger


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
    _check_candidates(candidates, interest.num_nodes)
    counted = interest if topics is None else interest.restrict(as_ids(topics, "topics"))
    task = Task(counted, rule, candidates, max_degree, tuning or Tuning())
    run = LevelRun(task, start, max_edges=max_edges, threads=threads, progress=progress, degrees=degrees)
    u, v, contribution = run.finish()
    if start is not None:
        u, v = np.concatenate((start.u, u)), np.concatenate((start.v, v))
        contribution = np.concatenate((start.contribution, contribution))
    return unchecked_overlay(interest, u, v, contribution)


def _check_candidates(candidates: Candidates, num_nodes: int) -> None:
    """Refuse candidates that name unknown nodes."""
    for ids in (candidates.nodes, candidates.pairs, candidates.excluded):
        if ids is not None and ids.size and (ids.min() < 0 or ids.max() >= num_nodes):
            unknown = np.unique(ids[(ids < 0) | (ids >= num_nodes)])
            raise InputError(
                f"candidates name nodes {first_five(unknown.tolist())}; ids are 0 to {num_nodes - 1}"
            )


def _check_start(interest: Interest, start: Overlay | None, threads: int) -> None:
    check_threads(threads)
    if start is None or start.interest is interest:
        return
    if start.interest.fingerprint != interest.fingerprint:
        raise InputError(
            "the starting overlay was made for another interest: start from an overlay of this one"
        )
