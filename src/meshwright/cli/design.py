"""Commands that choose links: `plan`, `compare` and `advise`, and the options of designs."""

from __future__ import annotations

from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from meshwright.actions import plan as action
from meshwright.actions import sources
from meshwright.actions.advise import SearchBudget
from meshwright.actions.plan import DESIGNS, PARAMETERS, DesignChoice, describe_parameter
from meshwright.cli.main import PROJECT, Words
from meshwright.cli.options import (
    AllowEmpty,
    Certify,
    Columns,
    Costs,
    Force,
    Metric,
    Seed,
    Source,
    Spark,
    Threads,
    Topics,
    chart_of,
)
from meshwright.cli.output import Answer, ProgressBar

*_OTHERS, _LAST = DESIGNS

Algorithm: TypeAlias = Annotated[
    str, typer.Option("--algorithm", metavar="NAME", help=f"{', '.join(_OTHERS)} or {_LAST}.")
]


class DesignParameters(dict[str, Any]):
    """The parameters of designs: an option for each one that is declared."""

    def __init__(self, **given: Any) -> None:
        super().__init__(
            {name: value for name, value in given.items() if value is not None and value is not False}
        )

    @classmethod
    def as_options(cls) -> list[Parameter]:
        """Return an option for each parameter, with its type and range."""
        options = []
        for name, declared in PARAMETERS.items():
            flag, whole = declared.kind is bool, declared.kind is int  # the parser knows ranges of these
            option = typer.Option(
                f"--{name.replace('_', '-')}",
                metavar=None if flag else declared.metavar or "|".join(declared.choices),
                min=declared.least if whole else None,
                help=describe_parameter(name) + ("" if whole else declared.range and f"  [{declared.range}]"),
                rich_help_panel="Parameters of designs",
            )
            annotation = Annotated[bool if flag else declared.kind | None, option]  # type: ignore[valid-type]
            default = False if flag else None
            options.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
        return options


PLAN_EXAMPLES = (
    "meshwright plan subscriptions.csv --algorithm low --out plan",
    "meshwright plan dataset --algorithm gpa --max-edges 500 --out plan",
    "meshwright plan subscriptions.csv --algorithm minmax --literal --out plan",
    "meshwright plan subscriptions.csv --algorithm low --k 1 --strict --out plan",
    "meshwright plan dataset --algorithm gpm --ratio 0.2 --out plan",
    "meshwright plan dataset --algorithm randomm --max-degree 8 --arbitrary --out plan",
    "meshwright plan subscriptions.csv --costs places.csv --out plan",
    "meshwright plan subscriptions.csv --algorithm best --steps 2000 --certify --out plan",
    "meshwright plan subscriptions.csv --algorithm best --objective front --seconds 60 --out front",
    "meshwright plan dataset --parts 8,3 --out plan",
    "meshwright plan dataset --parts 200 --master spark://head:7077 --out plan",
    "meshwright plan filters.csv --topic-kind mqtt --expand '#' --exclude-topic unusable --out plan",
    "meshwright plan export.txt --delimiter ';' --node Broker --topic Filter --out plan",
)


def plan(
    source: Source,
    *,
    context: typer.Context,
    out: Annotated[
        str, typer.Option("--out", metavar="PLAN", help="The folder to write the plan to, by path or URL.")
    ],
    algorithm: Algorithm = "gm",
    parameters: DesignParameters,
    costs: Costs = None,
    certify: Certify = False,
    spark: Spark,
    parts: Annotated[
        str | None,
        typer.Option(
            "--parts",
            metavar="P[,N]",
            help="On Spark: plan P parts separately, each with N representatives per topic, 3 by default; "
            "less memory, more links.",
        ),
    ] = None,
    columns: Columns,
    topics: Topics,
    allow_empty: AllowEmpty = False,
    force: Force = False,
    seed: Seed = 0,
    threads: Threads = 1,
) -> Answer:
    """Design which brokers to link, and write the plan.

    With --parts, gm, minmax and low run on Spark (--master) by divide and conquer, for an interest that does
    not fit into the memory of this machine. Without --parts, every plan is made on this machine.

    MQTT filters that overlap are planned as one topic: a group, whose brokers share one tree.

    With a project file, changed logs are read first, and the trees are chosen as route does.
    """
    from meshwright.actions.project import plan_project
    from meshwright.report import comparison

    read = sources.Source(source, columns, topics)
    choice = action.DesignChoice(algorithm, parameters, seed, threads, certify)
    project = context.meta.get(PROJECT)
    with ProgressBar(goal=parameters.get("max_edges")) as bar:
        if choice.is_front:
            found = action.plan_front(read, out, choice, costs=costs, allow_empty=allow_empty, progress=bar)
            written = f"written to {out}: a plan for each row, and front.png"
            return Answer(found, found.source.size, comparison(found.plans), written)
        make = action.plan if project is None else partial(plan_project, project)
        made = make(
            read, out, choice, costs=costs, parts=action.Parts.named(parts, spark),
            allow_empty=allow_empty, force=force, progress=bar,
        )  # fmt: skip
    return Answer(made)


COMPARE_EXAMPLES = (
    "meshwright compare subscriptions.csv --chart comparison.png",
    "meshwright compare dataset --algorithms gm,low,gpm --k 5 --max-degree 8",
    "meshwright compare dataset --algorithms gpa,gpm,spidercastm,randomm --ratio 0.2",
)

ADVISE_EXAMPLES = (
    "meshwright advise subscriptions.csv --chart advice.png",
    "meshwright advise subscriptions.csv --max-degree 8 --out plan",
    "meshwright advise dataset --resilient",
)


def compare(
    source: Source,
    *,
    algorithms: Annotated[
        str, typer.Option("--algorithms", metavar="A,B,C", help="Designs, separated by commas.")
    ] = "gm,low,minmax,ring",
    chart: Annotated[Path | None, chart_of("degrees and support")] = None,
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
    columns: Columns,
    topics: Topics,
    seed: Seed = 0,
    threads: Threads = 1,
) -> Answer:
    """Design by several algorithms and show them side by side.

    Each algorithm gets the parameters that it takes; --ratio gives each a budget from one and the same run of
    the literal MinMax-ODA. With --costs the table shows the total cost of each
    design; "above the fewest" is the largest possible excess over the fewest links, proven by prices, and for
    designs that keep degrees low over the fewest links at the same maximum degree.
    """
    from meshwright.actions.compare import compare_designs
    from meshwright.report import comparison, proof_lines

    read = sources.Source(source, columns, topics)
    choice = DesignChoice(parameters=parameters, seed=seed, threads=threads)
    with ProgressBar(goal=parameters.get("max_edges")) as bar:
        made = compare_designs(
            read, algorithms, choice, certify=certify, costs=costs, metric=metric, chart=chart, progress=bar
        )
    plans, drawn = made.comparison.plans, [] if chart is None else [f"chart: {chart}"]
    lines = [*proof_lines(plans), *made.source.lines, *drawn]
    return Answer(made, made.source.size, comparison(plans), *lines)


BudgetOptions: TypeAlias = Annotated[
    SearchBudget,
    Words(
        seconds=("S", "Seconds for each search, and once more for all proofs; 20 by default.", {"min": 0}),
        steps=(
            "N",
            "Or steps for each search, the same on every machine; proofs take what they need.",
            {"min": 0},
        ),
    ),
]


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
    chart: Annotated[Path | None, chart_of("links against degree")] = None,
    budget: BudgetOptions,
    columns: Columns,
    topics: Topics,
    force: Force = False,
    seed: Seed = 0,
    threads: Threads = 1,
) -> Answer:
    """Try the designs that fit, and say which one to take and why.

    With --out the chosen plan has its page, report.html, in its folder.

    Every figure of the table is measured; "spare links" counts the links that could each be removed alone.
    The exit code is 1 if no design that connects every topic meets the requirements. Within limits that are
    too tight for that, the answer is the plan that connects the most.

    With --seconds S it takes about 3·S, or 4·S with --max-degree, and a little more on large data: greedy
    designs and measures take as long as they take.
    """
    from meshwright.actions.advise import advise_on
    from meshwright.report import advice_lines, advice_table

    read = sources.Source(source, columns, topics)
    wishes = {"max_degree": max_degree, "max_edges": max_edges, "resilient": resilient, "diameter": diameter}
    with ProgressBar() as bar:
        made = advise_on(
            read, wishes, budget, DesignChoice(seed=seed, threads=threads), out=out,
            chart=chart, force=force, progress=bar,
        )  # fmt: skip
    files = [] if chart is None else [f"chart: {chart}"]
    files += [] if made.report is None else [f"report: {made.report}"]
    files += [] if made.plan is None else [f"written to {made.plan}"]
    lines = [*made.source.lines, *advice_lines(made.advice), *files]
    return Answer(made, made.source.size, advice_table(made.advice), *lines)
