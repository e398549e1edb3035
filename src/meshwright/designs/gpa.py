"""GPA: the most support that a number of links can give (icdcs16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.greedy import grow, rules

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def gpa(interest: Interest, *, max_edges: int, **options: Any) -> Overlay:
    """Run Greedy Merge and stop at `max_edges` links.

    Guarantee: at least 1 − 1/e of the best support that so many links can give, which no polynomial algorithm
    betters unless P = NP (icdcs16, Lemmas 1 and 2). It is a prefix of GM's run.
    """
    return grow(interest, rules.gm, max_edges=max_edges, **options)
