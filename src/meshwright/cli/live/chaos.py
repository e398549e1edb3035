"""`meshwright chaos`: what breaks when brokers fail, and what repair costs."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, Seed, ShowProgress, Source

if TYPE_CHECKING:
    from rich.table import Table

    from meshwright.churn import Scenario

EXAMPLES = (
    "meshwright chaos plan subscriptions.csv",
    "meshwright chaos plan subscriptions.csv --most 2 --policies shadow,rebuild --samples 20",
)


def chaos(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's folder, every topic connected.")],
    source: Source,
    *,
    most: Annotated[
        int, typer.Option("--most", metavar="K", min=1, help="Maximum number of brokers that fail at once.")
    ] = 3,
    samples: Annotated[
        int,
        typer.Option(
            "--samples",
            metavar="N",
            min=1,
            help="Number of random sets of each size, and of repairs of each kind.",
        ),
    ] = 100,
    policies: Annotated[
        str, typer.Option("--policies", metavar="A,B,C", help="Policies whose repairs to try.")
    ] = "naive,shadow,tidy",
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Let brokers fail, alone and together, and report what breaks and what repair costs.

    It tries each broker alone, random sets, the brokers with the most links, and those whose failure cuts off
    the most subscribers.
    """
    from meshwright import churn as room
    from meshwright.cli import output
    from meshwright.cli.plans import design_runs
    from meshwright.cli.progress import ProgressDrawing
    from meshwright.store import read_plan

    names = design_runs.split_names(policies, "--policies", "naive,shadow,tidy")
    for name in names:
        room.Policy(name)
    interest = design_runs.load(source)
    overlay = read_plan(plan).overlay_on(interest)
    with ProgressDrawing("chaos", forced=progress) as drawing:
        found = room.chaos(
            overlay,
            most=most,
            samples=samples,
            policies=names,
            seed=seed,
            progress=lambda _, share, phase: drawing(len(overlay), share, phase),
        )
    if json:
        output.answer_json({"plan": str(plan), "scenarios": [asdict(scenario) for scenario in found]})
    else:
        output.answer(
            f"{design_runs.format_size(interest)}, {len(overlay):,} links",
            _table(found, names),
            *_summary(found),
        )


def _table(found: "list[Scenario]", policies: list[str]) -> "Table":
    from meshwright.report.tables import plain_table

    headings = ["at\nonce", "\ntried", "splits\na topic", "topics\nsplit", "at\nmost", "cut\noff", "at\nmost"]
    table = plain_table("\nwho fails", [*headings, *(f"links,\n{name}" for name in policies)])
    for each in found:
        table.add_row(
            each.kind,
            f"{each.nodes}",
            f"{each.tried:,}",
            f"{each.splitting:,}",
            f"{each.mean_topics:.2f}",
            f"{each.most_topics:,}",
            f"{each.mean_cut_off:.2f}",
            f"{each.most_cut_off:,}",
            *(f"{each.repairs[name].links:.1f}" if name in each.repairs else "–" for name in policies),
        )
    return table


def _summary(found: "list[Scenario]") -> list[str]:
    """Return a sentence that sums up the first row."""
    single = found[0]
    if not single.splitting:
        return ["No failure of a single broker splits a topic."]
    return [
        f"{single.splitting:,} of {single.tried:,} brokers split a topic when they fail; the worst is "
        f"{single.worst[0]!r}, which cuts {single.most_cut_off:,} subscribers off."
    ]
