"""`meshwright route`: choose the tree that each topic's messages take."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import FileColumns, Json, Source

EXAMPLES = (
    "meshwright route plan subscriptions.csv",
    "meshwright route plan dataset --objective load --rates traffic",
    "meshwright route plan dataset --objective stable --today plan-of-yesterday",
)


def route(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder; the trees are added to it.")],
    source: Source,
    *,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            metavar="hops|load|stable",
            help="Short paths, messages spread over links, or few changes from today's trees.",
        ),
    ] = "hops",
    rates: Annotated[
        Path | None,
        typer.Option("--rates", metavar="TRAFFIC", help="Messages a second: a folder made by traffic."),
    ] = None,
    today: Annotated[
        str | None,
        typer.Option(
            "--today", metavar="PLAN", help="With stable: the plan whose trees are in use; default: PLAN."
        ),
    ] = None,
    columns: FileColumns,
    json: Json = False,
) -> None:
    """Choose a tree for each topic, inside the overlay, and store the trees in the plan.

    A tree contains exactly the topic's subscribers. The tree of a group of MQTT filters contains the brokers
    that hold one of them; among trees of the same depth, it is one with few relayed deliveries. Where a
    partial plan leaves subscribers apart, relays are added, as few as an approximate Steiner tree needs. With
    --rates, brokers that publish on a topic without subscribing to it are attached by one-way links. The exit
    code is 1 if a topic cannot be spanned.
    """
    from meshwright.actions.route import route as choose
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.progress import announce_phase

    read = columns.resolved()
    with ProgressBar() as bar:
        announce_phase(bar, f"routing {plan}")
        routing = choose(plan, source, objective=objective, rates=rates, today=today, columns=read)
    output.show(routing, *routing.lines, json=json)
    if not routing.passed:
        raise typer.Exit(ANSWER_IS_NO)
