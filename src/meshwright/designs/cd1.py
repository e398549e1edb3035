"""CD-ODA-I: topics as stars around the node with the most weighted neighbours (icdcs10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs.stars import stars

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def cd1(interest: Interest) -> Overlay:
    """Link the node whose neighbours weigh most to all of them; its topics are done; go on with the rest.

    A neighbour weighs as much as it shares remaining topics.

    Guarantee: every topic is connected by a star, so that its diameter is at most 2 (icdcs10, section VI-A
    and Lemma 7); no bound on links. Complexity: O(|V|²·|T|) in the paper (Lemma 6); here O(Σ|T(v)|) for the
    weights, O(log |V|) for each node that leads, and O(|V|/64) for each hub and topic of it.
    """
    return stars(interest, "weight")
