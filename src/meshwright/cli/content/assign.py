"""`meshwright content assign`, `compare` and `exact`: which user goes to which broker."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.content.options import Argmax, PlanFolder, SearchSeconds, SearchSteps, WorkloadFolder
from meshwright.cli.options import Json, Seed, ShowProgress, TimeLimit

ASSIGN_EXAMPLES = (
    "meshwright content assign workload --out assignment",
    "meshwright content assign workload --algorithm steiner --argmax --json",
)


def assign(
    workload: WorkloadFolder,
    *,
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            metavar="NAME",
            help="random, packing, clustering, steiner, steiner-literal, descent or exact.",
        ),
    ] = "descent",
    argmax: Argmax = False,
    seconds: SearchSeconds = None,
    steps: SearchSteps = None,
    time_limit: TimeLimit = None,
    out: PlanFolder = None,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Put each user on one broker, within all capacities, and tell what that costs.

    Descent improves the best of the others; exact finds the optimum of small workloads.
    """
    from meshwright.cli import output
    from meshwright.cli.content.options import check_place, described, keep, load, made, told
    from meshwright.report.content import content_table

    check_place(out)
    given = load(workload)
    limits = {"seconds": seconds, "steps": steps, "time_limit": time_limit}
    plan = made(given, algorithm, seed=seed, shown=progress, argmax=argmax or None, **limits)
    if out is not None:
        keep(plan, out)
    if json:
        output.answer_json(described(plan, out))
    else:
        lines = [] if out is None else [f"written to {out}"]
        output.answer(told(given), content_table([plan]), *lines)


COMPARE_EXAMPLES = (
    "meshwright content compare workload",
    "meshwright content compare workload --algorithms packing,steiner,descent --chart costs.png",
)


def compare(
    workload: WorkloadFolder,
    *,
    algorithms: Annotated[
        str, typer.Option("--algorithms", metavar="A,B,C", help="Which ones, separated by commas.")
    ] = "random,packing,clustering,steiner,steiner-literal,descent",
    argmax: Argmax = False,
    seconds: SearchSeconds = None,
    steps: SearchSteps = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw what costs what: a .png, .svg or .pdf file."),
    ] = None,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Put users on brokers by several algorithms, and tell what each costs.

    CRR, the cost reduction ratio, is what random assignment costs over what this one does.
    """
    from meshwright.cli import output
    from meshwright.cli.content.options import described, load, made, told
    from meshwright.content.assignment.registry import find
    from meshwright.errors import InputError
    from meshwright.report.content import content_chart, content_table
    from meshwright.report.sheet import check_chart

    names = [name.strip() for name in algorithms.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise InputError(f"--algorithms {algorithms!r}: name algorithms, each once, such as packing,steiner")
    known = [find(name) for name in names]
    if chart is not None:
        check_chart(chart)
    given = load(workload)
    asked = {"argmax": argmax or None, "seconds": seconds, "steps": steps}
    for name, value in asked.items():
        if value is not None and not any(name in it.parameters for it in known):
            raise InputError(f"none of {', '.join(names)} takes {name}: leave it out")
    plans = [
        made(
            given,
            it.name,
            seed=seed,
            shown=progress,
            **{name: value for name, value in asked.items() if name in it.parameters},
        )
        for it in known
    ]
    title = f"{workload}: {told(given)}"
    if chart is not None:
        content_chart(plans, chart, title=title)
    if json:
        answers = [described(plan) for plan in plans]
        output.answer_json({"workload": str(workload), "plans": answers, "chart": chart and str(chart)})
    else:
        output.answer(title, content_table(plans), *([] if chart is None else [f"chart: {chart}"]))


EXACT_EXAMPLES = ("meshwright content exact small --time-limit 60",)


def exact(
    workload: WorkloadFolder,
    *,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", min=0, help="Stop after so many seconds.")
    ] = 60.0,
    out: PlanFolder = None,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Find the assignment of least cost, by integer programming, and tell how far any other is above it.

    For a dozen users rather than a hundred. The exit code is 1 if the time was too short for a proof.
    """
    from meshwright.cli import output
    from meshwright.cli.content.options import check_place, described, keep, load, made, told
    from meshwright.cli.output import ANSWER_IS_NO
    from meshwright.content.assignment.exact import TOLERANCE
    from meshwright.formatting import amount, excess
    from meshwright.report.content import content_table

    check_place(out)
    given = load(workload)
    plan = made(given, "exact", seed=seed, shown=progress, time_limit=time_limit)
    proven = plan.gap is not None and plan.gap <= TOLERANCE
    if out is not None:
        keep(plan, out)
    if json:
        output.answer_json({**described(plan, out), "proven": proven})
    else:
        bound = amount(plan.lower_bound or 0.0)
        told_gap = "the optimum" if proven else f"at most {excess(plan.gap or 0.0)} of it above the optimum"
        lines = [] if out is None else [f"written to {out}"]
        output.answer(
            told(given), content_table([plan]), f"no assignment costs less than {bound}: {told_gap}"
        )
        if lines:
            output.answer(*lines)
    if not proven:
        raise typer.Exit(ANSWER_IS_NO)
