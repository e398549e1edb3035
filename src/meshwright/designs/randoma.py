"""RandomA: contributing links at random, so many in all (icdcs16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs.chance import by_chance

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def randoma(interest: Interest, *, max_edges: int, seed: int = 0) -> Overlay:
    """Add, `max_edges` times, a link drawn from all that contribute, each equally likely.

    It ends earlier if nothing contributes: every topic is connected then.

    Guarantee: at most `max_edges` links, each of which contributes; no bound on support: the contrast to GPA.
    Complexity: for each link O(log |T|) and as many looks at a pair's topics as a contributing pair merges
    topics on average. Reference: icdcs16, section IX.
    """
    return by_chance(interest, max_edges=max_edges, seed=seed)
