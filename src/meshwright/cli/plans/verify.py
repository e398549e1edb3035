"""`meshwright verify`: whether a plan is what it says."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Costs, Json, ShowProgress, Source
from meshwright.cli.spark import Conf, Master

if TYPE_CHECKING:
    from meshwright.store import PlanReport

EXAMPLES = (
    "meshwright verify plan subscriptions.csv",
    "meshwright verify plan subscriptions.csv --k 2",
    "meshwright verify plan subscriptions.csv --master 'local[2]'",
)


def verify(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's folder.")],
    source: Source,
    *,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            metavar="K",
            min=1,
            max=2,
            help="Every topic must be connected (1), or stay so when any one broker fails (2).",
        ),
    ] = None,
    costs: Costs = None,
    master: Master = None,
    conf: Conf = None,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Check a plan against the subscriptions it was made for.

    Connectivity and every figure are computed anew, by other code than made the plan. The exit code is 1 when
    something is not as stated, when a plan without a budget leaves a topic split, or when --k is not met; a
    plan made by resilient must meet its own.

    With --master topics are verified on Spark, and the subscriptions of a dataset do not come here.
    """
    from meshwright.cli import output
    from meshwright.cli.output import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.cli.progress import ProgressDrawing
    from meshwright.store import verify_plan

    if master is not None or conf is not None:
        report = _on_spark(plan, source, k, costs, master, conf, progress)
    else:
        interest = design_runs.load(source)
        link_costs = design_runs.load_costs(costs, interest)
        with ProgressDrawing("Verification", forced=progress) as drawing:
            report = verify_plan(plan, interest, k=k, costs=link_costs, progress=drawing)
    if json:
        output.answer_json({"plan": str(plan), "verified": report.passed, **_found(report)})
    else:
        output.answer(*_told(report))
    if not report.passed:
        raise typer.Exit(ANSWER_IS_NO)


def _on_spark(
    plan: Path,
    source: str,
    k: int | None,
    costs: Path | None,
    master: str | None,
    conf: list[str] | None,
    progress: bool,
) -> "PlanReport":
    from meshwright.cli.plans import design_runs
    from meshwright.cli.spark import StageDrawing, opened
    from meshwright.pipeline.dataset.subscriptions import subscriptions
    from meshwright.pipeline.verify.cluster import verify_on_cluster
    from meshwright.store import read_plan

    read_plan(plan)  # what is no plan is told before Spark starts
    spark = opened(master, conf)
    given = subscriptions(spark, source)
    link_costs = design_runs.load_costs(costs, given.names)
    with StageDrawing(forced=progress) as drawing:
        return verify_on_cluster(spark, plan, given, k=k, costs=link_costs, progress=drawing)


def _found(report: "PlanReport") -> dict[str, object]:
    found = report.verification
    return {
        "complete": report.complete,
        "edges": len(report.overlay),
        "average_degree": found.degrees.average,
        "max_degree": found.degrees.maximum,
        "support": found.support,
        "split_topics": len(found.split_topics),
        "k": report.k,
        "weak_topics": None if report.weak is None else len(report.weak),
        "total_cost": report.total_cost,
        "lower_bound": report.lower_bound,
        "gap": report.gap,
        "trees": report.trees,
        "cost_checked": None if report.stated_cost is None else report.total_cost is not None,
        "unchecked": list(report.unchecked),
        "disagreements": list(report.disagreements),
    }


def _told(report: "PlanReport") -> list[str]:
    from meshwright.errors import first_five
    from meshwright.formatting import percentage

    links, topics = f"{len(report.overlay):,} links", f"{report.overlay.interest.num_topics:,} topics"
    said = "verified: every figure, computed anew, is as the plan states"
    lines = [said if report.passed else "NOT verified"]
    lines += [f"wrong: {point}" for point in report.disagreements]
    if report.complete:
        return [
            *lines,
            f"complete: {links} connect each of {topics}",
            *_told_weak(report),
            *_told_cost(report),
            *_told_bound(report),
            *_told_trees(report),
        ]
    names = report.overlay.interest.topic_names
    split = [names[topic].as_py() for topic in report.verification.split_topics.tolist()]
    support = percentage(report.verification.support)
    told = f"partial: {links} give {support} support; split topics: {first_five(split)}"
    more = (_told_weak, _told_cost, _told_bound, _told_trees)
    return [*lines, told, *(line for tell in more for line in tell(report))]


def _told_weak(report: "PlanReport") -> list[str]:
    """Say which topics one failure splits: the first five."""
    if report.weak is None:
        return []
    if not len(report.weak):
        return ["resilient: no failure of a single broker splits a topic"]
    interest = report.overlay.interest
    lines = [f"not resilient: {len(report.weak):,} of {interest.num_topics:,} topics are weak"]
    for topic, node in list(zip(report.weak.topics.tolist(), report.weak.nodes.tolist(), strict=True))[:5]:
        cause = "already" if node < 0 else f"when {interest.node_names[node].as_py()!r} fails"
        lines.append(f"weak: {interest.topic_names[topic].as_py()!r} is split {cause}")
    return lines


def _told_bound(report: "PlanReport") -> list[str]:
    """Say what the plan's prices prove."""
    from meshwright.formatting import excess

    reasons = {
        "solver_bound": "it is the solver's word",
        "lower_bound": "verify without --master to check it",
        "trees": "verify without --master to check them",
    }
    left = [f"not checked: {name}; {reasons[name]}" for name in report.unchecked if name in reasons]
    if report.lower_bound is None:
        return left
    needed = f"the prices prove that connecting every topic needs at least {report.lower_bound:,} links"
    near = "" if report.gap is None else f"at most {excess(report.gap)} above the fewest links possible: "
    return [f"certified: {near}{needed}", *left]


def _told_trees(report: "PlanReport") -> list[str]:
    """Say that the trees were looked at."""
    if report.trees is None or not report.ok:
        return []
    return [f"routed: {report.trees:,} trees span exactly the brokers that they should"]


def _told_cost(report: "PlanReport") -> list[str]:
    """Say what the links cost in all, or that it was not checked."""
    from meshwright.formatting import amount

    if report.total_cost is not None:
        return [f"cost: {amount(report.total_cost)} in all"]
    if report.stated_cost is not None:
        return [f"not checked: the total cost of {amount(report.stated_cost)}; give --costs to check it"]
    return []
