"""`meshwright lint`: find what storms, duplicates or does not work in existing configurations."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import InventoryFile, Json

EXAMPLES = (
    "meshwright lint /etc/mosquitto/mosquitto.conf",
    "meshwright lint berlin.conf oslo.conf malmo/ --json",
    "meshwright lint federation --dataset today",
)


def lint(
    configurations: Annotated[
        list[Path],
        typer.Argument(metavar="CONF…", help="Configurations of Mosquitto, or folders with some."),
    ],
    *,
    inventory: InventoryFile = None,
    dataset: Annotated[
        Path | None,
        typer.Option(
            "--dataset", metavar="DIR", help="Write what the bridges carry as a dataset, to plan from it."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Read existing Mosquitto configurations and report loops, duplicates, dead bridges and open listeners.

    Bridges are followed by address and port to the other configurations; a folder that meshwright exported
    knows the addresses of its brokers. Every finding names file, line and a way to mend it. The exit code is
    1 if messages can circle or arrive twice.
    """
    from meshwright.actions.lint import lint as inspect
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO

    result = inspect(configurations, inventory=inventory, dataset=dataset)
    output.show(result, *result.lines, json=json)
    if not result.passed:
        raise typer.Exit(ANSWER_IS_NO)
