"""`meshwright content assign`, `compare` and `exact`: which user goes to which broker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.actions.content.assign import Variant
from meshwright.cli.commands import Words
from meshwright.cli.content.options import PlanFolder, WorkloadFolder
from meshwright.cli.options import Json, Seed, ShowProgress

if TYPE_CHECKING:
    from meshwright.actions.content.assign import Assigned

ASSIGN_EXAMPLES = (
    "meshwright content assign workload --out assignment",
    "meshwright content assign workload --algorithm steiner --argmax --json",
    "meshwright content assign workload --algorithm clustering --sum",
)


LEAST: dict[str, Any] = {"min": 0}
VARIANT: dict[str, str | tuple[Any, ...]] = {
    "argmax": "Steiner variants: take each user's heaviest broker instead of drawing.",
    "sum": "Clustering: rank brokers by the sum of the traffic, as the paper does.",
    "seconds": ("S", "Descent: stop after S seconds.", LEAST),
    "steps": ("N", "Descent: stop after N steps; the same on every machine.", LEAST),
}


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
    variant: Annotated[
        Variant,
        Words(**VARIANT, time_limit=("S", "Exact: stop after this many seconds.", LEAST)),
    ],
    out: PlanFolder = None,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Put each user on one broker, within all capacities, and show what that costs.

    Packing, clustering --sum and steiner-literal follow the paper; clustering by means and steiner are ours.
    Descent, also ours, improves the best of them. Exact finds the optimum of small workloads.
    """
    from meshwright.actions.content.assign import assign_users
    from meshwright.cli.progress_bar import SEARCH_STEPS, ProgressBar

    with ProgressBar(wording=SEARCH_STEPS, forced=progress) as bar:
        made = assign_users(workload, algorithm, variant, out=out, seed=seed, progress=bar)
    _print(made, json=json)


def _print(made: "Assigned", *, json: bool) -> None:
    from meshwright.actions.content.assign import format_users
    from meshwright.cli import output
    from meshwright.report.content import content_table

    if json:
        output.answer_json(made.to_dict())
    else:
        written = [] if made.out is None else [f"written to {made.out}"]
        table = content_table([made.plan])
        output.answer(format_users(made.plan.workload), table, *_proof(made), *written)


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
    variant: Annotated[Variant, Words(**VARIANT)],
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
    from meshwright.actions.content.assign import compare_assignments
    from meshwright.cli import output
    from meshwright.cli.progress_bar import SEARCH_STEPS, ProgressBar
    from meshwright.errors import InputError
    from meshwright.report.content import content_table

    names = [name.strip() for name in algorithms.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise InputError(f"--algorithms {algorithms!r}: name algorithms, each once, such as packing,steiner")
    with ProgressBar(wording=SEARCH_STEPS, forced=progress) as bar:
        made = compare_assignments(workload, names, variant, chart=chart, seed=seed, progress=bar)
    if json:
        output.answer_json(made.to_dict())
    else:
        drawn = [] if chart is None else [f"chart: {chart}"]
        output.answer(made.title, content_table(made.plans), *drawn)


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
    from meshwright.actions.content.assign import assign_users
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import SEARCH_STEPS, ProgressBar

    with ProgressBar(wording=SEARCH_STEPS, forced=progress) as bar:
        made = assign_users(
            workload, "exact", Variant(time_limit=time_limit), out=out, seed=seed, progress=bar
        )
    _print(made, json=json)
    if not made.proven:
        raise typer.Exit(ANSWER_IS_NO)


def _proof(made: "Assigned") -> list[str]:
    """Say what is proven of the least cost, if the algorithm proves anything."""
    from meshwright.formatting import amount, excess

    plan = made.plan
    if plan.lower_bound is None:
        return []
    optimal = "this is the optimum"
    verdict = optimal if made.proven else f"at most {excess(plan.gap or 0.0)} of it above the optimum"
    return [f"no assignment costs less than {amount(plan.lower_bound)}: {verdict}"]
