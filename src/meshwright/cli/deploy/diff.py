"""`meshwright diff`: show what a new plan changes on which broker, and in which order."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.deploy.options import AllowRelays, Overlaps
from meshwright.cli.options import Json

if TYPE_CHECKING:
    from meshwright.deploy import BrokerSettings, Wiring

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
            "--mosquitto",
            metavar="2.0|2.1",
            help="The oldest Mosquitto in use; by default that of OLD if it is a federation, else 2.0.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="plain|durable",
            help="The profile of bridges; by default that of OLD if it is a federation, else plain.",
        ),
    ] = None,
    overlaps: Overlaps = "refuse",
    allow_relays: AllowRelays = False,
    json: Json = False,
) -> None:
    """Show what changes between two plans: on which broker, in which order, by restart or reload.

    For each topic, removals happen before additions. A broker that joins dials its neighbours. Mosquitto 2.0
    loads changed bridges when the dialling broker restarts, 2.1 when it reloads.
    """
    from meshwright import deploy
    from meshwright.cli import output
    from meshwright.deploy.config.delta import compute_delta, explain_delta
    from meshwright.deploy.federation.sessions import explain_orphaned_sessions, orphaned_sessions

    before, known, secured = _read_old(old, overlaps, allow_relays)
    settings = deploy.BrokerSettings(profile or known.profile, mosquitto or known.version)
    trees = deploy.read_named_trees(new, overlaps=overlaps, allow_relays=allow_relays)
    delta = compute_delta(
        before, deploy.rewire(trees, before), version=settings.version, secured=secured,
        durable=settings.durable,
    )  # fmt: skip
    if json:
        sessions = orphaned_sessions(delta)
        output.answer_json(
            {"old": str(old), "new": str(new), **delta.to_dict(), "outlived_sessions": sessions}
        )
    else:
        output.answer(*explain_delta(delta), *explain_orphaned_sessions(delta))


def _read_old(path: Path, overlaps: str, allow_relays: bool) -> "tuple[Wiring, BrokerSettings, bool]":
    """Return the wiring and settings of a plan or a federation's folder, and whether it has passwords."""
    from meshwright import deploy
    from meshwright.files.header import FEDERATION, holds

    if holds(path, FEDERATION):
        deployed = deploy.read_federation(path)
        return deployed.wiring, deployed.settings, deployed.secured
    trees = deploy.read_named_trees(path, overlaps=overlaps, allow_relays=allow_relays)
    return deploy.wire(trees), deploy.BrokerSettings(), False
