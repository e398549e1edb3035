"""`meshwright export`: write a plan for brokers, or for other programs."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from meshwright.actions.export import BrokerChoice
from meshwright.cli.commands import Words
from meshwright.cli.options import BROKER_WORDS, Json

EXAMPLES = (
    "meshwright export plan --to mosquitto --inventory brokers.csv --out federation",
    "meshwright export plan --to mosquitto --inventory brokers.csv --fragment --out bridges",
    "meshwright export plan --to graphml --out graph",
)


Choice: TypeAlias = Annotated[
    BrokerChoice,
    Words(
        **BROKER_WORDS,
        profile=("plain|durable", "durable: messages queue while a link or broker is down."),
        version=(
            "2.0|2.1",
            "The oldest Mosquitto that reads the files; 2.0 by default.",
            {"flag": "--mosquitto", "show_default": False},
        ),
        fragment="For brokers that are already configured: one file with bridges only, for include_dir.",
    ),
]


def export(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder; mosquitto needs its trees.")],
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="KIND", help="mosquitto, graphml, json, dot or networkx.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write to.")],
    choice: Choice,
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
    from meshwright.actions.export import export as write
    from meshwright.cli import output

    made = write(plan, to, out, choice)
    output.show(made, *made.lines, json=json)
