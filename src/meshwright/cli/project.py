"""`meshwright init` and `meshwright status`: begin a project, and see what to do next."""

from __future__ import annotations

from typing import Annotated

import typer

from meshwright.cli.options import Json

INIT_EXAMPLES = ("meshwright init", "meshwright init subscriptions.csv --inventory brokers.csv --force")
STATUS_EXAMPLES = ("meshwright status", "meshwright status --json")


def init(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="What is planned: a file with columns, or a dataset."),
    ] = "subscriptions.csv",
    *,
    inventory: Annotated[
        str | None,
        typer.Option("--inventory", metavar="FILE", help="The addresses of brokers: CSV, JSON or YAML."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the project file that is already there.")
    ] = False,
    json: Json = False,
) -> None:
    """Write meshwright.toml, a project file with comments, into the current folder.

    In this folder and below it, plan, route, verify, report, export, diff and apply then need no arguments.
    Options override the file. It is ignored where a dataset, file or plan is named.
    """
    from meshwright.actions.init import init as begin
    from meshwright.cli import output

    begun = begin(source, inventory=inventory, force=force)
    output.show(begun, *begun.lines, json=json)


def status(*, json: Json = False) -> None:
    """Say which parts of the project are out of date, and which command comes next.

    The parts are data, plan, trees and the files of brokers. Nothing is written.
    """
    from meshwright.actions.status import status as look
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.progress import announce_phase

    with ProgressBar() as bar:
        announce_phase(bar, "comparing the parts of the project")
        found = look()
    output.show(found, *found.lines, json=json)
