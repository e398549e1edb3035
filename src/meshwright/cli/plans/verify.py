"""`meshwright verify` and `meshwright soc`: whether a plan is what it states, and whether it keeps limits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Costs, Json, ShowProgress, Source
from meshwright.cli.spark import Conf, Master

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.measure import SocAnswer
    from meshwright.verify import PlanReport

VERIFY_EXAMPLES = (
    "meshwright verify plan subscriptions.csv",
    "meshwright verify plan subscriptions.csv --k 2",
    "meshwright verify plan subscriptions.csv --master 'local[2]'",
)

SOC_EXAMPLES = (
    "meshwright soc plan subscriptions.csv --degree 3 --cost 0",
    "meshwright soc plan subscriptions.csv --degree 3 --cost 4 --measure diameter",
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

    Connectivity and every figure are recomputed, by code other than that which made the plan. The exit code
    is 1 if something is not as stated, if a plan without a budget leaves a topic split, or if --k is not met.
    A plan made by resilient must meet its own k.

    With --master topics are verified on Spark, and the subscriptions of a dataset stay on the cluster.
    """
    from meshwright.cli import output
    from meshwright.cli.output import ANSWER_IS_NO, ProgressDrawing
    from meshwright.cli.plans import design_runs
    from meshwright.store.plan_check import verify_stored_plan

    if master is not None or conf is not None:
        report = _on_spark(plan, source, k, costs, master, conf, progress)
    else:
        interest = design_runs.load(source)
        link_costs = design_runs.load_costs(costs, interest)
        with ProgressDrawing("Verification", forced=progress) as drawing:
            report = verify_stored_plan(plan, interest, k=k, costs=link_costs, progress=drawing)
    if json:
        output.answer_json({"plan": str(plan), **report.to_dict()})
    else:
        output.answer(*_report_lines(report))
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
    from meshwright.cli.spark import StageDrawing, open_session
    from meshwright.pipeline.dataset.subscriptions import subscriptions
    from meshwright.pipeline.sharded_verify import verify_on_cluster
    from meshwright.store import read_plan

    read_plan(plan)  # reject a bad plan before Spark starts
    spark = open_session(master, conf)
    given = subscriptions(spark, source)
    link_costs = design_runs.load_costs(costs, given.names)
    with StageDrawing(forced=progress) as drawing:
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
    from meshwright.formatting import percentage

    links, topics = f"{len(report.overlay):,} links", report.overlay.interest.topic_names
    if report.complete:
        return f"complete: {links} connect each of {len(topics):,} topics"
    split = [topics[topic].as_py() for topic in report.verification.split_topics.tolist()]
    support = percentage(report.verification.support)
    return f"partial: {links} give {support} support; split topics: {first_five(split)}"


def _failure_lines(report: "PlanReport") -> list[str]:
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


def _tree_lines(report: "PlanReport") -> list[str]:
    """Say that the trees were checked."""
    if report.trees is None or not report.ok:
        return []
    return [f"routed: {report.trees:,} trees span exactly the brokers that they should"]


def soc(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's folder.")],
    source: Source,
    *,
    degree: Annotated[
        int, typer.Option("--degree", metavar="D", min=0, help="Maximum number of links per broker.")
    ],
    cost: Annotated[int, typer.Option("--cost", metavar="C", min=0, help="Maximum routing cost.")],
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            metavar="filtering|diameter",
            help="Uninterested relays over all topics, or the longest path between two subscribers.",
        ),
    ] = "filtering",
    json: Json = False,
) -> None:
    """Check whether a plan keeps a degree limit and a routing limit: yes, no or unknown.

    The figures follow from the links alone. The exit code is 0 for yes, and 1 for no or unknown.
    """
    from meshwright.cli import output
    from meshwright.cli.output import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.errors import InputError
    from meshwright.measure import soc as ask
    from meshwright.store import read_plan

    if measure not in ("filtering", "diameter"):
        raise InputError(f"no measure {measure!r}: choose filtering or diameter")
    interest = design_runs.load(source)
    overlay = read_plan(plan).overlay_on(interest)
    with output.working("measuring"):
        answer = ask(overlay, degree=degree, cost=cost, measure=measure)  # type: ignore[arg-type]
    if json:
        output.answer_json({"plan": str(plan), **_soc_fields(answer, interest)})
    else:
        output.answer(*_soc_lines(answer, interest))
    if answer.verdict != "yes":
        raise typer.Exit(ANSWER_IS_NO)


def _soc_fields(answer: "SocAnswer", interest: "Interest") -> dict[str, object]:
    names = interest.topic_names.to_pylist()
    of_topic = zip(names, answer.lower_of_topic.tolist(), answer.of_topic.tolist(), strict=True)
    unreachable = answer.unreachable.tolist()
    return {
        "answer": answer.verdict,
        "measure": answer.measure,
        "degree": answer.degree,
        "cost": answer.cost,
        "max_degree": answer.degrees.maximum,
        "average_degree": answer.degrees.average,
        "at_least": None if unreachable else answer.lower,
        "at_most": None if unreachable else answer.upper,
        "mean_of_topic": answer.mean,
        "unreachable_topics": [names[topic] for topic in unreachable],
        "topics": [
            {"topic": name, "at_least": low, "at_most": high} for name, low, high in of_topic if low >= 0
        ],
    }


def _soc_lines(answer: "SocAnswer", interest: "Interest") -> list[str]:
    from meshwright.errors import first_five

    names = interest.topic_names
    lines = [
        _soc_reason(answer),
        f"degree: {answer.degrees.average:.2f} on average, {answer.degrees.maximum} at most; "
        f"the bound is {answer.degree}",
    ]
    if len(answer.unreachable):
        apart = first_five(names[topic].as_py() for topic in answer.unreachable.tolist())
        return [*lines, f"{answer.measure}: infinite, as subscribers of {apart} cannot reach each other"]
    spread = f"{answer.upper:,}" if answer.lower == answer.upper else f"{answer.lower:,} to {answer.upper:,}"
    what = {"filtering": "uninterested relays over all topics", "diameter": "links on the longest path"}
    lines.append(
        f"{answer.measure}: {spread} {what[answer.measure]}, {answer.mean:.2f} on average of a topic; "
        f"the bound is {answer.cost:,}"
    )
    worst = (-answer.of_topic).argsort(kind="stable")[:5].tolist()
    costly = [f"{names[t].as_py()!r} {answer.of_topic[t]}" for t in worst if answer.of_topic[t]]
    return [*lines, f"costliest topics: {', '.join(costly)}"] if costly else lines


def _soc_reason(answer: "SocAnswer") -> str:
    if answer.verdict == "yes":
        return "yes: both bounds hold"
    if answer.verdict == "unknown":
        return "unknown: the degree holds, and the limit lies between the bounds on the cost"
    exceeded = []
    if answer.degrees.maximum > answer.degree:
        exceeded.append("degree")
    if len(answer.unreachable) or answer.lower > answer.cost:
        exceeded.append(answer.measure)
    return f"no: too high is {' and '.join(exceeded)}"
