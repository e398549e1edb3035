"""SpiderCastM: SpiderCast under a limit on every broker's links (icdcs16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs.coverage import cover

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def spidercastm(
    interest: Interest,
    *,
    max_degree: int,
    coverage_greedy: int = 3,
    coverage_random: int = 1,
    seed: int = 0,
) -> Overlay:
    """Let each node pick neighbours as in SpiderCast until it has `max_degree` links; a full one is no pick.

    Nodes take turns in node order, one pick each, as if they all ran at once: a node that made all its picks
    in one go would fill up those that later ones need, and support falls. A node with free links may pick one
    that has picked it already: that covers topics and takes no link more.

    Guarantee: no broker has more than `max_degree` links; no bound on support. With a limit that nobody
    reaches the links are SpiderCast's. Complexity: as SpiderCast. Reference: icdcs16, section IX.
    """
    return cover(interest, coverage_greedy, coverage_random, max_degree, seed)
