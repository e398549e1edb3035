"""`meshwright diff`: what a new plan changes on which broker, and in which order."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.export import AllowRelays, MosquittoVersion, Overlaps
from meshwright.cli.options import Json

if TYPE_CHECKING:
    from meshwright.deploy import Wiring

EXAMPLES = (
    "meshwright diff plan new-plan",
    "meshwright diff federation new-plan --mosquitto 2.1",
)


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A plan with trees, or a federation's folder.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="A plan with trees.")],
    *,
    mosquitto: MosquittoVersion = "2.0",
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
    from meshwright.deploy.delta import delta, explained
    from meshwright.store import read_trees

    deploy.Settings(version=mosquitto)
    before = wiring_of(old, overlaps, allow_relays)
    routed = deploy.Routed.of(read_trees(new)).checked(overlaps=overlaps, relays=allow_relays)
    found = delta(before, deploy.wire(routed, before.order), version=mosquitto)
    if json:
        output.answer_json({"old": str(old), "new": str(new), **found.described()})
    else:
        output.answer(*explained(found))


def wiring_of(path: Path, overlaps: str, allow_relays: bool) -> "Wiring":
    """Return how a plan is wired, or how a federation's folder says that it is."""
    from meshwright import deploy
    from meshwright.store import read_trees
    from meshwright.store.header import FEDERATION, holds

    if holds(path, FEDERATION):
        return deploy.read_federation(path).wiring
    return deploy.wire(deploy.Routed.of(read_trees(path)).checked(overlaps=overlaps, relays=allow_relays))
