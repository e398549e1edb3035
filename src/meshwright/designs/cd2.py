"""CD-ODA-II: topics as stars around the node of the highest connection density (icdcs10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs.stars import stars

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def cd2(interest: Interest) -> Overlay:
    """Link the node of the highest density to all its neighbours; its topics are done; go on with the rest.

    The density is the number of remaining topics that a neighbour shares, on average.

    Guarantee: every topic is connected by a star, so that its diameter is at most 2 (icdcs10, section VI-B
    and Lemma 7); no bound on links: at most 1.8 times GM's in the paper's Fig. 5. Complexity: O(|V|²·|T|) in
    the paper (Lemma 6); here a node's neighbours are counted in O(|T(v)|·|V|/64), and only when it may be
    the next hub.
    """
    return stars(interest, "density")
