"""Certificates of plans: which bounds a plan gets, and how a search shares its time with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from meshwright import bounds, measure
from meshwright.bounds import DegreeProof, NodePrices, Prices
from meshwright.bounds.prices import require_prices
from meshwright.designs.budget import Budget
from meshwright.designs.plan import Plan
from meshwright.errors import InputError
from meshwright.jit.announce import Clock
from meshwright.progress import Progress

LOW_DEGREE = frozenset({"minmax", "low", "gpm", "spidercastm", "randomm"})
"""Designs that aim at a low maximum degree, or keep to a limit of it."""
FOR_PRICES = 0.4
"""The share of a budget in seconds for the prices of a plan with a certificate."""
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
    maximum degree can be. Proofs that `known` plans of the same interest have are used again. `seconds` stops
    the proofs in time; the first prices take as long as they take.

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
        prices = bounds.prices(interest, seconds=most, threads=threads, progress=progress)
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
