"""Low-ODA: few links and a low maximum degree at once (icdcs10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.greedy import grow, rules

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def low(interest: Interest, *, k: float = 3.0, **options: Any) -> Overlay:
    """Take the best link that spares the maximum degree if it is at least 1/k as good as the best of all.

    Guarantee: every topic is connected; the average degree is within O(k·log(|V|·|T|)) and the maximum degree
    within O((|V|/k)·log(|V|·|T|)) of the lowest possible (icdcs10, Table I). Options are those of
    `meshwright.greedy.grow`.
    """
    return grow(interest, rules.low(k), **options)
