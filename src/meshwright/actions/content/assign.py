"""Assign: put the users of a workload on brokers, by one algorithm or by several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.files.atomic import check_target
from meshwright.formatting import counted
from meshwright.progress import Progress, announce_phase, titled

if TYPE_CHECKING:
    from meshwright.content import ContentPlan, Workload


@dataclass(frozen=True)
class Variant:
    """The parameters of algorithms; each is for those that take it. None or False: not stated."""

    argmax: bool = False
    sum: bool = False
    seconds: float | None = None
    steps: int | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None and self.steps is not None:
            raise InputError("--seconds and --steps both limit the search: give one of them")

    def stated(self) -> dict[str, Any]:
        """Return the parameters that are stated."""
        return {name: value for name, value in vars(self).items() if value is not None and value is not False}


@dataclass(frozen=True, eq=False)
class Assigned:
    """A plan of one algorithm, and the folder that it was written to."""

    plan: ContentPlan
    out: str | None = None

    @property
    def proven(self) -> bool:
        """Whether the assignment is proven to cost least."""
        from meshwright.content.exact import TOLERANCE

        return self.plan.gap is not None and self.plan.gap <= TOLERANCE

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the plan, and of the proof if the algorithm proves anything."""
        proof = {} if self.plan.lower_bound is None else {"proven": self.proven}
        return {**_describe(self.plan, self.out), **proof}


@dataclass(frozen=True, eq=False)
class AssignmentComparison:
    """Plans of several algorithms for one workload, and the chart of their costs."""

    path: str
    workload: Workload
    plans: tuple[ContentPlan, ...]
    title: str
    chart: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of each plan."""
        plans = [_describe(plan, None) for plan in self.plans]
        return {"workload": self.path, "plans": plans, "chart": self.chart and str(self.chart)}


def assign_users(
    workload: str | Path,
    algorithm: str = "descent",
    variant: Variant | None = None,
    *,
    out: str | Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Assigned:
    """Put each user of a stored workload on one broker; with `out`, write the plan with its page."""
    from meshwright.content import assign
    from meshwright.report.content import write_content_page
    from meshwright.report.sheet import check_matplotlib
    from meshwright.store.content.content_plans import write_content_plan

    if out is not None:
        check_target(out, "content plan")
        check_matplotlib()
    given, stated = read_users(workload, progress), (variant or Variant()).stated()
    plan = assign(given, algorithm, seed=seed, progress=titled(progress, algorithm), **stated)
    if out is not None:
        write_content_plan(plan, out, report=lambda file: write_content_page(plan, file))
    return Assigned(plan, None if out is None else str(out))


def compare_assignments(
    workload: str | Path,
    algorithms: Sequence[str],
    variant: Variant | None = None,
    *,
    chart: Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> AssignmentComparison:
    """Put the users of a stored workload on brokers by several algorithms.

    For each parameter, one of the algorithms must take it.
    """
    from meshwright.content import assign
    from meshwright.content.algorithms import find
    from meshwright.report.content import content_chart
    from meshwright.report.sheet import check_chart

    known = [find(name) for name in algorithms]
    if chart is not None:
        check_chart(chart)
    given, asked = read_users(workload, progress), (variant or Variant()).stated()
    for name in asked:
        if not any(name in it.parameters for it in known):
            raise InputError(f"none of {', '.join(algorithms)} takes {name}: leave it out")
    plans = []
    for it in known:
        own = {name: value for name, value in asked.items() if name in it.parameters}
        plans.append(assign(given, it.name, seed=seed, progress=titled(progress, it.name), **own))
    title = f"{Path(workload).name}: {format_users(given)}"
    if chart is not None:
        content_chart(plans, chart, title=title)
    return AssignmentComparison(str(workload), given, tuple(plans), title, chart)


def read_users(folder: str | Path, progress: Progress | None) -> Workload:
    """Read a stored workload."""
    from meshwright.store.content.workloads import read_workload

    announce_phase(progress, f"reading {folder}")
    return read_workload(Path(folder))


def format_users(workload: Workload) -> str:
    """Return the size of a workload in words."""
    wanted = len(workload.subscription_channels)
    counts = (
        f"{counted(workload.num_users, 'user')}, {counted(workload.num_brokers, 'broker')}, "
        f"{counted(workload.num_channels, 'channel')}"
    )
    return f"{counts}, {counted(wanted, 'subscription')}"


def _describe(plan: ContentPlan, out: str | None) -> dict[str, Any]:
    stated = {"parameters": dict(plan.parameters), "seed": plan.seed}
    return {"algorithm": plan.algorithm, **stated, **plan.figures, "out": out}
