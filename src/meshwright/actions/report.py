"""Report: the page of a plan, one HTML file; and charts of plans."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.sources import load_interest, load_link_costs
from meshwright.errors import InputError, OutputError
from meshwright.progress import Progress, announce_phase, titled

if TYPE_CHECKING:
    from meshwright.actions.sources import FileColumns
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.plan import Plan
    from meshwright.interest import Interest
    from meshwright.report.plan_facts import PlanFacts
    from meshwright.verify.claims import PlanReport

REPORT = "report.html"
"""The page of a plan, in its folder."""


def report(
    plan: Plan | str | Path,
    path: str | Path | None = None,
    *,
    interest: Any = None,
    today: Any = None,
    costs: LinkCosts | None = None,
) -> Path:
    """Write the page of a plan: one HTML file with its figures, verdict, charts, trees and graph.

    Parameters
    ----------
    plan
        A plan, or the path of one.
    path
        The file to write: `report.html` in the folder of a stored plan by default, or in the current folder.
    interest
        What a stored plan was made for.
    today
        The bridges of today, to compare with: pairs of brokers, a table or a file with columns u and v, or
        the folder of a plan.
    costs
        The link costs of a stored plan, to check its total cost.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import meshwright as mw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan = mw.design({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, "gm")
    ...     mw.report(plan, f"{folder}/report.html", today=[("a", "b"), ("b", "c")]).name
    'report.html'
    """
    from meshwright.designs.plan import Plan
    from meshwright.report.plan_facts import facts_of_plan
    from meshwright.report.plan_page import write_plan_page
    from meshwright.report.sheet import check_matplotlib
    from meshwright.store.bridges import load_bridges
    from meshwright.store.interest_files import load_interest

    check_matplotlib()
    if isinstance(plan, Plan):
        bridges = None if today is None else load_bridges(today, plan.overlay.interest)
        return write_plan_page(facts_of_plan(plan, today=bridges), path or REPORT)
    if interest is None:
        raise InputError("a stored plan needs what it was made for: mw.report(path, interest=interest)")
    return Path(write_page(plan, load_interest(interest), path, today=today, costs=costs).path)


def plot(*plans: Plan, path: str | Path | None = None) -> Any:
    """Draw degrees and support of one or more plans, and return the matplotlib figure.

    >>> import meshwright as mw
    >>> mw.plot(mw.design({"a": {"x"}, "b": {"x"}}, "gm"))
    <Figure size 1260x600 with 2 Axes>
    """
    from meshwright.designs.plan import Plan
    from meshwright.report.charts import degree_and_support

    for plan in plans:
        if not isinstance(plan, Plan):
            raise InputError(f"{type(plan).__name__} is not a plan: give what mw.design returns")
    return degree_and_support(plans, path)


def check_page(file: Path | None = None) -> None:
    """Check before long work that a page can be drawn and written."""
    from meshwright.files.atomic import check_place
    from meshwright.report.sheet import check_matplotlib

    check_matplotlib()
    if file is None:
        return
    if file.is_dir():
        raise OutputError(f"{str(file)!r} is a folder: name a file for the page, such as {file}/{REPORT}")
    if not file.absolute().parent.is_dir():
        raise OutputError(f"no folder {str(file.parent)!r} for the page: make it first")
    check_place(file)


@dataclass(frozen=True, eq=False)
class Page:
    """The page of a stored plan, and the verdict that it shows."""

    plan: str
    path: str
    """The path or URL of the page."""
    facts: PlanFacts
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> PlanReport:
        """What verification found."""
        return self.facts.verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the plan, the page and the verdict."""
        return {"plan": self.plan, "report": self.path, **self.verdict.to_dict()}


def write_page(
    plan: str | Path,
    interest: Interest,
    file: str | Path | None = None,
    *,
    name: str = "",
    today: Any = None,
    costs: LinkCosts | None = None,
    progress: Progress | None = None,
) -> Page:
    """Verify a stored plan and write its page, into its folder by default; `name` is its later place."""
    from meshwright.files.urls import inside
    from meshwright.report.plan_facts import facts_of_stored_plan
    from meshwright.report.plan_page import write_plan_page
    from meshwright.store.bridges import load_bridges

    bridges = None if today is None else load_bridges(today, interest)
    notes: tuple[str, ...] = ()
    if bridges is not None and bridges.unknown:
        notes = (f"left out {bridges.unknown:,} of the bridges of {today}: a broker is not in the dataset",)
    facts = facts_of_stored_plan(
        plan,
        interest,
        name=name,
        today=bridges,
        costs=costs,
        progress=titled(progress, "Verification"),
    )
    announce_phase(progress, "drawing the page")
    target = str(file or inside(plan, REPORT))
    write_plan_page(facts, target)
    return Page(str(plan), target, facts, notes)


def report_plan(
    plan: str,
    source: str,
    columns: FileColumns | None = None,
    *,
    out: Path | None = None,
    today: str | None = None,
    costs: Path | None = None,
    progress: Progress | None = None,
) -> Page:
    """Verify a stored plan against the dataset or file that it was made for, and write its page."""
    from dataclasses import replace

    from meshwright.store.plans import read_plan

    check_page(out)
    read_plan(plan)  # reject a bad plan before reading the data
    interest, notes = load_interest(source, columns, progress=progress)
    link_costs = load_link_costs(costs, interest, progress=progress)
    page = write_page(plan, interest, out, today=today, costs=link_costs, progress=progress)
    return replace(page, notes=(*notes, *page.notes))
