"""`meshwright export`: write a plan for brokers, or for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import (
    AllowRelays,
    Insecure,
    InventoryFile,
    Json,
    MosquittoVersion,
    Profile,
    Secret,
)

EXAMPLES = (
    "meshwright export plan --to mosquitto --inventory brokers.csv --out federation",
    "meshwright export plan --to mosquitto --inventory brokers.csv --fragment --out bridges",
    "meshwright export plan --to graphml --out graph",
)


def export(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder; mosquitto needs its trees.")],
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="KIND", help="mosquitto, graphml, json, dot or networkx.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write to.")],
    inventory: InventoryFile = None,
    profile: Profile = "plain",
    mosquitto: MosquittoVersion = "2.0",
    secret: Secret = None,
    insecure: Insecure = False,
    allow_relays: AllowRelays = False,
    fragment: Annotated[
        bool,
        typer.Option(
            "--fragment",
            help="For brokers that are already configured: one file with bridges only, for include_dir.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Write a plan as the configuration of Mosquitto brokers, one folder for each, or for other programs.

    Every link becomes one bridge, which one of its ends dials. In each direction it carries exactly the
    topics and filters that are wanted behind it. Mosquitto needs the trees that `meshwright route` adds to
    the plan.

    In the folder of an existing federation, only our own files change, brokers keep their addresses, and the
    output says which brokers to restart, in which order. A change that needs other files in between is
    refused: `meshwright apply` makes it in waves.
    """
    from meshwright.actions.export import BrokerChoice
    from meshwright.actions.export import export as write
    from meshwright.cli import output

    choice = BrokerChoice(inventory, profile, mosquitto, secret, insecure, allow_relays, fragment)
    made = write(plan, to, out, choice)
    for line in made.notes:
        output.note(line)
    if json:
        output.answer_json(made.to_dict())
    else:
        output.answer(*made.lines)
