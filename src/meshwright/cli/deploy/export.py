"""`meshwright export`: a plan for brokers, or for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from meshwright.cli.options import Json

if TYPE_CHECKING:
    from meshwright.deploy import Inventory, Settings

EXAMPLES = (
    "meshwright export plan --to mosquitto --inventory brokers.csv --out federation",
    "meshwright export plan --to graphml --out graph",
)

InventoryFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--inventory",
        metavar="FILE",
        help="CSV or YAML with broker, host, port, tls; without, all brokers on this machine.",
    ),
]

Profile: TypeAlias = Annotated[
    str,
    typer.Option(
        "--profile", metavar="plain|durable", help="durable: messages wait while a link or broker is away."
    ),
]

MosquittoVersion: TypeAlias = Annotated[
    str,
    typer.Option("--mosquitto", metavar="2.0|2.1", help="The oldest Mosquitto that will read it."),
]

Secret: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--secret", metavar="FILE", help="Passwords and access lists, derived from what this file holds."
    ),
]

Overlaps: TypeAlias = Annotated[
    str,
    typer.Option("--overlaps", metavar="refuse|merge", help="Topic filters that overlap: one tree, or no."),
]

AllowRelays: TypeAlias = Annotated[
    bool, typer.Option("--allow-relays", help="Let brokers carry what they did not ask for.")
]


def export(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's folder, with trees for mosquitto.")],
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="KIND", help="mosquitto, graphml, json, dot or networkx.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write to.")],
    inventory: InventoryFile = None,
    profile: Profile = "plain",
    mosquitto: MosquittoVersion = "2.0",
    secret: Secret = None,
    overlaps: Overlaps = "refuse",
    allow_relays: AllowRelays = False,
    json: Json = False,
) -> None:
    """Write a plan as configuration of Mosquitto brokers, a folder for each, or for other programs.

    Every link becomes one bridge, dialled by one end; it carries the topics whose trees use it, and no other.
    Needs the trees that `meshwright route` puts into the plan.
    """
    from meshwright import deploy
    from meshwright.cli import output
    from meshwright.cli.output import check_target
    from meshwright.deploy.federation.supervisor import check_free
    from meshwright.store import read_trees

    if to != "mosquitto":
        _refuse(
            to, inventory=inventory, profile=profile != "plain", mosquitto=mosquitto != "2.0", secret=secret,
            overlaps=overlaps != "refuse", allow_relays=allow_relays,
        )  # fmt: skip
        written = deploy.export(plan, to, out)
        if json:
            output.answer_json({"plan": str(plan), "to": to, "file": str(written)})
        else:
            output.answer(f"written to {written}")
        return
    check_target(out, "federation")
    check_free(out)
    routed = deploy.Routed.of(read_trees(plan)).checked(overlaps=overlaps, relays=allow_relays)
    wiring = deploy.wire(routed)
    places = places_of(inventory, wiring.order)
    deploy.write_federation(routed, wiring, places, settings_of(profile, mosquitto, secret), out)
    merged = [list(way.merged) for way in routed.ways.values() if way.merged]
    figures = {"brokers": len(wiring.order), "bridges": len(wiring.bridges), "topic_lines": wiring.lines}
    if json:
        output.answer_json({"plan": str(plan), "to": to, **figures, "merged": merged, "out": str(out)})
        return
    output.answer(
        f"{len(wiring.order):,} brokers, {len(wiring.bridges):,} bridges, {wiring.lines:,} topic lines",
        *(f"merged, so that brokers of one carry all: {', '.join(group)}" for group in merged),
        f"written to {out}; plan.md in it explains how to start and change it",
    )


def _refuse(to: str, **given: object) -> None:
    """Refuse options that are about brokers, where there will be none."""
    from meshwright.errors import InputError

    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise InputError(f"{', '.join(named)} not with --to {to}: leave out, or export --to mosquitto")


def places_of(inventory: Path | None, brokers: tuple[str, ...]) -> "Inventory":
    """Return where the brokers are: as the inventory says, or on this machine."""
    from meshwright.deploy import Inventory, read_inventory

    if inventory is None:
        return Inventory.loopback(brokers)
    return read_inventory(inventory).of(brokers)


def settings_of(profile: str, mosquitto: str, secret: Path | None) -> "Settings":
    """Return how the brokers are set up; the secret is read from its file."""
    from meshwright.deploy import Settings
    from meshwright.errors import InputError

    if secret is not None and not secret.is_file():
        raise InputError(f"no secret {secret}: make one with openssl rand -hex 32 > {secret}")
    return Settings(profile, mosquitto, None if secret is None else secret.read_bytes().strip())
