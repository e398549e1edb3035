"""SpiderCast: every node covers its own topics, without any centre (icdcs16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs.coverage import cover

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def spidercast(
    interest: Interest, *, coverage_greedy: int = 3, coverage_random: int = 1, seed: int = 0
) -> Overlay:
    """Let each node, on its own, pick neighbours until each of its topics is covered so many times.

    `coverage_greedy` (K_g) is by greedy picks, the node that has most of the topics not yet covered, and
    `coverage_random` (K_r) by random ones, any node that has one of them. The links are the picks of both
    ends. Nodes take turns in node order, one pick each, which matters to the order of the links only.

    Guarantee: each node is linked to at least min(K_g + K_r, all others) subscribers of each of its topics.
    Topics are likely to be connected, but nothing promises it. Complexity: O(|V|/64) for each of a node's
    topics, as often as its best gain falls; O(|T(v)|) for each pick. The protocol is G. Chockler, R. Melamed,
    Y. Tock, R. Vitenberg: *SpiderCast*, DEBS 2007; the parameters are those of icdcs16, section IX.
    """
    return cover(interest, coverage_greedy, coverage_random, None, seed)
