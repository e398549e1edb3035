"""`meshwright init` and `meshwright status`: begin a project, and see what to do next."""

from __future__ import annotations

from typing import Annotated

import typer

from meshwright.cli.output import Answer, ProgressBar
from meshwright.progress import announce_phase

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
) -> Answer:
    """Write meshwright.toml, a project file with comments, into the current folder.

    In this folder and below it, plan, route, verify, report, export, diff and apply then need no arguments.
    Options override the file. It is ignored where a dataset, file or plan is named.
    """
    from meshwright.actions.init import init as begin

    begun = begin(source, inventory=inventory, force=force)
    return Answer(begun)


def status() -> Answer:
    """Say which parts of the project are out of date, and which command comes next.

    The parts are data, plan, trees and the files of brokers. Nothing is written.
    """
    from meshwright.actions.status import status as look

    with ProgressBar() as bar:
        announce_phase(bar, "comparing the parts of the project")
        found = look()
    return Answer(found)
