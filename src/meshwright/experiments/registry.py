"""Which papers there are, and what a key such as `podc07/fig2` selects."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import NamedTuple

from meshwright.errors import InputError
from meshwright.experiments.paper import Figure, Paper

KEYS = ("podc07", "icdcs10", "icdcs16", "shadows", "cbps")
"""The papers: each is a module or package in `papers/` with a `PAPER`."""


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
