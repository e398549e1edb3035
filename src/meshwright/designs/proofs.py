"""The budget of a search, the certificates of plans, and how a search shares its time with them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from meshwright import bounds, measure
from meshwright.bounds import DegreeProof, NodePrices, Prices
from meshwright.bounds.prices import require_prices
from meshwright.designs.plan import Plan
from meshwright.errors import InputError
from meshwright.jit.announce import Clock
from meshwright.progress import Progress

SECONDS = 20.0
"""Default time of a search."""
PAIRS_A_SECOND = 25_000_000
MOST_PAIRS = 2_000_000_000


class Budget:
    """A budget in seconds from now, or in steps, which are the same on every machine and ignore the clock.

    Without either, it is the `default` seconds.

    >>> budget = Budget(steps=300)
    >>> budget.take(200), budget.take(200), budget.share, budget.spent
    (200, 100, 1.0, True)

    Raises
    ------
    InputError
        If both are given, or one is not a number of zero or more.
    """

    def __init__(
        self, seconds: float | None = None, steps: int | None = None, *, default: float = SECONDS
    ) -> None:
        if seconds is not None and steps is not None:
            raise InputError("seconds and steps both limit the search: give one of them")
        seconds = default if seconds is None else seconds
        if not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf:
            raise InputError(f"{seconds} seconds: give a finite number, zero or more")
        if steps is not None and (not isinstance(steps, (int, np.integer)) or steps < 0):
            raise InputError(f"{steps} steps: give a whole number of zero or more, or leave it out")
        self.seconds, self.steps, self.taken = seconds, steps, 0
        self.clock = Clock(seconds)

    @property
    def limit(self) -> dict[str, float]:
        """The limit of the search, as its only parameter: `seconds` or `steps`."""
        return {"seconds": self.seconds} if self.steps is None else {"steps": self.steps}

    @property
    def share(self) -> float:
        """The share of the budget that is spent, from 0 to 1."""
        if self.steps is None:
            gone, whole = self.clock.gone, self.seconds
        else:
            gone, whole = self.taken, self.steps
        return min(1.0, gone / whole) if whole else 1.0

    @property
    def spent(self) -> bool:
        """Whether the budget is spent."""
        return self.share >= 1

    def is_late(self, share: float) -> bool:
        """Return whether more than a share of the seconds is gone; never without any, or with steps."""
        return self.steps is None and self.seconds > 0 and self.share > share

    @property
    def most_pairs(self) -> int:
        """The number of pairs, topic by topic, that prices can handle in a part of the time."""
        return MOST_PAIRS if self.steps is not None else int(self.seconds * PAIRS_A_SECOND)

    def seconds_for(self, part: float) -> float | None:
        """Return a part of the remaining seconds, or None for a budget in steps."""
        return None if self.steps is not None else part * self.seconds * (1 - self.share)

    def allows(self, seconds: float, share: float) -> bool:
        """Return whether something takes less than a share of the remaining seconds; with steps, always."""
        left = self.seconds_for(share)
        return left is None or seconds < left

    def steps_until(self, share: float) -> int:
        """Return the steps left until a share is spent, at least 1; unlimited for a budget in seconds."""
        return sys.maxsize if self.steps is None else max(1, math.ceil(share * self.steps) - self.taken)

    def take(self, most: int) -> int:
        """Return the number of steps to do next, and count them as spent."""
        count = most if self.steps is None else min(most, self.steps - self.taken)
        self.taken += count
        return count


LOW_DEGREE = frozenset({"minmax", "low", "gpm", "spidercastm", "randomm"})
"""Designs that aim at a low maximum degree, or keep to a limit of it."""
FOR_PRICES = 0.4
"""The share of a budget in seconds for the prices of a plan with a certificate."""
MOST_FOR_PRICES = 0.75
"""The share at most, while the bound still rises."""
FOR_DEGREES = 0.15
"""The share for the proof of degrees."""


def limits_degree(algorithm: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether a design keeps the maximum degree low: compare its links with other low-degree designs.

    >>> limits_degree("minmax", {}), limits_degree("best", {"objective": "degree"}), limits_degree("gm", {})
    (True, True, False)
    """
    given = {name for name, value in parameters.items() if value is not None}
    return (
        algorithm in LOW_DEGREE
        or parameters.get("objective") in ("degree", "balanced")
        or bool(given & {"max_degree", "front"})
    )


class Timing:
    """How the search of `best` shares its seconds with the certificate; no limit for other designs.

    A certificate's last round and the weighing of all pairs take some time after the clock has run out, so
    the shares add up to less than the whole.
    """

    def __init__(self, algorithm: str, parameters: Mapping[str, Any]) -> None:
        self.clock = Clock()
        if algorithm == "best":
            budget = Budget(parameters.get("seconds"), parameters.get("steps"))
            self.clock = budget.clock if budget.steps is None else self.clock
        self.degrees = FOR_DEGREES if limits_degree(algorithm, parameters) else 0.0

    @property
    def for_prices(self) -> float | None:
        """The seconds for prices."""
        return None if self.clock.seconds is None else FOR_PRICES * self.clock.seconds

    @property
    def longest_prices(self) -> float | None:
        """The seconds for prices as long as their bound rises faster than a search finds links."""
        return None if self.clock.seconds is None else MOST_FOR_PRICES * self.clock.seconds

    @property
    def for_search(self) -> dict[str, float]:
        """The seconds that are left for the search, as a parameter of it."""
        if self.clock.seconds is None:
            return {}
        return {"seconds": max(0.0, (1 - self.degrees) * self.clock.seconds - self.clock.gone)}

    @property
    def for_degrees(self) -> float | None:
        """The seconds that are left for the proof of degrees."""
        return None if self.clock.seconds is None else self.clock.left


def prove_degrees(
    plan: Plan,
    *,
    lowest: NodePrices | None = None,
    seconds: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Plan:
    """Return a plan with prices also with a proof of degrees, if it keeps degrees low.

    The limit is its maximum degree or, if it leaves topics split, the limit that it was made under. A plan
    that leaves topics split for another reason gets no proof of degrees.
    """
    degree = _degree_to_prove(plan)
    if plan.prices is None or degree is None:
        return plan
    proof = bounds.prove_degrees(
        plan.prices, degree, lowest=lowest, seconds=seconds, threads=threads, progress=progress
    )
    return replace(plan, degree_proof=proof)


def _degree_to_prove(plan: Plan) -> int | None:
    """Return the degree that a proof for a plan is about, if it gets one."""
    if not limits_degree(plan.algorithm, plan.parameters):
        return None
    degree: Any = measure.degrees(plan.overlay).maximum
    if measure.support(plan.overlay) < 1:
        degree = plan.parameters.get("max_degree")
    return degree if isinstance(degree, int) and degree >= 1 else None


def lowest_of(plans: Iterable[Plan]) -> NodePrices | None:
    """Return the best proof of a lowest degree that plans of one interest have, to be reused."""
    found = [plan.degree_proof.lowest for plan in plans if plan.degree_proof is not None]
    return max(found, key=lambda proof: proof.bound, default=None)


def certify(
    plan: Plan,
    *,
    known: Plan | Iterable[Plan] = (),
    seconds: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Plan:
    """Return the plan with a proof of how many links are needed at least.

    A plan that keeps degrees low also gets a proof of how many are needed at its degree, and of how low the
    maximum degree can be. Proofs that `known` plans of the same interest have are used again. The plan's own
    prices are where the search for better ones begins. `seconds` stops the proofs in time; the first prices
    take as long as they take.

    >>> import meshwright as mw
    >>> plan = mw.certify(mw.design({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, "gm"))
    >>> plan.figures["lower_bound"]
    2
    """
    known = (known,) if isinstance(known, Plan) else tuple(known)
    for own in (plan, *known):
        if not isinstance(own, Plan):
            raise InputError(f"{type(own).__name__} is not a plan: give what mw.design returns")
    interest, clock, degree = plan.overlay.interest, Clock(seconds), _degree_to_prove(plan)
    found = [own.prices for own in known if own.prices is not None]
    of_degrees = [own.degree_proof for own in known if own.degree_proof is not None]
    for prices in found:
        prices.check(interest)
    for links, lowest in of_degrees:
        links.check(interest)
        lowest.check(interest)
    if found:
        prices = require_prices(max(found, key=lambda proof: proof.bound))
    else:
        share = 1.0 if degree is None else FOR_PRICES / (FOR_PRICES + FOR_DEGREES)
        most = None if seconds is None else share * seconds
        prices = bounds.prices(interest, start=plan.prices, seconds=most, threads=threads, progress=progress)
    plan = replace(plan, prices=prices)
    for proof in of_degrees:
        if _fits(proof, prices, degree, seconds):
            return replace(plan, degree_proof=proof)
    left = None if seconds is None else clock.left
    return prove_degrees(plan, lowest=lowest_of(known), seconds=left, threads=threads, progress=progress)


def _fits(proof: DegreeProof, prices: Prices, degree: int | None, seconds: float | None) -> bool:
    """Return whether links at a degree are proven already.

    Where time is limited, a proof of no more than plain prices prove may have lacked it.
    """
    known = proof.links.degree == degree and all(part.checked for part in proof)
    return known and (seconds is None or proof.links.bound > prices.bound)
