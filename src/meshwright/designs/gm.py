"""GM: Greedy Merge, the overlay with few links (podc07)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.errors import InputError
from meshwright.greedy import candidates, grow, rules
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.interest import Interest


def gm(interest: Interest, *, rounds: int = 1, **options: Any) -> Overlay:
    """Link, again and again, the two nodes whose edge merges components of the most topics.

    Guarantee: every topic is connected, by at most ln(Σ|T(v)|) times the fewest possible links (podc07,
    Alg. 3 and Lemma 6.5). With `rounds` > 1 it runs again from nothing on the pairs not yet used, and the
    overlay is the union: more links, better connectivity and diameter (podc07, section 6). Options are those
    of `meshwright.greedy.grow`; a budget holds for all rounds together.
    """
    if rounds < 1:
        raise InputError(f"{rounds} rounds: give at least 1")
    overlay = grow(interest, rules.gm, **options)
    budget = options.pop("max_edges", None)
    if rounds > 1 and options.get("max_degree") is not None:
        raise InputError("max_degree and rounds cannot be combined: leave one of them out")
    for _ in range(rounds - 1):
        left = None if budget is None else budget - len(overlay)
        unused = candidates.all_but(overlay)
        again = grow(interest, rules.gm, candidates=unused, max_edges=left, **options)
        # Links of a later round merge nothing that earlier rounds had not connected.
        nothing = np.zeros(len(again), dtype=np.int32)
        overlay = Overlay(
            interest,
            np.concatenate((overlay.u, again.u)),
            np.concatenate((overlay.v, again.v)),
            np.concatenate((overlay.contribution, nothing)),
        )
    return overlay
