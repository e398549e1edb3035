"""`meshwright diff` and `meshwright apply`: show what a new plan changes, and change a federation to it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import AllowRelays, InventoryFile, Json, Secret, read_settings

if TYPE_CHECKING:
    from meshwright.deploy import BrokerSettings, Wiring

DIFF_EXAMPLES = (
    "meshwright diff plan new-plan",
    "meshwright diff federation new-plan --mosquitto 2.1",
)

APPLY_EXAMPLES = (
    "meshwright apply new-plan federation --inventory brokers.csv --dry-run",
    "meshwright apply new-plan federation --inventory brokers.csv",
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
    allow_relays: AllowRelays = False,
    json: Json = False,
) -> None:
    """Show what changes between two plans: on which broker, in which order, by restart or reload.

    For each topic, removals happen before additions. A broker that joins dials its neighbours. Mosquitto 2.0
    loads changed bridges when the dialling broker restarts, 2.1 when it reloads.
    """
    from meshwright import deploy
    from meshwright.cli import output
    from meshwright.deploy.config.delta import (
        compute_delta,
        explain_delta,
        explain_orphaned_sessions,
        orphaned_sessions,
    )

    before, known, secured = _read_old(old, allow_relays)
    settings = deploy.BrokerSettings(profile or known.profile, mosquitto or known.version)
    trees = deploy.read_named_trees(new, allow_relays=allow_relays)
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


def _read_old(path: Path, allow_relays: bool) -> "tuple[Wiring, BrokerSettings, bool]":
    """Return the wiring and settings of a plan or a federation's folder, and whether it has passwords."""
    from meshwright import deploy
    from meshwright.files.header import FEDERATION, holds

    if holds(path, FEDERATION):
        deployed = deploy.read_federation(path)
        return deployed.wiring, deployed.settings, deployed.secured
    trees = deploy.read_named_trees(path, allow_relays=allow_relays)
    return deploy.wire(trees), deploy.BrokerSettings(), False


def apply(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The new plan, with trees.")],
    federation: Annotated[
        Path,
        typer.Argument(metavar="FEDERATION", help="The folder that export, or federation --keep, wrote."),
    ],
    *,
    inventory: InventoryFile = None,
    secret: Secret = None,
    allow_relays: AllowRelays = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Explain the changes, and change nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Explain what a new plan changes, then update a federation's folders, and its brokers if they run here.

    If `meshwright federation --keep` runs brokers from this folder, they are started, restarted and stopped
    in the order explained. Otherwise only the folders change, and you perform the steps. Applying a plan a
    second time changes nothing.
    """
    from meshwright import deploy
    from meshwright.cli import output
    from meshwright.deploy.config.delta import (
        compute_delta,
        explain_delta,
        explain_orphaned_sessions,
        orphaned_sessions,
    )
    from meshwright.deploy.config.inventory import extend_inventory
    from meshwright.deploy.config.settings import fingerprint
    from meshwright.deploy.federation.supervisor import is_supervised, request_update
    from meshwright.deploy.federation.update import update_folders
    from meshwright.errors import InputError

    deployed = deploy.read_federation(federation)
    if deployed.secured != (secret is not None):
        fix = "give the --secret that it was written with" if deployed.secured else "omit --secret"
        raise InputError(f"{federation} has {'' if deployed.secured else 'no '}passwords: {fix}")
    known = deployed.settings
    settings = read_settings(known.profile, known.version, secret, fragment=known.fragment)
    trees = deploy.read_named_trees(plan, allow_relays=allow_relays)
    wiring = deploy.rewire(trees, deployed.wiring)
    running, new_secret = is_supervised(federation), deployed.fingerprint != fingerprint(settings.secret)
    if running and new_secret:
        raise InputError(f"{federation} runs with another secret: stop it, and start it again with this one")
    if inventory is not None:
        endpoints = deploy.read_inventory(inventory).for_brokers(wiring.order)
    else:
        endpoints = extend_inventory(deployed.inventory, wiring.order)
    delta = compute_delta(
        deployed.wiring, wiring, version=settings.version, secured=deployed.secured,
        must_restart=deployed.must_restart(endpoints, settings), durable=settings.durable,
    )  # fmt: skip
    changed: list[str] = []
    if not dry_run and running:
        changed = request_update(federation, plan, endpoints, allow_relays=allow_relays)
    elif not dry_run:
        changed = update_folders(trees, wiring, endpoints, settings, federation)
    if json:
        output.answer_json({
            "federation": str(federation), "dry_run": dry_run, "running": running, "new_secret": new_secret,
            **delta.to_dict(), "outlived_sessions": {} if running else orphaned_sessions(delta),
            "files_changed": changed,
        })  # fmt: skip
        return
    lines = ["another secret: every broker restarts, with new passwords"] if new_secret else []
    lines += [*explain_delta(delta), *([] if running else explain_orphaned_sessions(delta))]
    if dry_run:
        lines.append("dry run: nothing was changed")
    else:
        applied = "applied to the running brokers; " if running and delta.steps else ""
        lines.append(f"{applied}{len(changed):,} files changed in {federation}")
    output.answer(*lines)
