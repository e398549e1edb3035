"""Divide and conquer: parts of the nodes planned apart, then joined by representatives.

Each part's topics are connected within the part, so a few of its nodes that together have all its topics can
stand for it: the links between parts are chosen among these representatives. Nodes with very many topics,
which any part would miss, belong to no part and are linked in the last step. The result is topic-connected,
with more links than the exact design: the more, the smaller the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.greedy import grow
from meshwright.overlay import Overlay
from meshwright.pipeline.divide_join import join
from meshwright.pipeline.divide_parts import Solver, among, solve_here, split

if TYPE_CHECKING:
    from meshwright.greedy.rules import Rule
    from meshwright.interest import Interest

SAMPLE_NODES = 10_000
"""So many nodes are planned both ways to see what dividing costs."""


@dataclass(frozen=True)
class Loss:
    """How many more links a sample of nodes got by dividing than by the exact design."""

    nodes: int
    exact: int
    divided: int

    @property
    def share(self) -> float:
        """The extra links as a share of the exact design's."""
        return self.divided / self.exact - 1 if self.exact else 0.0


def divide(
    interest: Interest,
    rule: Rule,
    *,
    parts: int,
    coverage: int = 3,
    seed: int = 0,
    solver: Solver = solve_here,
) -> Overlay:
    """Plan parts of the nodes apart and join them; the same seed gives the same overlay, wherever it runs."""
    division = split(interest, parts, seed)
    solved = solver([among(interest, nodes) for nodes in division.parts], rule, coverage)
    planned = list(zip(division.parts, solved, strict=True))
    columns = [(nodes[part.u], nodes[part.v], part.contribution) for nodes, part in planned]
    columns.append(join(interest, rule, division, planned, [column[:2] for column in columns]))
    u, v, gains = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Overlay(interest, u, v, gains)


def loss(interest: Interest, rule: Rule, *, parts: int, coverage: int, seed: int) -> Loss:
    """Plan a sample of the nodes both ways.

    Its parts are smaller than those of the whole, so dividing the whole usually costs less.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    nodes = np.sort(rng.permutation(interest.num_nodes)[:SAMPLE_NODES]).astype(np.int32)
    sample = among(interest, nodes)
    divided = divide(sample, rule, parts=parts, coverage=coverage, seed=seed)
    return Loss(len(nodes), len(grow(sample, rule)), len(divided))
