"""`meshwright content`: put users on brokers at least cost. The group of its sub-commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from meshwright.actions.content.assign import (
    Assigned,
    Variant,
    assign_users,
    compare_assignments,
    format_users,
)
from meshwright.actions.content.migrate import Flow, Migrated, migrate_users
from meshwright.actions.content.workload import Drawn, Measured, make_users
from meshwright.cli.main import Words, add_command
from meshwright.cli.options import Seed, chart_of
from meshwright.cli.output import SEARCH_STEPS, Answer, ProgressBar
from meshwright.formatting import amount, excess

WorkloadFolder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="WORKLOAD", help="A workload's folder; see 'content workload'.")
]

PlanFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write assignment, trees, costs and a page with a map here."),
]


WORKLOAD_EXAMPLES = (
    "meshwright content workload --users 2000 --out workload",
    "meshwright content workload --users 1000 --model plane --length 0.03 --ratio 2 --out workload",
)


DrawnOptions: TypeAlias = Annotated[
    Drawn,
    Words(
        users=("N", "Number of users."),
        brokers=("N", "Number of brokers; one per 100 users by default."),
        model=("NAME", "What links cost: uniform (1 to 2), narrow (1 to 1.2) or plane (distances)."),
        length=("L", "Length of each user's interval; one channel by default."),
        ratio=("R", "Mean access over mean core cost; 1 by default."),
        capacity=("X", "All capacities over all loads; 2 by default."),
    ),
]
MeasuredOptions: TypeAlias = Annotated[
    Measured,
    Words(
        subscriptions=("FILE", "With --traffic: node, topic or user, low, high; CSV."),
        user_places=("FILE", "With --traffic: user, x, y; CSV or Parquet."),
        broker_places=("FILE", "With --traffic: broker, x, y and capacity."),
        cells="With --traffic: cut the content along the subscriptions.",
        bytes="With --traffic: count bytes per second, not messages.",
        core_weight=("W", "With --traffic: core cost per unit of distance; 1 by default."),
    ),
]


def workload(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="WORKLOAD", help="The folder to write to.")],
    drawn: DrawnOptions,
    channels: Annotated[
        int | None,
        typer.Option(
            "--channels", metavar="C", help="Cut the content into C equal channels; 100 by default."
        ),
    ] = None,
    traffic: Annotated[
        Path | None,
        typer.Option(
            "--traffic", metavar="TRAFFIC", help="Take the rates from 'meshwright traffic' instead."
        ),
    ] = None,
    measured: MeasuredOptions,
    seed: Seed = 0,
) -> Answer:
    """Make a workload: who publishes and wants what, which brokers there are, and what links cost.

    By default it is random, as in the paper's evaluation: quadratic rate densities, and one interval for each
    user. With --traffic, rates come from publish logs.
    """
    with ProgressBar() as bar:
        made = make_users(
            out, drawn, channels=channels, traffic=traffic, measured=measured, seed=seed, progress=bar
        )
    lines, spare = [format_users(made.workload)], made.approximation
    if spare is not None:
        lines.append(
            f"whole channels hold {spare.volume_ratio:.3f} times the content that users ask for, "
            f"and {spare.traffic_ratio:.3f} times its traffic"
        )
    return Answer(made, *lines, f"written to {out}")


ASSIGN_EXAMPLES = (
    "meshwright content assign workload --out assignment",
    "meshwright content assign workload --algorithm mixing --argmax --json",
    "meshwright content assign workload --algorithm clustering --sum",
)


LEAST: dict[str, Any] = {"min": 0}
VARIANT: dict[str, str | tuple[Any, ...]] = {
    "argmax": "Mixing, steiner: take each user's heaviest broker instead of drawing.",
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
            help="random, packing, clustering, mixing, steiner, descent or exact.",
        ),
    ] = "descent",
    variant: Annotated[
        Variant,
        Words(**VARIANT, time_limit=("S", "Exact: stop after this many seconds.", LEAST)),
    ],
    out: PlanFolder = None,
    seed: Seed = 0,
) -> Answer:
    """Put each user on one broker, within all capacities, and show what that costs.

    Packing, clustering --sum and mixing follow the paper; clustering by means and steiner are ours.
    Descent, also ours, improves the best of them. Exact finds the optimum of small workloads.
    """
    with ProgressBar(wording=SEARCH_STEPS) as bar:
        made = assign_users(workload, algorithm, variant, out=out, seed=seed, progress=bar)
    return _answer(made)


def _answer(made: Assigned, *, passed: bool = True) -> Answer:
    from meshwright.report.content import content_table

    written = [] if made.out is None else [f"written to {made.out}"]
    size, table = format_users(made.plan.workload), content_table([made.plan])
    return Answer(made, size, table, *_proof(made), *written, passed=passed)


COMPARE_EXAMPLES = (
    "meshwright content compare workload",
    "meshwright content compare workload --algorithms packing,steiner,descent --chart costs.png",
)


def compare(
    workload: WorkloadFolder,
    *,
    algorithms: Annotated[
        str, typer.Option("--algorithms", metavar="A,B,C", help="Algorithms to compare, separated by commas.")
    ] = "random,packing,clustering,mixing,steiner,descent",
    variant: Annotated[Variant, Words(**VARIANT)],
    chart: Annotated[Path | None, chart_of("the costs")] = None,
    seed: Seed = 0,
) -> Answer:
    """Put users on brokers by several algorithms, and show what each one costs.

    CRR, the cost reduction ratio, is the cost of a random assignment divided by the cost of this one.
    """
    from meshwright.actions.compare import split_names
    from meshwright.report.content import content_table

    names = split_names(algorithms, "--algorithms", "packing,steiner")
    with ProgressBar(wording=SEARCH_STEPS) as bar:
        made = compare_assignments(workload, names, variant, chart=chart, seed=seed, progress=bar)
    drawn = [] if chart is None else [f"chart: {chart}"]
    return Answer(made, made.title, content_table(made.plans), *drawn)


EXACT_EXAMPLES = ("meshwright content exact small --time-limit 60",)


def exact(
    workload: WorkloadFolder,
    *,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", min=0, help="Stop after S seconds.")
    ] = 60.0,
    out: PlanFolder = None,
    seed: Seed = 0,
) -> Answer:
    """Find the assignment of least cost by integer programming, with a proven lower bound.

    For about a dozen users. The exit code is 1 if the time was too short for a proof.
    """
    with ProgressBar(wording=SEARCH_STEPS) as bar:
        made = assign_users(
            workload, "exact", Variant(time_limit=time_limit), out=out, seed=seed, progress=bar
        )
    return _answer(made, passed=made.proven)


def _proof(made: Assigned) -> list[str]:
    """Say what is proven of the least cost, if the algorithm proves anything."""
    plan = made.plan
    if plan.lower_bound is None:
        return []
    optimal = "this is the optimum"
    verdict = optimal if made.proven else f"at most {excess(plan.gap or 0.0)} of it above the optimum"
    return [f"no assignment costs less than {amount(plan.lower_bound)}: {verdict}"]


MIGRATE_EXAMPLES = (
    "meshwright content migrate workload --publications 500 --decline 0.2",
    "meshwright content migrate workload --publications 500 --crashes 1 --out migration",
)

FlowOptions: TypeAlias = Annotated[
    Flow,
    Words(
        publications=("N", "Number of publications.", LEAST),
        seconds=("S", "Time over which they are published.", LEAST),
        decline=("P", "Probability that a user declines a move."),
        ttl=("S", "How long the home broker redirects messages.", LEAST),
        delay=("S", "Largest delay of a message; only for asyncio.", LEAST),
        crashes=("N", "Number of brokers that crash, each in a replicate.", LEAST),
    ),
]


def migrate(
    workload: WorkloadFolder,
    *,
    start: Annotated[
        str, typer.Option("--start", metavar="NAME", help="Algorithm of the initial assignment.")
    ] = "random",
    transport: Annotated[
        str,
        typer.Option(
            "--transport",
            metavar="NAME",
            help="asyncio: one process, virtual time; mosquitto: a real broker, real time.",
        ),
    ] = "asyncio",
    flow: FlowOptions,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write steps, the final assignment and a chart here."),
    ] = None,
    seed: Seed = 0,
) -> Answer:
    """Let brokers move users until no move lowers the cost, and check that no message is lost or doubled.

    Users and brokers agree on moves by messages alone, while publications flow. With --crashes, brokers crash
    while they hand over a user, and other brokers admit their users. Exits with 1 if a message was lost or
    doubled, a move raised the cost, or moves were left when the time limit ended the run.
    """
    with ProgressBar(wording=SEARCH_STEPS) as bar:
        made = migrate_users(
            workload, flow, start=start, transport=transport, out=out, seed=seed, progress=bar
        )
    written = [] if out is None else [f"written to {out}"]
    return Answer(made, made.title, *_summary(made), *written, passed=made.run.sound)


def _summary(made: Migrated) -> list[str]:
    """Return the figures of a run in words."""
    run, crashes = made.run, made.crashes_asked
    figures = run.figures
    saved = 1 - figures["cost"] / figures["cost_before"] if figures["cost_before"] else 0.0
    ending = "no move pays any more" if run.rested else "the time limit ended the run, moves may be LEFT"
    lines = [
        f"cost {figures['cost_before']:,.4g} → {figures['cost']:,.4g} ({100 * saved:.1f} % less) by "
        f"{figures['moves']:,} moves in {figures['rounds']:,} rounds; {ending}",
        f"{figures['accepted']:,} accepted, {figures['declined']:,} declined, {figures['withdrawn']:,} "
        f"withdrawn because they no longer paid, {figures['rises']:,} that raised the cost",
        f"{figures['delivered']:,} of {figures['expected']:,} deliveries; {figures['missing']:,} missing, "
        f"{figures['twice']:,} twice, {figures['unexpected']:,} unexpected",
        f"{figures['messages']:,} messages; {figures['redirected']:,} redirected, "
        f"{figures['duplicates_dropped']:,} copies dropped",
    ]
    if crashes:
        few = " (too few moves to crash in)" if figures["crashes"] < crashes else ""
        lines.append(
            f"brokers that crashed: {figures['crashes']:,} of {crashes:,}{few}; "
            f"{figures['let_in']:,} users admitted by others, {figures['stranded']:,} found no room"
        )
    return lines


EXAMPLES = (
    "meshwright content workload --users 2000 --out workload",
    "meshwright content assign workload --out assignment",
    "meshwright content compare workload",
)


def content_app(shown: Callable[[Sequence[str]], str]) -> typer.Typer:
    """Return the sub-commands; `shown` formats the examples below the options."""
    app = typer.Typer(
        help="Put users on brokers at least cost: content-based publish/subscribe.",
        epilog=shown(EXAMPLES),
        rich_markup_mode=None,
    )
    app.callback(invoke_without_command=True)(_help)
    add_command(app, workload, shown(WORKLOAD_EXAMPLES))
    add_command(app, assign, shown(ASSIGN_EXAMPLES))
    add_command(app, compare, shown(COMPARE_EXAMPLES))
    add_command(app, exact, shown(EXACT_EXAMPLES))
    add_command(app, migrate, shown(MIGRATE_EXAMPLES))
    return app


def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
