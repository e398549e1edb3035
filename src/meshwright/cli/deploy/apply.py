"""`meshwright apply`: bring a federation's folders to a new plan."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.deploy.export import AllowRelays, InventoryFile, Overlaps, Secret
from meshwright.cli.options import Json

EXAMPLES = (
    "meshwright apply new-plan federation --inventory brokers.csv --dry-run",
    "meshwright apply new-plan federation --inventory brokers.csv",
)


def apply(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan to go to, with trees.")],
    federation: Annotated[
        Path, typer.Argument(metavar="FEDERATION", help="The folder that export wrote, or federation --keep.")
    ],
    *,
    inventory: InventoryFile = None,
    secret: Secret = None,
    overlaps: Overlaps = "refuse",
    allow_relays: AllowRelays = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Explain what would be done, and do nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Explain what a new plan changes, then change a federation's folders, and its brokers if they run here.

    Brokers that `meshwright federation --keep` runs from this folder are started, restarted and stopped too,
    in the order that is explained. Elsewhere the folders are brought up to date, and the steps are yours.
    Applying twice changes nothing.
    """
    from meshwright import deploy
    from meshwright.cli import output
    from meshwright.cli.deploy.export import settings_of
    from meshwright.deploy.config.access import fingerprint
    from meshwright.deploy.config.delta import delta, explained
    from meshwright.deploy.config.inventory import extended
    from meshwright.deploy.federation.sessions import outlived, told_outlived
    from meshwright.deploy.federation.supervisor import ask, is_kept
    from meshwright.deploy.federation.update import update_folders
    from meshwright.errors import InputError
    from meshwright.store import read_trees

    deployed = deploy.read_federation(federation)
    if deployed.secured != (secret is not None):
        need = "give --secret, as when it was written" if deployed.secured else "leave --secret out"
        raise InputError(f"{federation} has {'' if deployed.secured else 'no '}passwords: {need}")
    settings = settings_of(deployed.settings.profile, deployed.settings.version, secret)
    routed = deploy.Routed.of(read_trees(plan)).checked(overlaps=overlaps, relays=allow_relays)
    wiring = deploy.rewire(routed, deployed.wiring)
    kept, renewed = is_kept(federation), deployed.fingerprint != fingerprint(settings.secret)
    if kept and renewed:
        raise InputError(f"{federation} runs with another secret: end it, and start it anew with this one")
    if inventory is not None:
        places = deploy.read_inventory(inventory).of(wiring.order)
    else:
        places = extended(deployed.inventory, wiring.order)
    found = delta(
        deployed.wiring, wiring, version=settings.version, secured=deployed.secured,
        restless=deployed.restless(places, settings), durable=settings.durable,
    )  # fmt: skip
    changed: list[str] = []
    if not dry_run and kept:
        changed = ask(federation, plan, places, overlaps=overlaps, relays=allow_relays)
    elif not dry_run:
        changed = update_folders(routed, wiring, places, settings, federation)
    told = {
        "federation": str(federation), "dry_run": dry_run, "running": kept, "new_secret": renewed,
        **found.described(), "outlived_sessions": {} if kept else outlived(found),
    }  # fmt: skip
    if json:
        output.answer_json({**told, "files_changed": changed})
        return
    lines = ["another secret: every broker starts anew, with new passwords"] if renewed else []
    lines += [*explained(found), *([] if kept else told_outlived(found))]
    if dry_run:
        lines.append("dry run: nothing was done")
    else:
        done = "done to the running brokers; " if kept and found.steps else ""
        lines.append(f"{done}{len(changed):,} files changed in {federation}")
    output.answer(*lines)
