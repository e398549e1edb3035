"""Plan: design which brokers to link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.actions.sources import group_topics
from meshwright.designs.registry import DESIGNS, PARAMETERS, describe_parameter

if TYPE_CHECKING:
    from meshwright.bounds import NodePrices, Prices
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.plan import Parameter, Plan
    from meshwright.overlay import Overlay
    from meshwright.progress import Progress

__all__ = ["DESIGNS", "PARAMETERS", "describe_parameter", "design"]


def design(
    interest: Any,
    algorithm: str = "gm",
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
    costs: LinkCosts | None = None,
    certify: bool = False,
    prices: Prices | None = None,
    lowest: NodePrices | None = None,
    reference: Overlay | None = None,
    **parameters: Parameter,
) -> Plan:
    """Design an overlay for an interest, or for whatever `Interest.of` takes, by a named algorithm.

    Topics that are MQTT filters, by the interest's `kind`, are planned as groups of those that overlap.

    Parameters left out or None take the design's defaults. `seed` matters to random designs only, `costs` to
    those that weigh a link's contribution against its cost. With `certify` the plan has a proof of how many
    links are needed at least: the given `prices` of the same interest, or prices computed now. A design that
    keeps degrees low also gets a proof of the links needed at its degree, and of the lowest maximum degree,
    unless that is given as `lowest`. The seconds of `best` include the time for both. With a `ratio` the
    budget is that share of what the `reference` takes, by default the literal MinMax-ODA of the interest; the
    plan states the ratio and the budget.

    >>> import meshwright as mw
    >>> interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}})
    >>> mw.design(interest, "gm").overlay.edges
    [('a', 'b'), ('a', 'c')]
    >>> mw.design(mw.Interest.of({"a": {"x/#"}, "b": {"x/y"}, "c": {"x/y"}}, kind="mqtt")).overlay.edges
    [('a', 'b'), ('a', 'c')]
    """
    from meshwright.designs.design import design as design_topics

    source = group_topics(interest)
    made = design_topics(
        source.interest, algorithm, seed=seed, threads=threads, progress=progress,
        costs=source.rebase(costs), certify=certify, prices=prices, lowest=lowest, reference=reference,
        **parameters,
    )  # fmt: skip
    return source.planned(made)
