"""`meshwright content migrate`: users move by themselves, by messages, while publications flow."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.content.options import WorkloadFolder
from meshwright.cli.options import Json, Seed, ShowProgress

if TYPE_CHECKING:
    from meshwright.content.migration import Migration

EXAMPLES = (
    "meshwright content migrate workload --publications 500 --decline 0.2",
    "meshwright content migrate workload --publications 500 --crashes 1 --out migration",
)


def migrate(
    workload: WorkloadFolder,
    *,
    start: Annotated[
        str,
        typer.Option("--start", metavar="NAME", help="The algorithm by which users are on brokers at first."),
    ] = "random",
    transport: Annotated[
        str,
        typer.Option(
            "--transport",
            metavar="NAME",
            help="asyncio: one process, virtual time; mosquitto: a real broker, real time.",
        ),
    ] = "asyncio",
    publications: Annotated[
        int, typer.Option("--publications", metavar="N", min=0, help="So many are published meanwhile.")
    ] = 10_000,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=0, help="Over so long they are spread.")
    ] = 5.0,
    decline: Annotated[
        float, typer.Option("--decline", metavar="P", help="Users decline a move with this probability.")
    ] = 0.0,
    ttl: Annotated[
        float, typer.Option("--ttl", metavar="S", min=0, help="For so long a user's old broker forwards.")
    ] = 0.5,
    delay: Annotated[
        float, typer.Option("--delay", metavar="S", min=0, help="Asyncio: the most that a message takes.")
    ] = 0.01,
    crashes: Annotated[
        int, typer.Option("--crashes", metavar="N", min=0, help="So many brokers die, each in a replicate.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Leave steps, the final assignment and a chart here."),
    ] = None,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Let brokers move users until no move pays, by messages alone, and count that none is lost or doubled.

    Brokers die, if asked for, in the middle of handing a user over; the others take their users in. Ends
    with 1 if anything was lost or doubled, a move raised the cost, or it did not come to rest.
    """
    from meshwright.cli import output
    from meshwright.cli.content.options import format_workload, read, run_algorithm
    from meshwright.cli.output import ANSWER_IS_NO, check_target
    from meshwright.cli.progress import SearchDrawing
    from meshwright.content.migration import Crash, Terms
    from meshwright.content.migration import migrate as run_migration
    from meshwright.report.migration_chart import migration_chart
    from meshwright.report.sheet import check_matplotlib
    from meshwright.store.runs import write_migration

    if out is not None:
        check_target(out, "migration")
        check_matplotlib()
    terms = Terms(
        publications=publications,
        seconds=seconds,
        decline=decline,
        ttl=ttl,
        delay=(min(0.0005, delay), delay),
        # Now the home of a user dies in a replicate, now the broker that it was to go to.
        crashes=tuple(Crash(10 * (n + 1), ("home", "foreign")[n % 2]) for n in range(crashes)),
    )
    given = read(workload)
    first = run_algorithm(given, start, seed=seed, shown=progress).cost.broker_of
    with SearchDrawing("migrate", forced=progress) as drawing:

        def tell(time: float, messages: int, delivered: int) -> None:
            share = min(time / seconds, 1.0) if seconds else 1.0
            drawing(messages, share, f"{time:.1f} s, {delivered:,} delivered")

        run = run_migration(given, first, terms, transport=transport, seed=seed, progress=tell)
    title = f"{format_workload(given)}; from {start}, over {transport}"
    if out is not None:
        described = {"start": start, "transport": transport, "seed": seed}
        write_migration(
            run, out, described=described, draw=lambda file: migration_chart(run, file, title=title)
        )
    if json:
        output.answer_json(
            {
                "start": start,
                "transport": transport,
                "seed": seed,
                "sound": run.sound,
                "crashes_asked": crashes,
                **run.figures,
            }
        )
    else:
        output.answer(title, *_lines(run, crashes), *([] if out is None else [f"written to {out}"]))
    if not run.sound:
        raise typer.Exit(ANSWER_IS_NO)


def _lines(run: "Migration", crashes: int) -> list[str]:
    figures = run.figures
    saved = 1 - figures["cost"] / figures["cost_before"] if figures["cost_before"] else 0.0
    ending = "no move pays any more" if run.rested else "it has NOT come to rest"
    lines = [
        f"cost {figures['cost_before']:,.4g} → {figures['cost']:,.4g} ({saved:.1%} less) by "
        f"{figures['moves']:,} moves in {figures['rounds']:,} rounds; {ending}",
        f"{figures['accepted']:,} accepted, {figures['declined']:,} declined, {figures['withdrawn']:,} no "
        f"longer worth it when their turn came, {figures['rises']:,} that raised the cost",
        f"{figures['delivered']:,} of {figures['expected']:,} deliveries; {figures['missing']:,} missing, "
        f"{figures['twice']:,} twice, {figures['unexpected']:,} unexpected",
        f"{figures['messages']:,} messages; {figures['redirected']:,} redirected, "
        f"{figures['duplicates_dropped']:,} copies dropped",
    ]
    if crashes:
        few = " (there were too few moves to die in)" if figures["crashes"] < crashes else ""
        lines.append(
            f"brokers that died: {figures['crashes']:,} of {crashes:,}{few}; "
            f"{figures['let_in']:,} users taken in by others, {figures['stranded']:,} found no room"
        )
    return lines
