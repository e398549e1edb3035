"""Candidate sets: which pairs of nodes the engine may link.

>>> import meshwright as mw
>>> interest = mw.Interest.of({"a": {"x"}, "b": {"x"}, "c": {"x"}})
>>> mw.grow(interest, mw.rules.gm, candidates=mw.candidates.star(2, [0, 1])).edges
[('a', 'c'), ('b', 'c')]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, as_ids
from meshwright.errors import InputError, first_five
from meshwright.overlay import Overlay


@dataclass(frozen=True, eq=False)
class Candidates:
    """A set of node pairs, in dense ids; make one with the functions below. At most one field is set."""

    nodes: Ids | None = None
    """All pairs among these nodes, which are sorted."""
    pairs: Ids | None = None
    """Exactly these pairs, as two columns u < v in lexicographic order."""
    excluded: Ids | None = None
    """All pairs except these, in the same form."""


everything = Candidates()
"""All pairs of nodes."""


def among(nodes: Iterable[int]) -> Candidates:
    """Return all pairs within a set of nodes."""
    return Candidates(nodes=np.unique(as_ids(nodes, "nodes")))


def pairs(edges: Iterable[Sequence[int]] | NDArray[Any]) -> Candidates:
    """Return exactly these pairs."""
    return Candidates(pairs=_sorted_pairs(edges))


def star(center: int, others: Iterable[int]) -> Candidates:
    """Return the pairs of one node with each of a set; the centre itself is ignored there."""
    return pairs([(center, other) for other in others if other != center])


def all_but(used: Overlay | Iterable[Sequence[int]] | NDArray[Any]) -> Candidates:
    """Return all pairs except these: an overlay's links, or listed pairs."""
    edges = np.column_stack((used.u, used.v)) if isinstance(used, Overlay) else used
    return Candidates(excluded=_sorted_pairs(edges))


def _sorted_pairs(edges: Iterable[Sequence[int]] | NDArray[Any]) -> Ids:
    """Return each pair once, the smaller end first, in lexicographic order."""
    array = as_ids(edges, "pairs", columns=2)
    if (array[:, 0] == array[:, 1]).any():
        loops = array[array[:, 0] == array[:, 1], 0]
        raise InputError(f"candidates pair nodes {first_five(loops.tolist())} with themselves")
    return np.unique(np.sort(array, axis=1), axis=0).astype(np.int32)
