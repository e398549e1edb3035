"""`meshwright export`: write a plan for brokers, or for other programs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import (
    AllowRelays,
    Insecure,
    InventoryFile,
    Json,
    MosquittoVersion,
    Profile,
    Secret,
    read_inventory_or_default,
    read_settings,
)

EXAMPLES = (
    "meshwright export plan --to mosquitto --inventory brokers.csv --out federation",
    "meshwright export plan --to mosquitto --inventory brokers.csv --fragment --out bridges",
    "meshwright export plan --to graphml --out graph",
)


def export(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder; mosquitto needs its trees.")],
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="KIND", help="mosquitto, graphml, json, dot or networkx.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write to.")],
    inventory: InventoryFile = None,
    profile: Profile = "plain",
    mosquitto: MosquittoVersion = "2.0",
    secret: Secret = None,
    insecure: Insecure = False,
    allow_relays: AllowRelays = False,
    fragment: Annotated[
        bool,
        typer.Option(
            "--fragment",
            help="For brokers that are already configured: one file with bridges only, for include_dir.",
        ),
    ] = False,
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
    from meshwright import deploy
    from meshwright.actions.outputs import check_target
    from meshwright.cli import output
    from meshwright.deploy.change import plan_change, require_one_action_each
    from meshwright.deploy.delta import explain_delta
    from meshwright.deploy.folder_store import (
        describe,
        federation_files,
        require_same_settings,
        update_files,
    )
    from meshwright.deploy.hosts.supervisor import require_stopped
    from meshwright.deploy.manifest import federation_lock
    from meshwright.deploy.settings import require_protected
    from meshwright.deploy.targets.mosquitto.fragments import check_existing
    from meshwright.formatting import counted

    if to != "mosquitto":
        _refuse_broker_options(
            to, inventory=inventory, profile=profile != "plain", mosquitto=mosquitto != "2.0", secret=secret,
            insecure=insecure, allow_relays=allow_relays, fragment=fragment,
        )  # fmt: skip
        file = deploy.export(plan, to, out)
        if json:
            output.answer_json({"plan": str(plan), "to": to, "file": str(file)})
        else:
            output.answer(f"written to {file}")
        return
    check_target(out, "federation")
    require_stopped(out)
    trees = deploy.read_named_trees(plan, allow_relays=allow_relays)
    settings = read_settings(profile, mosquitto, secret, fragment=fragment)
    explained: Sequence[str] = ()
    if out.exists() and any(out.iterdir()):
        given = None if inventory is None else deploy.read_inventory(inventory)
        with federation_lock(out):
            settings = require_same_settings(out, settings)
            change = plan_change(out, trees, settings, given)
            wiring, endpoints = change.delta.new, change.inventory
            for line in require_protected(endpoints, settings, insecure=insecure):
                output.note(line)
            require_one_action_each(change)
            files = federation_files(trees, wiring, endpoints, settings)
            update_files(files, describe(wiring, endpoints, settings), out, overwrite_edits=False)
        explained = explain_delta(change.delta)
    else:
        # Of two brokers, the less trusted one dials: who listens can put messages into the one that dials.
        places = read_inventory_or_default(inventory, trees.brokers).endpoints
        wiring = deploy.wire(trees, sorted(trees.brokers, key=lambda broker: -places[broker].trust))
        endpoints = read_inventory_or_default(inventory, wiring.order)
        for line in require_protected(endpoints, settings, insecure=insecure):
            output.note(line)
        deploy.write_federation(trees, wiring, endpoints, settings, out)
    checked = check_existing(wiring, endpoints, settings) if fragment else {}
    figures = {
        "brokers": len(wiring.order), "bridges": len(wiring.bridges), "topic_lines": wiring.topic_lines
    }  # fmt: skip
    if json:
        found = {"required": checked} if fragment else {}
        output.answer_json({"plan": str(plan), "to": to, **figures, **found, "out": str(out)})
        return
    output.answer(
        f"{counted(len(wiring.order), 'broker')}, {counted(len(wiring.bridges), 'bridge')}, "
        f"{counted(wiring.topic_lines, 'topic line')}",
        *(f"{broker}: {line}" for broker, lines in checked.items() for line in lines),
        *explained,
        f"written to {out}; "
        + (
            "required.md in each folder says what its broker must provide"
            if fragment
            else "plan.md there explains how to start and change the brokers"
        ),
    )


def _refuse_broker_options(to: str, **given: object) -> None:
    """Refuse options for brokers when the export is for another program."""
    from meshwright.errors import InputError

    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise InputError(
            f"{', '.join(named)} cannot be used with --to {to}: omit it, or export --to mosquitto"
        )
