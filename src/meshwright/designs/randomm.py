"""RandomM: contributing links at random, so many for each broker (icdcs16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs.chance import by_chance

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def randomm(interest: Interest, *, max_degree: int, seed: int = 0) -> Overlay:
    """Add links drawn from all that contribute and push neither end over `max_degree`, each equally likely.

    Guarantee: no broker has more than `max_degree` links, each link contributes, and no other could be added;
    no bound on support: the contrast to GPM. Complexity: as RandomA, and O(|T(v)|·log |T|) for each node
    that becomes full. Reference: icdcs16, section IX.
    """
    return by_chance(interest, max_degree=max_degree, seed=seed)
