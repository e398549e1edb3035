"""`meshwright content assign`, `compare` and `exact`: which user goes to which broker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.content.options import (
    Argmax,
    PlanFolder,
    SearchSeconds,
    SearchSteps,
    Sum,
    WorkloadFolder,
    check_out,
    format_workload,
    plan_as_json,
    read,
    run_algorithm,
    write_plan,
)
from meshwright.cli.options import Json, Seed, ShowProgress, TimeLimit, check_search_limits

if TYPE_CHECKING:
    from meshwright.content.assignment.algorithms import ContentPlan

ASSIGN_EXAMPLES = (
    "meshwright content assign workload --out assignment",
    "meshwright content assign workload --algorithm steiner --argmax --json",
    "meshwright content assign workload --algorithm clustering --sum",
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
    sum: Sum = False,  # noqa: A002  the name of the option
    seconds: SearchSeconds = None,
    steps: SearchSteps = None,
    time_limit: TimeLimit = None,
    out: PlanFolder = None,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Put each user on one broker, within all capacities, and show what that costs.

    Packing, clustering --sum and steiner-literal follow the paper; clustering by means and steiner are ours.
    Descent, also ours, improves the best of them. Exact finds the optimum of small workloads.
    """
    from meshwright.cli import output
    from meshwright.report.content import content_table

    check_out(out)
    check_search_limits(seconds, steps)
    given = read(workload)
    limits = {"seconds": seconds, "steps": steps, "time_limit": time_limit}
    variant = {"argmax": argmax or None, "sum": sum or None}
    plan = run_algorithm(given, algorithm, seed=seed, shown=progress, **variant, **limits)
    if out is not None:
        write_plan(plan, out)
    proven = _proof(plan)
    if json:
        output.answer_json({**plan_as_json(plan, out), **({"proven": _is_proven(plan)} if proven else {})})
    else:
        lines = [] if out is None else [f"written to {out}"]
        output.answer(format_workload(given), content_table([plan]), *proven, *lines)


COMPARE_EXAMPLES = (
    "meshwright content compare workload",
    "meshwright content compare workload --algorithms packing,steiner,descent --chart costs.png",
)


def compare(
    workload: WorkloadFolder,
    *,
    algorithms: Annotated[
        str, typer.Option("--algorithms", metavar="A,B,C", help="Algorithms to compare, separated by commas.")
    ] = "random,packing,clustering,steiner,steiner-literal,descent",
    argmax: Argmax = False,
    sum: Sum = False,  # noqa: A002  the name of the option
    seconds: SearchSeconds = None,
    steps: SearchSteps = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw the costs: a .png, .svg or .pdf file."),
    ] = None,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Put users on brokers by several algorithms, and show what each one costs.

    CRR, the cost reduction ratio, is the cost of a random assignment divided by the cost of this one.
    """
    from meshwright.cli import output
    from meshwright.content.assignment.algorithms import find
    from meshwright.errors import InputError
    from meshwright.report.content import content_chart, content_table
    from meshwright.report.sheet import check_chart

    names = [name.strip() for name in algorithms.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise InputError(f"--algorithms {algorithms!r}: name algorithms, each once, such as packing,steiner")
    known = [find(name) for name in names]
    check_search_limits(seconds, steps)
    if chart is not None:
        check_chart(chart)
    given = read(workload)
    asked = {"argmax": argmax or None, "sum": sum or None, "seconds": seconds, "steps": steps}
    for name, value in asked.items():
        if value is not None and not any(name in it.parameters for it in known):
            raise InputError(f"none of {', '.join(names)} takes {name}: leave it out")
    plans = [
        run_algorithm(
            given,
            it.name,
            seed=seed,
            shown=progress,
            **{name: value for name, value in asked.items() if name in it.parameters},
        )
        for it in known
    ]
    title = f"{Path(workload).name}: {format_workload(given)}"
    if chart is not None:
        content_chart(plans, chart, title=title)
    if json:
        answers = [plan_as_json(plan) for plan in plans]
        output.answer_json({"workload": str(workload), "plans": answers, "chart": chart and str(chart)})
    else:
        output.answer(title, content_table(plans), *([] if chart is None else [f"chart: {chart}"]))


EXACT_EXAMPLES = ("meshwright content exact small --time-limit 60",)


def exact(
    workload: WorkloadFolder,
    *,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", min=0, help="Stop after S seconds.")
    ] = 60.0,
    out: PlanFolder = None,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Find the assignment of least cost by integer programming, with a proven lower bound.

    For about a dozen users. The exit code is 1 if the time was too short for a proof.
    """
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.report.content import content_table

    check_out(out)
    given = read(workload)
    plan = run_algorithm(given, "exact", seed=seed, shown=progress, time_limit=time_limit)
    proven = _is_proven(plan)
    if out is not None:
        write_plan(plan, out)
    if json:
        output.answer_json({**plan_as_json(plan, out), "proven": proven})
    else:
        lines = [] if out is None else [f"written to {out}"]
        output.answer(format_workload(given), content_table([plan]), *_proof(plan), *lines)
    if not proven:
        raise typer.Exit(ANSWER_IS_NO)


def _is_proven(plan: "ContentPlan") -> bool:
    """Return whether an assignment is proven to cost least."""
    from meshwright.content.assignment.exact import TOLERANCE

    return plan.gap is not None and plan.gap <= TOLERANCE


def _proof(plan: "ContentPlan") -> list[str]:
    """Say what is proven of the least cost, if the algorithm proves anything."""
    from meshwright.formatting import amount, excess

    if plan.lower_bound is None:
        return []
    optimal = "this is the optimum"
    verdict = optimal if _is_proven(plan) else f"at most {excess(plan.gap or 0.0)} of it above the optimum"
    return [f"no assignment costs less than {amount(plan.lower_bound)}: {verdict}"]
