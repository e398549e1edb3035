"""GPM: the most support under a limit on every broker's links (icdcs16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.greedy import grow, rules

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


def gpm(interest: Interest, *, max_degree: int, **options: Any) -> Overlay:
    """Run MinMax-ODA and stop before the maximum degree exceeds `max_degree`.

    Guarantee: at least 1 − e^(−1/6), about 0.154, of the best support under that limit (icdcs16, Lemma 4). It
    is a prefix of MinMax-ODA's run.
    """
    return grow(interest, rules.minmax, max_degree=max_degree, **options)
