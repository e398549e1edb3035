"""`meshwright plan`: design an overlay and keep it, or the whole trade-off with `--front`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import (
    Algorithm,
    AllowEmpty,
    Certify,
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
    file_columns,
)
from meshwright.cli.plans.report import ReportFile, check_page, write_page
from meshwright.cli.spark import Conf, ConnectTimeout, Master

if TYPE_CHECKING:
    from meshwright.designs.plan import Parameter
    from meshwright.interest import Interest


def check_front(algorithm: str, **barred: Parameter) -> None:
    """Raise an InputError before long work for options that do not fit --front."""
    from meshwright.errors import InputError
    from meshwright.report.sheet import check_matplotlib

    if algorithm != "best":
        raise InputError(f"{algorithm} has no --front: leave it out, or take --algorithm best")
    for name, value in barred.items():
        if value is not None:
            raise InputError(f"--front covers the whole trade-off: leave --{name} out")
    check_matplotlib()


def plan_front(
    source: str,
    interest: Interest,
    out: str,
    seconds: float | None,
    steps: int | None,
    seed: int,
    threads: int,
    *,
    certify: bool,
    progress: bool,
    json: bool,
) -> None:
    """Find the front, write it and print it."""
    from meshwright.actions.sources import format_size
    from meshwright.cli import output
    from meshwright.cli.plans import design_runs
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.designs.front import front
    from meshwright.report import comparison, write_front

    with ProgressBar("Best", forced=progress) as drawing:
        plans = front(
            interest,
            seconds=seconds,
            steps=steps,
            seed=seed,
            certify=certify,
            threads=threads,
            progress=drawing,
        )
    title = f"{source}: {format_size(interest)}"
    write_front(plans, out, title=design_runs.chart_title(source, interest))
    if json:
        output.answer_json({"front": str(out), "plans": [design_runs.described(plan) for plan in plans]})
    else:
        output.answer(title, comparison(plans), f"written to {out}: a plan for each row, and front.png")


EXAMPLES = (
    "meshwright plan subscriptions.csv --algorithm low --out plan",
    "meshwright plan dataset --algorithm gpa --max-edges 500 --out plan",
    "meshwright plan subscriptions.csv --algorithm minmax --literal --out plan",
    "meshwright plan subscriptions.csv --algorithm low --k 1 --strict --out plan",
    "meshwright plan dataset --algorithm gpm --ratio 0.2 --out plan",
    "meshwright plan dataset --algorithm randomm --max-degree 8 --arbitrary --out plan",
    "meshwright plan subscriptions.csv --costs places.csv --out plan",
    "meshwright plan subscriptions.csv --algorithm best --steps 2000 --certify --out plan",
    "meshwright plan subscriptions.csv --out plan --report plan.html",
    "meshwright plan subscriptions.csv --algorithm best --front --seconds 60 --out front",
    "meshwright plan dataset --parts 8 --coverage 3 --out plan",
    "meshwright plan dataset --parts 200 --master spark://head:7077 --out plan",
    "meshwright plan filters.csv --topic-kind mqtt --expand '#' --skip-unusable --out plan",
    "meshwright plan export.txt --delimiter ';' --node Broker --topic Filter --out plan",
)


def plan(
    source: Source,
    *,
    out: Annotated[
        str, typer.Option("--out", metavar="PLAN", help="The folder to write the plan to, by path or URL.")
    ],
    algorithm: Algorithm = "gm",
    parameters: DesignParameters,
    costs: Costs = None,
    metric: Metric = False,
    certify: Certify = False,
    report: ReportFile = None,
    front: Annotated[
        bool,
        typer.Option("--front", help="Best: one plan per maximum degree on the trade-off, and a chart."),
    ] = False,
    master: Master = None,
    conf: Conf = None,
    connect_timeout: ConnectTimeout = 30.0,
    parts: Annotated[
        int | None,
        typer.Option(
            "--parts",
            metavar="P",
            min=1,
            help="On Spark: plan this many parts separately; less memory, more links.",
        ),
    ] = None,
    coverage: Annotated[
        int | None,
        typer.Option(
            "--coverage",
            metavar="N",
            min=1,
            help="With parts: representatives per topic of a part; 3 by default.",
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
    allow_empty: AllowEmpty = False,
    force: Force = False,
    seed: Seed = 0,
    threads: Threads = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Design which brokers to link, and write the plan.

    With --parts, gm, minmax and low run on Spark (--master) by divide and conquer, for an interest that does
    not fit into the memory of this machine. Without --parts, every plan is made on this machine.

    MQTT filters that overlap are planned as one topic: a group, whose brokers share one tree.
    """
    from meshwright.actions.outputs import check_target
    from meshwright.cli import output
    from meshwright.cli.plans import design_runs, spark_runs
    from meshwright.designs.registry import check_parameters, find
    from meshwright.errors import InputError
    from meshwright.jit.announce import working_seconds
    from meshwright.store.plans import check_replaced

    find(algorithm)  # reject misspelled names and unwritable paths before long work
    check_target(out, "front" if front else "plan")
    if front:
        check_front(
            algorithm,
            objective=parameters.get("objective"),
            k=parameters.get("k"),
            report=None if report is None else str(report),
        )
    if report is not None:
        check_page(report)
    check_parameters(
        [algorithm], {**parameters, "costs": None if costs is None else str(costs)}, options=True
    )
    if coverage is not None and parts is None:
        raise InputError("--coverage applies to plans in parts: add --parts P, or leave it out")
    spark_runs.check_on_spark(algorithm, parameters, parts, coverage, costs, conf)
    given_topics = design_runs.load_planned(
        source, file_columns(node, topic, delimiter, no_header), kind=topic_kind, exclude=exclude_topic,
        expand=expand, skip_unusable=skip_unusable, rates=rates, allow_empty=allow_empty, json=json,
        remedy="nothing to plan; to plan it anyway, add --allow-empty",
    )  # fmt: skip
    interest = given_topics.interest
    if not force and not front:
        check_replaced(out, given_topics.dataset, algorithm)
    link_costs = design_runs.load_costs(costs, interest, metric=metric)
    if front:
        plan_front(
            source,
            interest,
            out,
            parameters.get("seconds"),
            parameters.get("steps"),
            seed,
            threads,
            certify=certify,
            progress=progress,
            json=json,
        )
        return
    way: dict[str, object] = {}
    lines: list[str] = []
    if parts is not None:
        done = spark_runs.make_in_parts(
            interest, algorithm, parameters, master=master, conf=conf,
            connect_timeout=connect_timeout, parts=parts, coverage=coverage,
            seed=seed, progress=progress,
        )  # fmt: skip
        made = design_runs.add_certificate(done.plan, threads, progress=progress) if certify else done.plan
        way, lines = spark_runs.parts_fields(done), spark_runs.parts_lines(done)
        proving = None
    else:
        began = working_seconds()
        made = design_runs.make(
            interest, algorithm, parameters, seed=seed, threads=threads, progress=progress, costs=link_costs,
            certify=certify,
        )  # fmt: skip
        if master is not None or conf:
            way, lines = spark_runs.DRIVER, [spark_runs.DRIVER_LINE]
        proving = working_seconds() - began - made.seconds if certify else None
    made = replace(made, filters=given_topics.filters)
    if not force:
        check_replaced(out, given_topics.dataset, algorithm, made)
    design_runs.replace_plan(made, out, page=report is not None)
    if report is not None:
        write_page(out, given_topics.source, report, costs=link_costs, progress=progress)
    if json:
        files = {"plan": str(out), "report": report and str(report)}
        output.answer_json({**design_runs.described(made), **given_topics.to_dict(), **way, **files})
    else:
        page = [] if report is None else [f"report: {report}"]
        output.answer(made.summary(proving=proving), *given_topics.lines, *lines, *page, f"written to {out}")
