"""`meshwright compare` and `meshwright advise`: designs side by side, and the one that fits."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import (
    Costs,
    Delimiter,
    DesignParameters,
    ExcludeTopic,
    Expand,
    Force,
    Json,
    Metric,
    NodeColumn,
    NoHeader,
    PublishedTopics,
    Seed,
    ShowProgress,
    SkipUnusable,
    Source,
    Threads,
    TopicColumn,
    TopicKind,
    check_search_limits,
    file_columns,
)
from meshwright.cli.plans.report import ReportFile, check_page, write_page

if TYPE_CHECKING:
    from meshwright.designs.advice import Advice, Tried
    from meshwright.designs.plan import Plan
    from meshwright.interest import Interest

CHEAP_TO_CERTIFY = 50_000
"""Up to this many subscriptions, `compare` shows certified gaps by default."""

COMPARE_EXAMPLES = (
    "meshwright compare subscriptions.csv --chart comparison.png",
    "meshwright compare dataset --algorithms gm,low,gpm --k 5 --max-degree 8",
    "meshwright compare dataset --algorithms gpa,gpm,spidercastm,randomm --ratio 0.2",
)

ADVISE_EXAMPLES = (
    "meshwright advise subscriptions.csv --chart advice.png",
    "meshwright advise subscriptions.csv --max-degree 8 --out plan --report advice.html",
    "meshwright advise dataset --resilient",
)


def compare(
    source: Source,
    *,
    algorithms: Annotated[
        str, typer.Option("--algorithms", metavar="A,B,C", help="Designs, separated by commas.")
    ] = "gm,low,minmax,ring",
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw degrees and support: a .png, .svg or .pdf file."),
    ] = None,
    parameters: DesignParameters,
    costs: Costs = None,
    metric: Metric = False,
    certify: Annotated[
        bool | None,
        typer.Option(
            "--certify/--no-certify",
            help="Prove a lower bound on links; by default if there are at most 50,000 subscriptions.",
            show_default=False,
        ),
    ] = None,
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    topic_kind: TopicKind = None,
    exclude_topic: ExcludeTopic = None,
    expand: Expand = None,
    skip_unusable: SkipUnusable = False,
    rates: PublishedTopics = None,
    seed: Seed = 0,
    threads: Threads = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Design by several algorithms and show them side by side.

    Each algorithm gets the parameters that it takes; --ratio gives each a budget from one and the same run of
    the literal MinMax-ODA. With --costs the table shows the total cost of each
    design; "above the fewest" is the largest possible excess over the fewest links, proven by prices, and for
    designs that keep degrees low over the fewest links at the same maximum degree.
    """
    from meshwright.actions.sources import format_size
    from meshwright.cli import output
    from meshwright.cli.plans import design_runs
    from meshwright.designs.proofs import lowest_of
    from meshwright.designs.registry import check_parameters, find
    from meshwright.report import comparison, degree_and_support
    from meshwright.report.sheet import check_chart

    names = design_runs.split_algorithms(algorithms)
    check_parameters(names, parameters, options=True, several=True)
    if chart is not None:
        check_chart(chart)
    given_topics = design_runs.load_planned(
        source, file_columns(node, topic, delimiter, no_header), kind=topic_kind, exclude=exclude_topic,
        expand=expand, skip_unusable=skip_unusable, rates=rates, json=json,
    )  # fmt: skip
    interest = given_topics.interest
    link_costs = design_runs.load_costs(costs, interest, metric=metric)
    reference = design_runs.ratio_reference(interest, parameters, threads=threads, progress=progress)
    if certify is None:  # a bound takes seconds, and proves nothing about costs
        certify = interest.num_subscriptions <= CHEAP_TO_CERTIFY and costs is None
    plans: list[Plan] = []
    for name in names:
        made = design_runs.make(
            interest, name, find(name).used(parameters), seed=seed, threads=threads,
            progress=progress, costs=link_costs, certify=certify, prices=plans[0].prices if plans else None,
            lowest=lowest_of(plans), reference=reference,
        )  # fmt: skip
        plans.append(made)
    title = f"{source}: {format_size(interest)}"
    if chart is not None:
        degree_and_support(plans, chart, title=design_runs.chart_title(source, interest))
    if json:
        described = [design_runs.described(plan) for plan in plans]
        files = {"chart": chart and str(chart)}
        output.answer_json({"source": source, **given_topics.to_dict(), "plans": described, **files})
    else:
        files_written = [] if chart is None else [f"chart: {chart}"]
        output.answer(title, comparison(plans), *_refuting_lines(plans), *given_topics.lines, *files_written)


def _refuting_lines(plans: "list[Plan]") -> list[str]:
    """Return the proof that no overlay keeps to the degree limit of a plan, if there is one.

    The table has no figure for it: nothing that connects every topic is within that limit.
    """
    from meshwright.designs.plan import degree_lines

    known = [plan.figures for plan in plans if plan.degree_proof is not None]
    refuted = [figures for figures in known if figures["at_degree"] < figures["degree_bound"]]
    return degree_lines(max(refuted, key=lambda figures: figures["degree_bound"]))[:1] if refuted else []


def advise(
    source: Source,
    *,
    max_degree: Annotated[
        int | None,
        typer.Option("--max-degree", metavar="D", min=1, help="Maximum number of links of a broker."),
    ] = None,
    max_edges: Annotated[
        int | None, typer.Option("--max-edges", metavar="M", min=1, help="Maximum number of links in total.")
    ] = None,
    resilient: Annotated[
        bool, typer.Option("--resilient", help="Topics must stay connected when any single broker fails.")
    ] = False,
    diameter: Annotated[
        int | None,
        typer.Option(
            "--diameter",
            metavar="D",
            min=1,
            help="Maximum number of hops between two subscribers of a topic, through subscribers of it.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="PLAN", help="Write the chosen plan to this folder.")
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw links against degree: a .png, .svg or .pdf file."),
    ] = None,
    report: ReportFile = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="S",
            min=0,
            help="Seconds for each search, and once more for all proofs; 20 by default.",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="N",
            min=0,
            help="Or steps for each search, the same on every machine; proofs take what they need.",
        ),
    ] = None,
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    topic_kind: TopicKind = None,
    exclude_topic: ExcludeTopic = None,
    expand: Expand = None,
    skip_unusable: SkipUnusable = False,
    rates: PublishedTopics = None,
    force: Force = False,
    seed: Seed = 0,
    threads: Threads = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Try the designs that fit, and say which one to take and why.

    With --out the chosen plan has its page, report.html, in its folder; --report writes it elsewhere.

    Every figure of the table is measured; "spare links" counts the links that could each be removed alone.
    The exit code is 1 if no design that connects every topic meets the requirements. Within limits that are
    too tight for that, the answer is the plan that connects the most.

    With --seconds S it takes about 3·S, or 4·S with --max-degree, and a little more on large data: greedy
    designs and measures take as long as they take.
    """
    from meshwright.actions.outputs import check_target
    from meshwright.actions.sources import format_size
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.designs.advice import Wishes
    from meshwright.designs.advice import advise as ask
    from meshwright.designs.front import front
    from meshwright.errors import InputError
    from meshwright.report import advice_table, trade_off
    from meshwright.report.sheet import check_chart
    from meshwright.store.plans import check_replaced

    check_search_limits(seconds, steps)
    wishes = Wishes(max_degree, max_edges, resilient, diameter)
    if out is not None:
        check_target(out, "plan")
    elif report is not None:
        raise InputError("--report shows the chosen plan: add --out PLAN to keep it, or leave --report out")
    if out is not None:
        check_page(report)
    if chart is not None:
        check_chart(chart)
    given_topics = design_runs.load_planned(
        source, file_columns(node, topic, delimiter, no_header), kind=topic_kind, exclude=exclude_topic,
        expand=expand, skip_unusable=skip_unusable, rates=rates, json=json,
    )  # fmt: skip
    interest = given_topics.interest

    def trade_off_of(interest: "Interest", **given: Any) -> "tuple[Plan, ...]":
        with ProgressBar("Under the degree limit", forced=progress) as drawing:
            return front(interest, progress=drawing, **given)

    advice = ask(
        interest, wishes, seconds=seconds, steps=steps, seed=seed, threads=threads, trade_off=trade_off_of,
        **design_runs.with_progress(forced=progress),
    )  # fmt: skip
    title = f"{source}: {format_size(interest)}"
    chosen = None if advice.chosen is None else advice.chosen.plan
    with output.working("measuring"):
        table = advice_table(advice)
    if chart is not None:
        trade_off(
            chart,
            others=[own.plan for own in advice.tried],
            chosen=chosen,
            title=design_runs.chart_title(source, interest),
        )
    page = None
    if out is not None and chosen is not None:
        chosen = replace(chosen, filters=given_topics.filters)
        if not force:
            check_replaced(out, given_topics.dataset, chosen.algorithm, chosen)
        design_runs.replace_plan(chosen, out, page=True)
        page, _ = write_page(out, given_topics.source, report, progress=progress)
    if json:
        written = {"plan": str(out) if out and chosen else None, "chart": chart and str(chart)}
        written["report"] = page and str(page)
        output.answer_json({"source": source, **given_topics.to_dict(), **_advice_fields(advice), **written})
    else:
        files = [f"chart: {chart}"] if chart else []
        files += [f"report: {page}"] if page else []
        files += [f"written to {out}"] if out is not None and chosen is not None else []
        output.answer(title, table, *given_topics.lines, *_advice_lines(advice), *files)
    if advice.chosen is None or not advice.chosen.complete:
        raise typer.Exit(ANSWER_IS_NO)


def _advice_fields(advice: "Advice") -> dict[str, Any]:
    return {
        "chosen": None if advice.chosen is None else advice.tried.index(advice.chosen),
        "reasons": list(advice.reasons),
        "plans": [_plan_fields(own, advice) for own in advice.tried],
    }


def _plan_fields(own: "Tried", advice: "Advice") -> dict[str, Any]:
    from meshwright.cli.plans import design_runs

    return {
        **design_runs.described(own.plan),
        "diameter": own.diameters.maximum if own.complete else None,
        "diameter_is_exact": own.complete and bool(own.diameters.exact.all()),
        "redundant_edges": own.redundant,
        "unmet": own.unmet(advice.wishes),
    }


def _advice_lines(advice: "Advice") -> list[str]:
    from meshwright.formatting import percentage
    from meshwright.report.tables import name_of

    if advice.chosen is None:
        first, *rest = advice.reasons
        return [f"take none: {first}", *(f"the nearest has {reason}" for reason in rest)]
    figures = advice.chosen.plan.figures
    return [
        f"take {name_of(advice.chosen.plan)}:",
        *(f"- {reason}" for reason in advice.reasons),
        *([] if advice.chosen.complete else [f"- support {percentage(figures['support'])}"]),
        *_certificate_lines(advice),
    ]


def _certificate_lines(advice: "Advice") -> list[str]:
    """Say how close the plan is to the fewest links; no bound covers resilience or diameters."""
    from meshwright.formatting import counted, excess

    figures = advice.chosen.plan.figures if advice.chosen is not None else {}
    if "gap" not in figures:
        return []
    demanding = advice.wishes.resilient or advice.wishes.diameter is not None
    fewest = "the fewest that connect topics at all" if demanding else "the fewest links possible"
    lines = [f"- at most {excess(figures['gap'])} above {fewest}"]
    if "degree_bound" in figures and not demanding:
        limit = f"with at most {counted(int(figures['at_degree']), 'link')} per broker"
        near = excess(figures["gap_at_degree"]) if "gap_at_degree" in figures else None
        lines += [] if near is None else [f"- at most {near} above the fewest {limit}"]
        lines.append(
            f"- no overlay that connects every topic has a maximum degree below {figures['degree_bound']}"
        )
    return lines
