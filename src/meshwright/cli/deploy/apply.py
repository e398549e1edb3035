"""`meshwright diff` and `meshwright apply`: show what a new plan changes, and change a federation to it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import AllowRelays, Insecure, InventoryFile, Json, Secret, read_settings

DIFF_EXAMPLES = (
    "meshwright diff plan new-plan",
    "meshwright diff federation new-plan --mosquitto 2.1",
    "meshwright diff federation plan --drift",
)

APPLY_EXAMPLES = (
    "meshwright apply new-plan federation --inventory brokers.csv --dry-run",
    "meshwright apply new-plan federation --inventory brokers.csv",
    "meshwright apply new-plan federation --wave next",
)

SHOWN_DRIFT = 5
"""Differences that are shown without --drift."""


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A plan with trees, or a federation's folder.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A plan with trees.")],
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
    secret: Secret = None,
    drift: Annotated[
        bool,
        typer.Option(
            "--drift",
            help="List what was changed by hand in OLD, a federation's folder; exit code 1 if anything was.",
        ),
    ] = False,
    allow_relays: AllowRelays = False,
    json: Json = False,
) -> None:
    """Show what changes between two plans: on which broker, in which order, by restart or reload.

    For each topic, removals happen before additions. A broker that joins dials its neighbours. Mosquitto 2.0
    loads changed bridges when the dialling broker restarts, 2.1 when it reloads. The files of a federation
    are compared with what was written; the repair of what was changed by hand comes first.
    """
    from meshwright.actions.diff import diff as compare
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO

    found = compare(
        old, new, profile=profile, version=mosquitto, secret=secret, allow_relays=allow_relays, drift=drift
    )
    if json:
        output.answer_json(found.to_dict())
    else:
        shown = found.drift if drift else found.drift[:SHOWN_DRIFT]
        left = len(found.drift) - len(shown)
        more = [f"… and {left} more: see --drift"] if left else []
        output.answer(*(f"drift: {each}" for each in shown), *more, *found.explain())
    if drift and found.drift:
        raise typer.Exit(ANSWER_IS_NO)


def apply(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The new plan, with trees.")],
    federation: Annotated[
        Path,
        typer.Argument(metavar="FEDERATION", help="The folder that export, or federation --keep, wrote."),
    ],
    *,
    inventory: InventoryFile = None,
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="plain|durable", help="Change the profile; every broker restarts."),
    ] = None,
    mosquitto: Annotated[
        str | None,
        typer.Option("--mosquitto", metavar="2.0|2.1", help="Change the version; every broker restarts."),
    ] = None,
    secret: Secret = None,
    insecure: Insecure = False,
    wave: Annotated[
        str | None,
        typer.Option(
            "--wave",
            metavar="N|next",
            help="Write only the files of this wave, and say what to restart or reload; go on with next.",
        ),
    ] = None,
    staged: Annotated[
        Path | None,
        typer.Option(
            "--staged",
            metavar="DIR",
            help="Write the files of every wave to this folder; change nothing else.",
        ),
    ] = None,
    allow_relays: AllowRelays = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Explain the changes, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Change running brokers without asking.")] = False,
    json: Json = False,
) -> None:
    """Explain what a new plan changes, then update a federation's folders, and its brokers if they run here.

    If `meshwright federation --keep` runs brokers from this folder, they are started, restarted and stopped
    in the order explained, after you agree or with --yes. Otherwise only the folders change, and you perform
    the steps. With --wave, the files of one wave are written at a time, and the folder remembers how far you
    are. Applying a plan a second time changes nothing.
    """
    from meshwright import deploy
    from meshwright.cli import output
    from meshwright.deploy.change import plan_change, write_everything, write_stages, write_wave
    from meshwright.deploy.delta import explain_delta, explain_orphaned_sessions, orphaned_sessions
    from meshwright.deploy.hosts.supervisor import is_supervised, request_update
    from meshwright.deploy.manifest import federation_lock
    from meshwright.deploy.settings import require_protected
    from meshwright.errors import InputError
    from meshwright.formatting import counted

    if sum((wave is not None, staged is not None, dry_run)) > 1:
        raise InputError("--wave, --staged and --dry-run exclude each other: give one")
    deployed = deploy.read_federation(federation)
    if deployed.secured and secret is None:
        raise InputError(
            f"{federation} has passwords: give the --secret that it was written with, or a new one"
        )
    known = deployed.settings
    settings = read_settings(
        profile or known.profile, mosquitto or known.version, secret, fragment=known.fragment
    )
    settings = replace(settings, identity=deployed.settings.identity)
    trees = deploy.read_named_trees(plan, allow_relays=allow_relays)
    endpoints = None if inventory is None else deploy.read_inventory(inventory)
    with federation_lock(federation):
        running = is_supervised(federation)
        if running and wave is not None:
            raise InputError(f"the brokers of {federation} run here and change wave by wave: omit --wave")
        change = plan_change(federation, trees, settings, endpoints)
        for line in require_protected(change.inventory, settings, insecure=insecure):
            output.note(line)
        delta, rollout = change.delta, change.rollout
        changed: list[str] = []
        number = 0
        if staged is not None:
            write_stages(change, staged)
        elif wave is not None:
            number, changed = write_wave(change, wave)
        elif not dry_run and running:
            if delta.steps and not yes:
                _ask_first(federation, explain_delta(delta), json=json)
            chosen = {"profile": profile, "mosquitto": mosquitto, "secret": secret and str(secret.absolute())}
            changed = request_update(
                federation, plan, change.inventory, allow_relays=allow_relays,
                chosen={name: value for name, value in chosen.items() if value},
            )  # fmt: skip
        elif not dry_run:
            changed = write_everything(change)
    if json:
        output.answer_json({
            "federation": str(federation), "dry_run": dry_run, "running": running,
            "new_secret": change.new_secret, **delta.to_dict(),
            "outlived_sessions": {} if running else orphaned_sessions(delta),
            "drift": [str(each) for each in change.drift], "wave": number or None,
            "waves_done": number or rollout.done, "staged": staged and str(staged), "files_changed": changed,
        })  # fmt: skip
        return
    lines = [f"drift: {each}" for each in change.drift[:SHOWN_DRIFT]]
    if len(change.drift) > SHOWN_DRIFT:
        lines.append(f"… and {len(change.drift) - SHOWN_DRIFT} more: see meshwright diff --drift")
    lines += ["another secret: every broker restarts, with new passwords"] if change.new_secret else []
    if wave is not None:
        steps = [f"  {step}" for step in rollout.waves[number - 1]] if number else []
        left = len(rollout.waves) - number
        lines += [f"wave {number} of {len(rollout.waves)}:", *steps] if steps else ["nothing changes"]
        lines.append(
            f"{counted(len(changed), 'file')} changed in {federation}; "
            + (
                f"perform these steps, then write the {'last wave' if left == 1 else f'next of {left} waves'}"
                if left
                else "this was the last wave"
            )
        )
        lines += [] if left else explain_orphaned_sessions(delta, settings.identity_key)
    else:
        lines += [
            *explain_delta(delta, rollout.done),
            *([] if running else explain_orphaned_sessions(delta, settings.identity_key)),
        ]
        if dry_run and rollout.done:
            written = f"{rollout.done} of {counted(len(rollout.waves), 'wave')}"
            are = "is" if rollout.done == len(rollout.waves) == 1 else "are"
            lines.append(f"{written} {are} written: go on with --wave next")
        if dry_run:
            lines.append("dry run: nothing was changed")
        elif staged is not None:
            lines.append(f"the files of each wave are in {staged}; {federation} was not changed")
        else:
            applied = "applied to the running brokers; " if running and delta.steps else ""
            lines.append(f"{applied}{counted(len(changed), 'file')} changed in {federation}")
    output.answer(*lines)


def _ask_first(federation: Path, changes: Sequence[str], *, json: bool) -> None:
    """Show the changes of running brokers and ask; without a terminal, require --yes."""
    import sys

    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.errors import InputError

    if json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"the brokers of {federation} are running and would change: add --yes, or see --dry-run first"
        )
    for line in changes:
        output.note(line)
    if not typer.confirm(f"Change the running brokers of {federation}?", err=True):
        output.note("nothing was changed")
        raise typer.Exit(ANSWER_IS_NO)
