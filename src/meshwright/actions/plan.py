"""Plan: design which brokers to link, and keep the plan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.report import REPORT, write_page
from meshwright.actions.sources import (
    PlannedSource,
    Source,
    group_topics,
    load_link_costs,
    load_source,
)
from meshwright.actions.spark import SparkOptions
from meshwright.designs.registry import DESIGNS, PARAMETERS, check_parameters, describe_parameter, find
from meshwright.errors import InputError
from meshwright.files.atomic import check_target
from meshwright.progress import Progress, titled

if TYPE_CHECKING:
    from meshwright.bounds import NodePrices, Prices
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.plan import Parameter, Plan
    from meshwright.overlay import Overlay
    from meshwright.pipeline.plans.parts import PlanInParts

__all__ = [
    "DESIGNS",
    "PARAMETERS",
    "DesignChoice",
    "Front",
    "Parts",
    "Planned",
    "describe_parameter",
    "design",
    "note_lost",
    "plan",
    "plan_front",
    "write_over",
]


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


FRONT = "front"
"""The objective of best that stands for the whole trade-off of links and maximum degree."""


@dataclass(frozen=True)
class DesignChoice:
    """Which design makes a plan, and how."""

    algorithm: str = "gm"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Those of the design, by name; see `PARAMETERS`."""
    seed: int = 0
    threads: int = 1
    certify: bool = False
    """Whether the plan gets a proof of how few links are needed."""

    @property
    def is_front(self) -> bool:
        """Whether a plan for each maximum degree is wanted, not one plan."""
        return self.algorithm == "best" and self.parameters.get("objective") == FRONT

    @property
    def by_clock(self) -> bool:
        """Whether the plan depends on how fast the machine is."""
        limits = {"seconds", "steps"} <= {*find(self.algorithm).parameters}
        return limits and self.parameters.get("steps") is None and self.parameters.get("seconds") != 0

    def check(self, costs: object = None) -> None:
        """Refuse an unknown design, and parameters that do not fit it."""
        find(self.algorithm)
        check_parameters([self.algorithm], {**self.parameters, "costs": costs}, options=True)


@dataclass(frozen=True)
class Parts:
    """Whether an interest is planned in parts on Spark, which takes more links."""

    parts: int | None = None
    coverage: int | None = None
    """Representatives per topic of a part; 3 by default."""
    spark: SparkOptions = field(default_factory=SparkOptions)

    @classmethod
    def named(cls, given: str | None, spark: SparkOptions) -> Parts:
        """Return the parts that an option states as P, or P,N with their coverage."""
        if given is None:
            return cls(spark=spark)
        found = re.fullmatch(r"([1-9]\d*)(?:,([1-9]\d*))?", given, re.ASCII)
        if found is None:
            raise InputError(
                f"--parts {given} is not P or P,N: give the number of parts, as in 8, or also the "
                "representatives of each for a topic, as in 8,3"
            )
        return cls(int(found[1]), None if found[2] is None else int(found[2]), spark)

    @property
    def unused(self) -> bool:
        """Whether Spark was asked for without parts, so that nothing runs there."""
        return self.parts is None and self.spark != SparkOptions()

    def check(self, choice: DesignChoice, costs: object) -> None:
        """Refuse what cannot be planned in parts."""
        if self.unused:
            self.spark.settings()  # the session is not needed, and then nobody reads them
        if self.parts is None:
            return
        if costs is not None:
            raise InputError("--costs and --parts cannot be combined: leave one of them out")
        from meshwright.pipeline.plans.parts import check_parts

        check_parts(choice.algorithm, choice.parameters, self.parts, self.coverage)


DRIVER = "only plans in parts run on Spark (--parts P)"
"""Why a plan with the options of Spark is made on this machine."""


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan that was made and written."""

    plan: Plan
    source: PlannedSource
    out: str
    proving: float | None = None
    """How many seconds the certificate took, where that is known."""
    in_parts: PlanInParts | None = None
    driver: bool = False
    """Whether it was made on this machine although Spark was asked for."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, how it was made, and what was written."""
        way: dict[str, Any] = {"way": "driver", "why": DRIVER, "loss": None} if self.driver else {}
        if self.in_parts is not None:
            lost = self.in_parts.loss
            loss = {
                "sample_nodes": lost.nodes,
                "exact": lost.exact,
                "divided": lost.divided,
                "share": lost.share,
            }
            way = {"way": "parts", "why": self._parts_given, "loss": loss}
        return {**self.plan.to_dict(), **self.source.to_dict(), **way, "plan": self.out}

    @property
    def _parts_given(self) -> str:
        return f"--parts {self.plan.stated_parameters['parts']} was given"

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        lines = [self.plan.summary(proving=self.proving), *self.source.lines]
        if self.driver:
            lines.append(f"planned on this machine: {DRIVER}")
        if self.in_parts is not None:
            sample = f"a sample of {self.in_parts.loss.nodes:,} brokers, planned both ways"
            lines.append(f"planned by divide and conquer: {self._parts_given}")
            lines.append(f"extra links: {self.in_parts.loss.share:+.1%} on {sample}")
        return [*lines, f"written to {self.out}"]


NOTHING_TO_PLAN = "nothing to plan; to plan it anyway, add --allow-empty"


def plan(
    source: Source,
    out: str,
    choice: DesignChoice,
    *,
    costs: Path | None = None,
    parts: Parts | None = None,
    allow_empty: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Planned:
    """Design an overlay for a dataset or file, and write the plan.

    With parts it is made on Spark; otherwise on this machine. A plan of another dataset, design or
    parameters is replaced only by `force`.
    """
    from meshwright.store.plan_writer import check_replaced

    parts = parts or Parts()
    choice.check(costs)
    check_target(out, "plan")  # all that is wrong is said before long work
    parts.check(choice, costs)
    loaded = load_source(source, allow_empty=allow_empty, remedy=NOTHING_TO_PLAN, progress=progress)
    if not force:
        check_replaced(out, loaded.dataset, choice.algorithm, by_clock=choice.by_clock)
    link_costs = load_link_costs(costs, loaded.interest, progress=progress)
    in_parts, proving = None, None
    if parts.parts is not None:
        in_parts = _make_in_parts(loaded, choice, parts, progress)
        made = in_parts.plan
    else:
        made, proving = _make(loaded, choice, link_costs, progress)
    made = loaded.planned(made)
    notes = (*loaded.notes, *write_over(made, loaded, out, force=force, progress=progress))
    return Planned(made, loaded, out, proving, in_parts, parts.unused, notes)


def _make(
    loaded: PlannedSource, choice: DesignChoice, costs: LinkCosts | None, progress: Progress | None
) -> tuple[Plan, float | None]:
    """Return the plan, and the seconds of its certificate.

    The plan of a design that ignores costs still gets its total cost.
    """
    from meshwright.designs.design import design as design_topics
    from meshwright.jit.announce import working_seconds

    known, began = find(choice.algorithm), working_seconds()
    made = design_topics(
        loaded.interest, choice.algorithm, seed=choice.seed, threads=choice.threads,
        progress=titled(progress, known.title), costs=costs if "costs" in known.parameters else None,
        certify=choice.certify, **choice.parameters,
    )  # fmt: skip
    proving = working_seconds() - began - made.seconds if choice.certify else None
    return replace(made, costs=costs), proving


def _make_in_parts(
    loaded: PlannedSource, choice: DesignChoice, parts: Parts, progress: Progress | None
) -> PlanInParts:
    from meshwright.designs.proofs import certify
    from meshwright.pipeline.plans.parts import plan_in_parts

    assert parts.parts is not None
    done = plan_in_parts(
        loaded.interest, choice.algorithm, parts.spark.open, parts=parts.parts, coverage=parts.coverage,
        parameters=choice.parameters, seed=choice.seed,
        progress=titled(progress, find(choice.algorithm).title),
    )  # fmt: skip
    if not choice.certify:
        return done
    proven = certify(done.plan, threads=choice.threads, progress=titled(progress, "Certificate"))
    return replace(done, plan=proven)


FURTHER_PARTS = {
    "prices.parquet": ("a certificate", "--certify"),
    "trees.parquet": ("trees", "meshwright route"),
    "report.html": ("a page", "meshwright report"),
}
"""Parts of a plan that not every plan has, by file: what they are, and how to get them."""


def write_over(
    made: Plan,
    source: PlannedSource,
    out: str,
    *,
    page: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> tuple[str, ...]:
    """Write a plan, with its page if that is wanted, both or none; return notes about parts that are gone.

    An equal plan that is already there stays as it is; a different one is replaced only by `force`.
    """
    from meshwright.files.urls import names_in
    from meshwright.store.plan_writer import check_replaced, write_plan

    if not force:
        check_replaced(out, source.dataset, made.algorithm, made)
    before = names_in(out)

    def draw(folder: Path) -> None:
        write_page(folder, source.source, name=out, progress=progress)

    write_plan(made, out, finish=draw if page else None)
    after = names_in(out)
    if page and REPORT not in after:  # an equal plan was there, without a page
        write_page(out, source.source, progress=progress)
    return note_lost(out, before, after)


def note_lost(out: str, before: Iterable[str], after: Iterable[str]) -> tuple[str, ...]:
    """Return a note about further parts of a plan that were there before and are gone after writing it."""
    lost = {*before}.difference(after)
    gone = [part for file, part in FURTHER_PARTS.items() if file in lost]
    if not gone:
        return ()
    names, ways = (" and ".join(words) for words in zip(*gone, strict=True))
    return (f"the plan that was in {out} had {names}, and this one does not: use {ways}",)


@dataclass(frozen=True, eq=False)
class Front:
    """One plan per maximum degree on the trade-off of links and degree, and a chart, in a folder."""

    plans: tuple[Plan, ...]
    source: PlannedSource
    out: str

    def to_dict(self) -> dict[str, Any]:
        """Return the folder and the figures of all plans."""
        return {"front": self.out, "plans": [made.to_dict() for made in self.plans]}


def plan_front(
    source: Source,
    out: str,
    choice: DesignChoice,
    *,
    costs: Path | None = None,
    allow_empty: bool = False,
    progress: Progress | None = None,
) -> Front:
    """Find the trade-off of links and maximum degree, and write it: a plan for each degree, and a chart."""
    from meshwright.designs.front import front
    from meshwright.report import write_front
    from meshwright.report.sheet import check_matplotlib

    check_target(out, "front")
    if "k" in choice.parameters:
        raise InputError("--objective front covers the whole trade-off: leave --k out")
    check_matplotlib()
    limits = {name: value for name, value in choice.parameters.items() if name != "objective"}
    replace(choice, parameters=limits).check(costs)
    loaded = load_source(source, allow_empty=allow_empty, remedy=NOTHING_TO_PLAN, progress=progress)
    plans = front(
        loaded.interest, seed=choice.seed, certify=choice.certify, threads=choice.threads,
        progress=titled(progress, "Best"), **limits,
    )  # fmt: skip
    write_front(plans, out, title=loaded.title)
    return Front(plans, loaded, out)
