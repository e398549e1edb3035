"""Advise: try the designs that fit, and choose by what the user asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.plan import DesignChoice, write_over
from meshwright.actions.report import REPORT, check_page
from meshwright.actions.sources import PlannedSource, Source, group_topics, load_source
from meshwright.errors import InputError
from meshwright.files.atomic import check_target
from meshwright.progress import Progress, announce_phase

if TYPE_CHECKING:
    from meshwright.designs.advice import Advice, Wishes


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
        Called now and then, with phases named after designs and proofs.

    Examples
    --------
    >>> import meshwright as mw
    >>> interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
    >>> mw.advise(interest, steps=0).chosen.plan.overlay.edges
    [('a', 'b'), ('a', 'c')]
    """
    from meshwright.designs import advice

    source = group_topics(interest)
    made = advice.advise(
        source.interest, wishes, seconds=seconds, steps=steps, seed=seed, threads=threads, progress=progress
    )
    return made.with_plans(source.planned)


@dataclass(frozen=True)
class SearchBudget:
    """How long each search takes: seconds, 20 by default, or steps, which are the same on every machine."""

    seconds: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None and self.steps is not None:
            raise InputError("--seconds and --steps both limit the search: give one of them")


@dataclass(frozen=True, eq=False)
class Advised:
    """Advice about a dataset or file, and what was written."""

    advice: Advice
    source: PlannedSource
    plan: str | None = None
    chart: Path | None = None
    report: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether there is a plan to take, and it connects every topic."""
        return self.advice.chosen is not None and self.advice.chosen.complete

    def to_dict(self) -> dict[str, Any]:
        """Return the choice, its reasons, all plans that were tried, and what was written."""
        files = {"plan": self.plan, "chart": self.chart and str(self.chart), "report": self.report}
        return {"source": self.source.name, **self.source.to_dict(), **self.advice.to_dict(), **files}


def advise_on(
    source: Source,
    wishes: Mapping[str, Any],
    budget: SearchBudget,
    choice: DesignChoice,
    *,
    out: str | None = None,
    chart: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Advised:
    """Advise on a dataset or file, and write the plan to take, with its page, if `out` is given.

    `wishes` are the fields of `Wishes`; of `choice` only the seed and the threads matter.
    """
    from meshwright.designs import advice
    from meshwright.files.urls import inside
    from meshwright.report import trade_off
    from meshwright.report.sheet import check_chart

    wanted = advice.Wishes(**wishes)
    if out is not None:
        check_target(out, "plan")
        check_page()
    if chart is not None:
        check_chart(chart)
    loaded = load_source(source, progress=progress)
    made = advice.advise(
        loaded.interest, wanted, seconds=budget.seconds, steps=budget.steps, seed=choice.seed,
        threads=choice.threads, progress=progress,
    ).with_plans(loaded.planned)  # fmt: skip
    announce_phase(progress, "measuring")
    made.table()  # measures every plan, once
    plan, notes, page = made.plan, [*loaded.notes], None
    if chart is not None:
        trade_off(chart, others=[own.plan for own in made.tried], chosen=plan, title=loaded.title)
    if out is not None and plan is not None:
        notes += write_over(plan, loaded, out, page=True, force=force, progress=progress)
        page = inside(out, REPORT)
    return Advised(made, loaded, out if plan is not None else None, chart, page, tuple(notes))
