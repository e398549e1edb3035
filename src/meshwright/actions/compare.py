"""Compare: several designs of one interest side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from meshwright.actions.sources import group_topics

if TYPE_CHECKING:
    from meshwright.designs.comparison import Comparison
    from meshwright.designs.plan import Parameter

USUAL = ("gm", "low", "minmax", "ring")
"""The designs that are compared unless others are named."""


def compare(
    interest: Any,
    algorithms: Sequence[str] = USUAL,
    *,
    certify: bool = False,
    seed: int = 0,
    threads: int = 1,
    **parameters: Parameter,
) -> Comparison:
    """Design by several algorithms; each gets the parameters that it takes.

    MQTT filters that overlap count as one topic, as in `design`.

    >>> import meshwright as mw
    >>> mw.compare({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, ["gm", "ring"])
    Comparison(gm: 2 links, ring: 2 links)

    Raises
    ------
    InputError
        If there is no such algorithm, none takes a parameter, or the interest is invalid.
    """
    from meshwright.designs import comparison

    source = group_topics(interest)
    made = comparison.compare(
        source.interest, algorithms, certify=certify, seed=seed, threads=threads, **parameters
    )
    return comparison.Comparison(tuple(source.planned(plan) for plan in made.plans))
