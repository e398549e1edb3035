"""MinMax-ODA: the overlay with a low maximum degree (icdcs10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.greedy import grow, rules

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def minmax(interest: Interest, **options: Any) -> Overlay:
    """Take the best link among those that raise the maximum degree least.

    Guarantee: every topic is connected, with a maximum degree within O(log(|V|·|T|)) of the lowest possible;
    the number of links may be Θ(|V|) times the fewest (icdcs10, section II-A and Lemma 1). Options are those
    of `meshwright.greedy.grow`.
    """
    return grow(interest, rules.minmax, **options)
