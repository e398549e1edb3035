"""`meshwright chaos`: what breaks when brokers fail, and what its repair takes."""

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
        int, typer.Option("--most", metavar="K", min=1, help="Up to so many brokers fail at once.")
    ] = 3,
    samples: Annotated[
        int,
        typer.Option(
            "--samples", metavar="N", min=1, help="Random sets of each size, and repairs of each kind."
        ),
    ] = 100,
    policies: Annotated[
        str, typer.Option("--policies", metavar="A,B,C", help="Whose repairs to try.")
    ] = "naive,shadow,tidy",
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Let brokers fail, singly and together, and tell what breaks and what the repair takes.

    Each broker on its own, random sets, those with the most links, and those whose failure cuts off most.
    """
    from meshwright import churn as room
    from meshwright.cli import output
    from meshwright.cli.plans import design_runs
    from meshwright.cli.progress import ProgressDrawing
    from meshwright.store import read_plan

    names = design_runs.names_in(policies, "--policies", "naive,shadow,tidy")
    for name in names:
        room.Policy(name)
    interest = design_runs.load(source)
    overlay = read_plan(plan).overlay_on(interest)
    with ProgressDrawing("chaos", forced=progress) as drawing:
        room.prepare_chaos(drawing)
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
            f"{design_runs.told(interest)}, {len(overlay):,} links", _table(found, names), *_told(found)
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


def _told(found: "list[Scenario]") -> list[str]:
    """Say in words what the first row shows."""
    single = found[0]
    if not single.splitting:
        return ["No failure of a single broker splits a topic."]
    return [
        f"{single.splitting:,} of {single.tried:,} brokers split a topic when they fail; the worst is "
        f"{single.worst[0]!r}, which cuts {single.most_cut_off:,} subscribers off."
    ]
