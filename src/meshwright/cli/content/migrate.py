"""`meshwright content migrate`: brokers move users by messages alone, while publications flow."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from meshwright.actions.content.migrate import Flow
from meshwright.cli.commands import Words
from meshwright.cli.content.options import WorkloadFolder
from meshwright.cli.options import Json, Seed, ShowProgress

if TYPE_CHECKING:
    from meshwright.actions.content.migrate import Migrated

EXAMPLES = (
    "meshwright content migrate workload --publications 500 --decline 0.2",
    "meshwright content migrate workload --publications 500 --crashes 1 --out migration",
)


LEAST: dict[str, Any] = {"min": 0}

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
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Let brokers move users until no move lowers the cost, and check that no message is lost or doubled.

    Users and brokers agree on moves by messages alone, while publications flow. With --crashes, brokers crash
    while they hand over a user, and other brokers admit their users. Exits with 1 if a message was lost or
    doubled, a move raised the cost, or moves were left when the time limit ended the run.
    """
    from meshwright.actions.content.migrate import migrate_users
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import SEARCH_STEPS, ProgressBar

    with ProgressBar(wording=SEARCH_STEPS, forced=progress) as bar:
        made = migrate_users(
            workload, flow, start=start, transport=transport, out=out, seed=seed, progress=bar
        )
    written = [] if out is None else [f"written to {out}"]
    output.show(made, made.title, *_summary(made), *written, json=json)
    if not made.run.sound:
        raise typer.Exit(ANSWER_IS_NO)


def _summary(made: "Migrated") -> list[str]:
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
