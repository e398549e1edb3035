"""`meshwright diff`: what a new plan changes on which broker, and in which order."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.deploy.export import AllowRelays, Overlaps
from meshwright.cli.options import Json

if TYPE_CHECKING:
    from meshwright.deploy import Settings, Wiring

EXAMPLES = (
    "meshwright diff plan new-plan",
    "meshwright diff federation new-plan --mosquitto 2.1",
)


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A plan with trees, or a federation's folder.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="A plan with trees.")],
    *,
    mosquitto: Annotated[
        str | None,
        typer.Option(
            "--mosquitto", metavar="2.0|2.1", help="The oldest Mosquitto there is; else as OLD says, or 2.0."
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="plain|durable", help="How links queue; else as OLD says, or plain."
        ),
    ] = None,
    overlaps: Overlaps = "refuse",
    allow_relays: AllowRelays = False,
    json: Json = False,
) -> None:
    """Say what changes between two plans: on which broker, in which order, by restart or reload.

    For each topic, what is taken away goes before anything is added; who joins dials. Mosquitto 2.0 takes up
    changed bridges with a restart of the dialling end, 2.1 with a reload.
    """
    from meshwright import deploy
    from meshwright.cli import output
    from meshwright.deploy.config.delta import delta, explained
    from meshwright.deploy.federation.sessions import outlived, told_outlived
    from meshwright.store import read_trees

    before, known, secured = _before(old, overlaps, allow_relays)
    settings = deploy.Settings(profile or known.profile, mosquitto or known.version)
    routed = deploy.Routed.of(read_trees(new)).checked(overlaps=overlaps, relays=allow_relays)
    found = delta(
        before, deploy.rewire(routed, before), version=settings.version, secured=secured,
        durable=settings.durable,
    )  # fmt: skip
    if json:
        output.answer_json(
            {"old": str(old), "new": str(new), **found.described(), "outlived_sessions": outlived(found)}
        )
    else:
        output.answer(*explained(found), *told_outlived(found))


def _before(path: Path, overlaps: str, allow_relays: bool) -> "tuple[Wiring, Settings, bool]":
    """Return how a plan is wired, or how a federation's folder is, how it is set up, and if secured."""
    from meshwright import deploy
    from meshwright.files.header import FEDERATION, holds
    from meshwright.store import read_trees

    if holds(path, FEDERATION):
        found = deploy.read_federation(path)
        return found.wiring, found.settings, found.secured
    routed = deploy.Routed.of(read_trees(path)).checked(overlaps=overlaps, relays=allow_relays)
    return deploy.wire(routed), deploy.Settings(), False
