"""Advise: try the designs that fit, and choose by what the user asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.actions.sources import group_topics
from meshwright.progress import titled

if TYPE_CHECKING:
    from meshwright.designs.advice import Advice, Wishes
    from meshwright.designs.plan import Plan
    from meshwright.interest import Interest
    from meshwright.progress import Progress


def advise(
    interest: Any,
    wishes: Wishes | None = None,
    *,
    seconds: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Advice:
    """Try the designs that fit the requirements, and choose one.

    Among the plans that connect every topic and meet all requirements, those with nearly the fewest links
    remain, and the one with the lowest maximum degree wins. If no plan qualifies and links or degree are
    limited, the plan with the most support within the limits wins. Requirements on resilience or diameter are
    never relaxed. MQTT filters that overlap count as one topic, as in `design`.

    Parameters
    ----------
    interest
        Who subscribes to what: an `Interest`, or what `Interest.of` takes.
    wishes
        The requirements on the overlay.
    seconds, steps, seed
        The budget, 20 seconds by default, and the seed of each search: two runs of `best`, one under the
        degree limit if there is one, and the exact design of small interests. The proofs of the other designs
        share as many seconds once more; with steps they take as long as they need, and are the same on every
        machine. Greedy designs take as long as they take.
    threads
        Number of threads.
    progress
        A callback for the progress; its phases begin with the title of the design.

    Examples
    --------
    >>> import meshwright as mw
    >>> interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
    >>> mw.advise(interest, steps=0).chosen.plan.overlay.edges
    [('a', 'b'), ('a', 'c')]
    """
    from meshwright.designs import advice
    from meshwright.designs.design import design
    from meshwright.designs.front import front
    from meshwright.designs.proofs import certify
    from meshwright.designs.registry import find

    source = group_topics(interest)

    def make(interest: Interest, algorithm: str, **given: Any) -> Plan:
        report = titled(progress, find(algorithm).title)
        return source.planned(design(interest, algorithm, progress=report, **given))

    def prove(plan: Plan, **given: Any) -> Plan:
        return certify(plan, progress=titled(progress, "Certificate"), **given)

    def trade_off(interest: Interest, **given: Any) -> tuple[Plan, ...]:
        return tuple(source.planned(plan) for plan in front(interest, **given))

    return advice.advise(
        source.interest, wishes, seconds=seconds, steps=steps, seed=seed, threads=threads, make=make,
        prove=prove, trade_off=trade_off,
    )  # fmt: skip
