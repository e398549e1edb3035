"""Verify: whether a plan is what it states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.sources import load_interest, load_link_costs
from meshwright.actions.spark import SparkOptions
from meshwright.errors import InputError
from meshwright.progress import Progress, titled

if TYPE_CHECKING:
    from meshwright.actions.sources import FileColumns
    from meshwright.designs.plan import Plan
    from meshwright.verify.claims import PlanReport

MOST_ON_LINKS = 1_000_000
"""Links times filters, by group: `verify` wires up to so many, which takes seconds; `export` checks all."""


def verify(plan: Plan | str | Path, interest: Any = None, *, k: int | None = None) -> PlanReport:
    """Recompute everything that a plan states, by code that shares nothing with what made it.

    Parameters
    ----------
    plan
        A plan, or the path of one.
    interest
        What a stored plan was made for.
    k
        Every topic must be k-connected, 1 or 2; by default what the plan claims.

    Examples
    --------
    >>> import meshwright as mw
    >>> mw.verify(mw.design({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, "gm")).passed
    True
    """
    from meshwright.designs.plan import Plan
    from meshwright.store.interest_files import load_interest
    from meshwright.store.plan_check import verify_made_plan, verify_stored_plan

    if isinstance(plan, Plan):
        return verify_made_plan(plan, k=k)
    if interest is None:
        raise InputError("a stored plan needs what it was made for: mw.verify(path, interest)")
    return _with_link_filters(plan, verify_stored_plan(plan, load_interest(interest), k=k))


def _with_link_filters(plan: str | Path, report: PlanReport) -> PlanReport:
    """Return the report on a sound plan with what is wrong with the filters that its links would carry."""
    from meshwright.deploy.named_trees import NamedTrees, carried_faults
    from meshwright.store.plans import open_plan
    from meshwright.store.trees import read_trees

    if not report.ok or not report.trees or report.unreachable or open_plan(plan).choice is None:
        return report
    stored = read_trees(plan)
    named = NamedTrees.from_plan(stored)
    if sum(len(tree.links) * len(tree.all_filters) for tree in named.trees.values()) > MOST_ON_LINKS:
        return replace(report, unchecked=(*report.unchecked, "filters_by_link"))
    return replace(report, disagreements=tuple(carried_faults(stored, named)))


@dataclass(frozen=True, eq=False)
class Verified:
    """The verdict on a stored plan."""

    plan: str
    report: PlanReport
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the plan and what was found."""
        return {"plan": self.plan, **self.report.to_dict()}


def verify_plan(
    plan: str,
    source: str,
    columns: FileColumns | None = None,
    *,
    k: int | None = None,
    costs: Path | None = None,
    spark: SparkOptions | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Verify a stored plan against the dataset or file that it was made for.

    With the options of Spark its topics are verified there, and the subscriptions of a dataset stay there.
    """
    from meshwright.store.plan_check import verify_stored_plan

    if spark is not None and spark.asked:
        return _verify_on(spark, plan, source, columns, k, costs, progress)
    interest, notes = load_interest(source, columns, progress=progress)
    link_costs = load_link_costs(costs, interest, progress=progress)
    progress = titled(progress, "Verification")
    report = verify_stored_plan(plan, interest, k=k, costs=link_costs, progress=progress)
    return Verified(plan, _with_link_filters(plan, report), notes)


def _verify_on(
    spark: SparkOptions,
    plan: str,
    source: str,
    columns: FileColumns | None,
    k: int | None,
    costs: Path | None,
    progress: Progress | None,
) -> Verified:
    from meshwright.pipeline.dataset.subscriptions import fits_here, subscriptions
    from meshwright.pipeline.plans.sharded_verify import verify_on_cluster
    from meshwright.store.plans import open_plan

    open_plan(plan)  # reject a bad plan, and a wrong path, before Spark starts
    fits_here(source)
    session = spark.open(progress)
    given = subscriptions(session, source, None if columns is None else columns.resolved())
    # Costs are by names, which then come to this process.
    link_costs = None if costs is None else load_link_costs(costs, given.names)
    return Verified(plan, verify_on_cluster(session, plan, given, k=k, costs=link_costs, progress=progress))
