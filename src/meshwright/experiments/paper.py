"""Papers, figures and cases as data, and what a key such as `podc07/fig2` selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import meshwright as mw
from meshwright.errors import InputError
from meshwright.experiments.checks import Claims
from meshwright.experiments.results import Results, Row

Value: TypeAlias = int | float | str | bool
BEST_STEPS = 2000
"""Steps of our search: the same on every machine."""


@dataclass(frozen=True)
class Case:
    """One cell of a figure: its parameters, its seed, and the graphs that the user gave."""

    parameters: Mapping[str, Value]
    seed: int
    graphs: Mapping[str, mw.Interest] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return a parameter."""
        return self.parameters[name]

    def graph(self, name: str) -> mw.Interest | None:
        """Return a graph given by the user, or None if there is none of this name."""
        return self.graphs.get(name)

    def __str__(self) -> str:
        """Name the case for messages.

        >>> str(Case({"nodes": 100}, 2))
        'nodes = 100, seed = 2'
        """
        return ", ".join(
            f"{name} = {value}" for name, value in [*self.parameters.items(), ("seed", self.seed)]
        )


def grid(*, seeds: int, **axes: Sequence[Value] | Value) -> tuple[Case, ...]:
    """Return every combination of the values of some parameters, each with every seed from 1.

    Grids can be added, to leave out combinations that take too long.

    >>> [str(case) for case in grid(seeds=1, nodes=(100, 200), topics=50)]
    ['nodes = 100, topics = 50, seed = 1', 'nodes = 200, topics = 50, seed = 1']
    """
    values = [axis if isinstance(axis, (tuple, list, range)) else (axis,) for axis in axes.values()]
    return tuple(
        Case(dict(zip(axes, chosen, strict=True)), seed)
        for chosen in product(*values)
        for seed in range(1, seeds + 1)
    )


@dataclass(frozen=True)
class Figure:
    """A figure, a table or a numeric lemma of a paper."""

    key: str
    """Its name in commands and ids, such as `fig2`."""
    title: str
    shows: str
    """What the paper shows there, in a few sentences."""
    draw: Callable[[Results, list[Any]], None]
    """Draw the results on one axes object per panel."""
    claims: Callable[[Results, Claims], None]
    """State what the paper claims, and check it against the results."""
    cell: Callable[[Case], list[Row]] | None = None
    """Compute one cell; None if `table` names the figure whose cells are drawn."""
    quick: tuple[Case, ...] = ()
    full: tuple[Case, ...] = ()
    table: str = ""
    """The figure of the same paper whose cells this one draws; its own by default."""
    panels: int = 1
    version: int = 1
    """Of the cells: raise it when they compute something else."""
    graphs: tuple[str, ...] = ()
    """Names of real graphs that its cells use if the user gives them."""
    weight: Callable[[Case], float] = lambda _: 1.0
    """About how many seconds a cell takes: for the time left."""
    note: str = ""
    """What readers must know about our side: sizes, workloads, other readings of the text."""

    def cases(self, *, full: bool) -> tuple[Case, ...]:
        """Return the cells of its own."""
        return self.full if full else self.quick


@dataclass(frozen=True)
class Paper:
    """A paper and its figures, in the order of the paper."""

    key: str
    title: str
    authors: str
    """Authors, conference and year."""
    figures: tuple[Figure, ...]

    def figure(self, key: str) -> Figure:
        """Return a figure by its key, which exists."""
        return next(figure for figure in self.figures if figure.key == key)

    def source(self, figure: Figure) -> Figure:
        """Return the figure whose cells a figure draws: itself, or the one that `table` names."""
        return self.figure(figure.table) if figure.table else figure


KEYS = ("podc07", "icdcs10", "icdcs16", "shadows", "cbps")
"""The papers: each is a module of `papers` with a `PAPER`."""


class Selected(NamedTuple):
    """A figure and its paper."""

    paper: Paper
    figure: Figure


@cache
def papers() -> dict[str, Paper]:
    """Return all papers by key."""
    return {key: import_module(f"meshwright.experiments.papers.{key}").PAPER for key in KEYS}


def select(key: str) -> list[Selected]:
    """Return the figures that a key selects: `all`, a paper, or a paper and a figure.

    Raises
    ------
    InputError
        If there is no such paper or figure.
    """
    known = papers()
    name, slash, figure = key.partition("/")
    if key != "all" and name not in known:
        raise _unknown("paper", name, [*known, "all"])
    chosen = [
        Selected(paper, one)
        for paper in known.values()
        for one in paper.figures
        if key == "all" or paper.key == name
    ]
    if not slash:
        return chosen
    figures = [one.figure.key for one in chosen]
    if figure not in figures:
        raise _unknown(f"figure of {name}", figure, figures)
    return [one for one in chosen if one.figure.key == figure]


def check_graphs(graphs: list[str]) -> None:
    """Raise an InputError if no figure uses a graph of one of these names."""
    known = sorted(
        {name for paper in papers().values() for figure in paper.figures for name in figure.graphs}
    )
    for name in graphs:
        if name not in known:
            raise _unknown("graph", name, known)


def _unknown(what: str, name: str, known: list[str]) -> InputError:
    """Return the error for an unknown name, with the closest known one."""
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    listed = f"there are {', '.join(known)}" if known else "there is none"
    return InputError(f"no {what} {name!r}: {hint}{listed}; see 'meshwright reproduce list'")
