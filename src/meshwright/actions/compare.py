"""Compare: several designs of one interest side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.plan import DesignChoice
from meshwright.actions.sources import PlannedSource, Source, group_topics, load_link_costs, load_source
from meshwright.designs.registry import check_parameters, find
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.design import Comparison
    from meshwright.designs.plan import Parameter
    from meshwright.progress import Progress

USUAL = ("gm", "low", "minmax", "ring")
"""The designs that are compared unless others are named."""
CHEAP_TO_CERTIFY = 50_000
"""Up to this many subscriptions, files are compared with certified gaps by default."""


def compare(
    interest: Any,
    algorithms: Sequence[str] = USUAL,
    *,
    certify: bool = False,
    seed: int = 0,
    threads: int = 1,
    costs: LinkCosts | None = None,
    progress: Progress | None = None,
    **parameters: Parameter,
) -> Comparison:
    """Design by several algorithms; each gets the parameters that it takes.

    MQTT filters that overlap count as one topic, as in `design`. Every plan has its total cost where `costs`
    are given, and a `ratio` refers to one and the same run.

    >>> import meshwright as mw
    >>> mw.compare({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, ["gm", "ring"])
    Comparison(gm: 2 links, ring: 2 links)

    Raises
    ------
    InputError
        If there is no such algorithm, none takes a parameter, or the interest is invalid.
    """
    from meshwright.designs import design

    source = group_topics(interest)
    made = design.compare(
        source.interest, algorithms, certify=certify, seed=seed, threads=threads,
        costs=source.rebase(costs), progress=progress, **parameters,
    )  # fmt: skip
    return design.Comparison(tuple(source.planned(plan) for plan in made))


def split_names(text: str, option: str, example: str) -> list[str]:
    """Split the value of an option at its commas; each name must occur once.

    >>> split_names(" gm, low,", "--algorithms", "gm,low")
    ['gm', 'low']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"{option} {text!r} names nothing: name at least one, such as {option} {example}")
    if len(set(names)) < len(names):
        raise InputError(f"{option} {text} names one twice: name each once")
    return names


@dataclass(frozen=True, eq=False)
class Compared:
    """Plans of one dataset or file side by side."""

    comparison: Comparison
    source: PlannedSource
    chart: Path | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found while reading."""
        return self.source.notes

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of all plans, and where the chart is."""
        plans = [plan.to_dict() for plan in self.comparison]
        chart = self.chart and str(self.chart)
        return {"source": self.source.name, **self.source.to_dict(), "plans": plans, "chart": chart}


def compare_designs(
    source: Source,
    algorithms: str,
    choice: DesignChoice,
    *,
    certify: bool | None = None,
    costs: Path | None = None,
    metric: bool = False,
    chart: Path | None = None,
    progress: Progress | None = None,
) -> Compared:
    """Design a dataset or file by several algorithms, with names separated by commas.

    Each takes its part of the parameters of `choice`. Unless `certify` says so, gaps are proven for data that
    is small enough, and not with costs.
    """
    from meshwright.report import degree_and_support
    from meshwright.report.sheet import check_chart

    names = split_names(algorithms, "--algorithms", "gm,low")
    for name in names:
        find(name)
    check_parameters(names, choice.parameters, options=True, several=True)
    if chart is not None:
        check_chart(chart)
    loaded = load_source(source, progress=progress)
    link_costs = load_link_costs(costs, loaded.interest, metric=metric, progress=progress)
    if certify is None:  # a bound takes seconds, and proves nothing about costs
        certify = loaded.interest.num_subscriptions <= CHEAP_TO_CERTIFY and costs is None
    made = compare(
        loaded.interest, names, certify=certify, seed=choice.seed, threads=choice.threads, costs=link_costs,
        progress=progress, **choice.parameters,
    )  # fmt: skip
    if chart is not None:
        degree_and_support(made.plans, chart, title=loaded.title)
    return Compared(made, loaded, chart)
