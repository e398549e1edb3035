"""A federation as a folder: one folder for each broker, and what an operator needs around them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.brokers.program import CONFIGURATION, USER
from meshwright.deploy.config.access import fingerprint
from meshwright.deploy.config.handbook import handbook
from meshwright.deploy.config.inventory import Inventory, Place, Settings, moved
from meshwright.deploy.config.mosquitto import broker_files, unit
from meshwright.deploy.config.wiring import Wiring, check_folders, folder_of
from meshwright.files.folders import new_folder
from meshwright.files.header import FEDERATION, damaged, read_header, write_header

if TYPE_CHECKING:
    from meshwright.deploy.config.routed import Routed

IMAGE = "eclipse-mosquitto"
SECRET_FILES = ("passwords", "client.password", CONFIGURATION)
"""Files that may hold passwords: for their owner only, where there are any."""


@dataclass(frozen=True)
class Deployed:
    """A federation as its folder describes it."""

    wiring: Wiring
    inventory: Inventory
    settings: Settings
    """Without the secret, which is in no file."""
    fingerprint: str | None = None
    """Of the secret that its passwords are derived from, if it has any."""

    @property
    def secured(self) -> bool:
        """Whether there are passwords and access lists."""
        return self.fingerprint is not None

    def restless(self, inventory: Inventory, settings: Settings) -> set[str]:
        """Return the brokers that must start anew even if their bridges stay: those at another address.

        With another secret these are all: whoever dials must know the new password, and be known by it.
        """
        if self.fingerprint != fingerprint(settings.secret):
            return self.inventory.places.keys() & inventory.places.keys()
        return moved(self.inventory, inventory)


def write_federation(
    routed: Routed, wiring: Wiring, inventory: Inventory, settings: Settings, path: str | Path
) -> Path:
    """Write the folders of all brokers, whole or not at all; the same input gives the same bytes."""
    check_folders(wiring.order)
    places = inventory.of(wiring.order)
    with new_folder(path, FEDERATION) as folder:
        for name, text in federation_files(routed, wiring, places, settings).items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            write_file(file, text, private=settings.secret is not None and file.name in SECRET_FILES)
        write_described(folder, wiring, places, settings)
    return Path(path)


def write_file(file: Path, text: str, *, private: bool) -> None:
    """Write a new file; a private one can be read by its owner only, from its first moment on."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)


def federation_files(
    routed: Routed, wiring: Wiring, inventory: Inventory, settings: Settings
) -> dict[str, str]:
    """Return all files of a federation's folder, but for what describes it, by their names in it."""
    files = {
        f"{folder_of(broker)}/{name}": text
        for broker in wiring.order
        for name, text in (
            *broker_files(wiring, inventory, settings, broker).items(),
            ("mosquitto.service", unit(broker)),
        )
    }
    return {
        **files,
        "start-order.txt": "".join(f"{folder_of(broker)}\n" for broker in wiring.order),
        "docker-compose.yml": _compose(wiring, settings),
        "plan.md": handbook(routed, wiring, inventory, settings),
    }


def write_described(folder: Path, wiring: Wiring, inventory: Inventory, settings: Settings) -> bool:
    """Write what describes a federation, whole, if it is not so already; say whether it was written."""
    file = folder / FEDERATION.file
    before = file.read_bytes() if file.is_file() else b""
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder) as beside:
        write_header(Path(beside), FEDERATION, _described(wiring, inventory, settings))
        made = Path(beside) / FEDERATION.file
        return made.read_bytes() != before and bool(made.replace(file))


def read_federation(path: str | Path) -> Deployed:
    """Read what a federation's folder says of itself.

    Raises
    ------
    InputError
        If nothing is there.
    FormatError
        If it is something else, of a newer schema, or damaged.
    """
    folder = Path(path)
    content = read_header(folder, FEDERATION)
    try:
        places = {
            record["broker"]: Place(record["host"], record["port"], record["tls"])
            for record in content["brokers"]
        }
        bridges = {
            (bridge["dialler"], bridge["listener"]): dict(bridge["topics"]) for bridge in content["bridges"]
        }
        taken_off = {
            (bridge["dialler"], bridge["listener"]): tuple(bridge["topics"])
            for bridge in content.get("taken_off", [])
        }
        wiring = Wiring(tuple(places), bridges, taken_off)
        settings = Settings(content["profile"], content["mosquitto"])
        return Deployed(wiring, Inventory(places), settings, content["secret_fingerprint"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise damaged(folder / FEDERATION.file, f"{type(error).__name__}: {error}") from error


def _described(wiring: Wiring, inventory: Inventory, settings: Settings) -> dict[str, Any]:
    return {
        "profile": settings.profile,
        "mosquitto": settings.version,
        "secret_fingerprint": fingerprint(settings.secret),
        "brokers": [
            {"broker": broker, "folder": folder_of(broker), **vars(inventory.places[broker])}
            for broker in wiring.order
        ],
        "bridges": [
            {"dialler": dialler, "listener": listener, "topics": dict(topics)}
            for (dialler, listener), topics in wiring.bridges.items()
        ],
        **(_taken_off(wiring) if settings.durable and wiring.taken_off else {}),
    }


def _taken_off(wiring: Wiring) -> dict[str, Any]:
    return {
        "taken_off": [
            {"dialler": dialler, "listener": listener, "topics": list(topics)}
            for (dialler, listener), topics in wiring.taken_off.items()
        ]
    }


def _compose(wiring: Wiring, settings: Settings) -> str:
    """Return a docker-compose file; JSON is YAML, and quotes what has to be."""
    named = {broker: f"broker-{number:04}" for number, broker in enumerate(wiring.order)}
    services: Mapping[str, Any] = {
        named[broker]: {
            "image": f"{IMAGE}:{settings.version}",
            "network_mode": "host",
            "working_dir": "/federation",
            "command": ["sh", "-c", f"chown -R {USER} . && exec mosquitto -c {CONFIGURATION}"],
            "volumes": [f"./{folder_of(broker)}:/federation"],
            "restart": "unless-stopped",
            "depends_on": [named[other] for other in wiring.dialled_by(broker)],
        }
        for broker in wiring.order
    }
    return json.dumps({"services": services}, indent=2, ensure_ascii=False) + "\n"
