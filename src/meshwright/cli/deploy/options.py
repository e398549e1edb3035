"""Options that the commands for brokers share, and what they read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from meshwright.deploy import BrokerSettings, Inventory

InventoryFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--inventory",
        metavar="FILE",
        help="CSV or YAML with broker, host, port, tls; by default all brokers are on this machine.",
    ),
]

Profile: TypeAlias = Annotated[
    str,
    typer.Option(
        "--profile", metavar="plain|durable", help="durable: messages queue while a link or broker is down."
    ),
]

MosquittoVersion: TypeAlias = Annotated[
    str,
    typer.Option("--mosquitto", metavar="2.0|2.1", help="The oldest Mosquitto that reads the files."),
]

Secret: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--secret", metavar="FILE", help="Add passwords and access lists, derived from this file's content."
    ),
]

Overlaps: TypeAlias = Annotated[
    str,
    typer.Option(
        "--overlaps",
        metavar="refuse|merge",
        help="Overlapping topic filters: refuse them, or share one tree.",
    ),
]

AllowRelays: TypeAlias = Annotated[
    bool, typer.Option("--allow-relays", help="Let brokers carry topics that they do not subscribe to.")
]


def read_inventory_or_default(file: Path | None, brokers: tuple[str, ...]) -> "Inventory":
    """Return the endpoints of the brokers: from the inventory, or on this machine without one."""
    from meshwright.deploy import Inventory, read_inventory

    if file is None:
        return Inventory.on_loopback(brokers)
    return read_inventory(file).for_brokers(brokers)


def read_settings(profile: str, version: str, secret: Path | None) -> "BrokerSettings":
    """Return the settings of the brokers, with the secret from its file."""
    from meshwright.deploy import BrokerSettings
    from meshwright.errors import InputError

    if secret is not None and not secret.is_file():
        raise InputError(f"no secret {secret}: make one with openssl rand -hex 32 > {secret}")
    return BrokerSettings(profile, version, None if secret is None else secret.read_bytes().strip())
