"""Papers, figures and cases: what there is to reproduce, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from meshwright.experiments.checks import Claims
    from meshwright.experiments.results import Results, Row
    from meshwright.interest import Interest

Value: TypeAlias = int | float | str | bool


@dataclass(frozen=True)
class Case:
    """One cell of a figure: its parameters, its seed, and the graphs that the user gave."""

    parameters: Mapping[str, Value]
    seed: int
    graphs: Mapping[str, Interest] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return a parameter."""
        return self.parameters[name]

    def graph(self, name: str) -> Interest | None:
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
