"""`meshwright content assign`: which user goes to which broker."""

from typing import Annotated

import typer

from meshwright.cli.content_options import Argmax, PlanFolder, SearchSeconds, SearchSteps, WorkloadFolder
from meshwright.cli.options import Json, Seed, ShowProgress, TimeLimit

EXAMPLES = (
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
    from meshwright.cli.content_options import check_place, described, keep, load, made, told
    from meshwright.report.content_table import content_table

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
