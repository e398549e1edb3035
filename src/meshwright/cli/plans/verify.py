"""`meshwright verify`: whether a plan is what it states."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import (
    Costs,
    Delimiter,
    Json,
    NodeColumn,
    NoHeader,
    ShowProgress,
    Source,
    TopicColumn,
    file_columns,
)
from meshwright.cli.spark import Conf, ConnectTimeout, Master

if TYPE_CHECKING:
    from meshwright.store.interest_files import Columns
    from meshwright.verify import PlanReport

VERIFY_EXAMPLES = (
    "meshwright verify plan subscriptions.csv",
    "meshwright verify plan subscriptions.csv --k 2",
    "meshwright verify plan subscriptions.csv --master 'local[2]'",
)


def verify(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder, by path or URL.")],
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
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    master: Master = None,
    conf: Conf = None,
    connect_timeout: ConnectTimeout = 30.0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Check a plan against the subscriptions it was made for.

    Connectivity and every figure are recomputed, by code other than that which made the plan. The exit code
    is 1 if something is not as stated, if a plan without a budget leaves a topic split, or if --k is not met.
    A plan made by resilient must meet its own k. Groups of MQTT filters are derived again. Which algorithm,
    other parameters and seed made the plan is not checked. Left out, and named, are the total cost without
    --costs, and loads of trees that were chosen with --rates: the plan does not keep the rates.

    With --master topics are verified on Spark, and the subscriptions of a dataset stay on the cluster; only
    groups of MQTT filters are first derived on this machine.
    """
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.store.plan_check import verify_stored_plan

    columns = file_columns(node, topic, delimiter, no_header)
    if master is not None or conf is not None:
        report = _on_spark(plan, source, columns, k, costs, master, conf, connect_timeout, progress)
    else:
        interest = design_runs.load(source, columns)
        link_costs = design_runs.load_costs(costs, interest)
        with ProgressBar("Verification", forced=progress) as drawing:
            report = verify_stored_plan(plan, interest, k=k, costs=link_costs, progress=drawing)
    if json:
        output.answer_json({"plan": str(plan), **report.to_dict()})
    else:
        output.answer(*_report_lines(report))
    if not report.passed:
        raise typer.Exit(ANSWER_IS_NO)


def _on_spark(
    plan: str,
    source: str,
    columns: "Columns",
    k: int | None,
    costs: Path | None,
    master: str | None,
    conf: list[str] | None,
    connect_timeout: float,
    progress: bool,
) -> "PlanReport":
    from meshwright.actions.spark import SparkOptions
    from meshwright.cli.plans import design_runs
    from meshwright.cli.progress_bar import ProgressBar, amounts
    from meshwright.pipeline.dataset.subscriptions import fits_here, subscriptions
    from meshwright.pipeline.plans.sharded_verify import verify_on_cluster
    from meshwright.store.plans import open_plan

    open_plan(plan)  # reject a bad plan, and a wrong path, before Spark starts
    fits_here(source)
    spark = SparkOptions(master, conf or (), connect_timeout).open()
    given = subscriptions(spark, source, columns)
    # Costs are by names, which then come to this process.
    link_costs = None if costs is None else design_runs.load_costs(costs, given.names)
    with ProgressBar(wording=amounts("subscriptions"), forced=progress) as drawing:
        return verify_on_cluster(spark, plan, given, k=k, costs=link_costs, progress=drawing)


def _report_lines(report: "PlanReport") -> list[str]:
    """Return the report as lines of text."""
    verdict = "verified: every figure, recomputed, is as the plan states" if report.passed else "NOT verified"
    return [
        verdict,
        *(f"wrong: {point}" for point in report.disagreements),
        _connectivity_line(report),
        *_failure_lines(report),
        *_cost_lines(report),
        *_bound_lines(report),
        *_tree_lines(report),
    ]


def _connectivity_line(report: "PlanReport") -> str:
    """Say whether every topic is connected, or which are not: the first five."""
    from meshwright.errors import first_five
    from meshwright.formatting import counted, percentage

    links = counted(len(report.outline), "link")
    if report.complete:
        verb = "connects" if len(report.outline) == 1 else "connect"
        return f"complete: {links} {verb} each of {counted(report.outline.topics, 'topic')}"
    listed, found = report.verification.split_topics.tolist(), report.verification.num_split_topics
    split = first_five(report.outline.name_topics(listed[:5])) + (f" and {found - 5} more" * (found > 5))
    support = percentage(report.verification.support)
    return f"partial: {links} give {support} support; split topics: {split}"


def _failure_lines(report: "PlanReport") -> list[str]:
    """Say which topics one failure splits: the first five."""
    if report.weak is None:
        return []
    if not len(report.weak):
        return ["resilient: no failure of a single broker splits a topic"]
    outline = report.outline
    lines = [f"not resilient: {len(report.weak):,} of {outline.topics:,} topics are weak"]
    for topic, node in list(zip(report.weak.topics.tolist(), report.weak.nodes.tolist(), strict=True))[:5]:
        cause = "already" if node < 0 else f"when {outline.name_nodes([node])[0]!r} fails"
        lines.append(f"weak: {outline.name_topics([topic])[0]!r} is split {cause}")
    return lines


def _cost_lines(report: "PlanReport") -> list[str]:
    """State the total cost of the links, or that it was not checked."""
    from meshwright.formatting import amount

    if report.total_cost is not None:
        return [f"cost: {amount(report.total_cost)} in all"]
    if report.stated_cost is not None:
        return [f"not checked: the total cost of {amount(report.stated_cost)}; give --costs to check it"]
    return []


def _bound_lines(report: "PlanReport") -> list[str]:
    """Say what the plan's prices prove, and what was not checked."""
    from meshwright.formatting import counted, excess

    reasons = {
        "solver_bound": "it is the solver's word",
        "lower_bound": "verify without --master to check it",
        "bound_at_degree": "verify without --master to check it",
        "degree_bound": "verify without --master to check it",
        "trees": "verify without --master to check them",
    }
    left = [f"not checked: {name}; {reasons[name]}" for name in report.unchecked if name in reasons]
    lines = []
    if report.lower_bound is not None:
        fewest = counted(report.lower_bound, "link")
        needed = f"the prices prove that connecting every topic needs at least {fewest}"
        near = "" if report.gap is None else f"at most {excess(report.gap)} above the fewest links possible: "
        lines = [f"certified: {near}{needed}"]
    return [*lines, *_degree_lines(report), *left]


def _degree_lines(report: "PlanReport") -> list[str]:
    """Say what the prices and allowances prove of overlays with a limited degree."""
    from meshwright.designs.plan import degree_lines

    if report.degrees is None or report.at_degree is None:
        return []
    figures = {
        "at_degree": report.at_degree,
        "bound_at_degree": report.degrees.links,
        "degree_bound": report.degrees.degree,
    }
    return degree_lines(
        figures if report.gap_at_degree is None else {**figures, "gap_at_degree": report.gap_at_degree}
    )


def _tree_lines(report: "PlanReport") -> list[str]:
    """Say that the trees were checked, which topics have none, and whether loads were left out."""
    from meshwright.formatting import counted
    from meshwright.verify.tree_check import LOADS

    if report.trees is None or not report.ok:
        return []
    spans = "spans exactly the brokers that it" if report.trees == 1 else "span exactly the brokers that they"
    lines = [f"routed: {counted(report.trees, 'tree')} {spans} should"]
    if report.unreachable:
        topics = counted(report.unreachable, "topic")
        lines.append(f"without a tree: {topics}, whose subscribers cannot reach each other")
    if set(LOADS) & set(report.unchecked):
        lines.append("not checked: the loads of trees; the plan does not keep the rates of its topics")
    return lines
