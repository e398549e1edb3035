"""`meshwright content exact`: the optimum of a small workload, or how near to it."""

from typing import Annotated

import typer

from meshwright.cli.content_options import PlanFolder, WorkloadFolder
from meshwright.cli.options import Json, Seed, ShowProgress

EXAMPLES = ("meshwright content exact small --time-limit 60",)


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
    from meshwright.cli.content_options import check_place, described, keep, load, made, told
    from meshwright.cli.failure import ANSWER_IS_NO
    from meshwright.content.exact import TOLERANCE
    from meshwright.report.content_table import content_table
    from meshwright.spelling import amount, excess

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
