"""CD-ODA: topics as stars around the node with the most neighbours (icdcs10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs.stars import stars

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def cd(interest: Interest) -> Overlay:
    """Link the node with the most neighbours to all of them; its topics are done; go on with the rest.

    A node's neighbours are the others that share a remaining topic with it.

    Guarantee: every topic is connected by a star, so that its diameter is at most 2 (icdcs10, section VI and
    Lemma 7); no bound on links. Complexity: O(|V|²·|T|) in the paper (Lemma 6); here a node's neighbours are
    counted in O(|T(v)|·|V|/64), and only when it may be the next hub.
    """
    return stars(interest, "neighbours")
