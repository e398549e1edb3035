"""Low-ODA: few links and a low maximum degree at once (icdcs10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.designs.weighing import weigh
from meshwright.greedy import grow, rules

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.weighted import LinkCosts


def low(interest: Interest, *, k: float = 3.0, costs: LinkCosts | None = None, **options: Any) -> Overlay:
    """Take the best link that spares the maximum degree if it is at least 1/k as good as the best of all.

    Guarantee: every topic is connected; the average degree is within O(k·log(|V|·|T|)) and the maximum degree
    within O((|V|/k)·log(|V|·|T|)) of the lowest possible (icdcs10, Table I). Options are those of
    `meshwright.greedy.grow`.

    With `costs` a link is as good as its contribution over its cost; no bound is known for that.
    """
    if costs is not None:
        return weigh(interest, rules.low(k), costs, **options)
    return grow(interest, rules.low(k), **options)
