"""A federation as a folder: one folder for each broker, and the files that an operator needs around them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.brokers.processes import CONFIGURATION, USER
from meshwright.deploy.config.fragments import FRAGMENT
from meshwright.deploy.config.handbook import handbook
from meshwright.deploy.config.inventory import OPTIONAL_COLUMNS, Endpoint, Inventory, moved_brokers
from meshwright.deploy.config.mosquitto import broker_files, systemd_unit
from meshwright.deploy.config.settings import BrokerSettings, fingerprint
from meshwright.deploy.config.wiring import Wiring, check_folder_names, folder_of
from meshwright.files.atomic import new_folder
from meshwright.files.header import FEDERATION, damaged, read_header, write_header

if TYPE_CHECKING:
    from meshwright.deploy.config.named_trees import NamedTrees

IMAGE = "eclipse-mosquitto"
SECRET_FILES = ("passwords", "client.password", CONFIGURATION)
"""Files that hold passwords if there is a secret; then only their owner may read them."""


@dataclass(frozen=True)
class DeployedFederation:
    """A federation as the manifest of its folder describes it."""

    wiring: Wiring
    inventory: Inventory
    settings: BrokerSettings
    """Without the secret, which no file holds."""
    fingerprint: str | None = None
    """The fingerprint of the secret that passwords are derived from, or None without passwords."""

    @property
    def secured(self) -> bool:
        """Whether there are passwords and access lists."""
        return self.fingerprint is not None

    def must_restart(self, inventory: Inventory, settings: BrokerSettings) -> set[str]:
        """Return the brokers that must restart even if their bridges stay: those with another address.

        With another secret, all brokers must restart: both ends of each bridge need the new password.
        """
        if self.fingerprint != fingerprint(settings.secret):
            return self.inventory.endpoints.keys() & inventory.endpoints.keys()
        return moved_brokers(self.inventory, inventory)


def write_federation(
    trees: NamedTrees, wiring: Wiring, inventory: Inventory, settings: BrokerSettings, path: str | Path
) -> Path:
    """Write the folders of all brokers, whole or not at all; the same input gives the same bytes."""
    check_folder_names(wiring.order)
    checked = inventory.for_brokers(wiring.order)
    with new_folder(path, FEDERATION) as folder:
        for name, text in federation_files(trees, wiring, checked, settings).items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            write_file(file, text, private=is_private(file, settings))
        write_manifest(folder, wiring, checked, settings)
    return Path(path)


def is_private(file: Path, settings: BrokerSettings) -> bool:
    """Return whether a file of a broker's folder holds passwords."""
    if settings.fragment:
        return file.name == FRAGMENT
    return settings.secret is not None and file.name in SECRET_FILES


def write_file(file: Path, text: str, *, private: bool) -> None:
    """Create a file; only its owner can ever read a private one, even while it is being written."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)


def federation_files(
    trees: NamedTrees, wiring: Wiring, inventory: Inventory, settings: BrokerSettings
) -> dict[str, str]:
    """Return all files of a federation's folder except its manifest, by their paths in it."""
    files = {
        f"{folder_of(broker)}/{name}": text
        for broker in wiring.order
        for name, text in (
            *broker_files(wiring, inventory, settings, broker).items(),
            *([] if settings.fragment else [("mosquitto.service", systemd_unit(broker))]),
        )
    }
    return {
        **files,
        "start-order.txt": "".join(f"{folder_of(broker)}\n" for broker in wiring.order),
        **({} if settings.fragment else {"docker-compose.yml": _docker_compose(wiring, settings)}),
        "plan.md": handbook(trees, wiring, inventory, settings),
    }


def write_manifest(folder: Path, wiring: Wiring, inventory: Inventory, settings: BrokerSettings) -> bool:
    """Write federation.json atomically if its content changes; return whether it was written."""
    file = folder / FEDERATION.file
    before = file.read_bytes() if file.is_file() else b""
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder) as temporary:
        write_header(Path(temporary), FEDERATION, _manifest(wiring, inventory, settings))
        written = Path(temporary) / FEDERATION.file
        if written.read_bytes() == before:
            return False
        written.replace(file)
        return True


def read_federation(path: str | Path) -> DeployedFederation:
    """Read the manifest of a federation's folder.

    Raises
    ------
    InputError
        If the folder does not exist.
    FormatError
        If the folder is not a federation, has a newer schema, or is damaged.
    """
    folder = Path(path)
    content = read_header(folder, FEDERATION)
    try:
        endpoints = {
            record["broker"]: Endpoint(
                record["host"], record["port"], record["tls"], *map(record.get, OPTIONAL_COLUMNS)
            )
            for record in content["brokers"]
        }
        bridges = {
            (bridge["dialler"], bridge["listener"]): dict(bridge["topics"]) for bridge in content["bridges"]
        }
        former_topics = {
            (bridge["dialler"], bridge["listener"]): tuple(bridge["topics"])
            for bridge in content.get("taken_off", [])
        }
        wiring = Wiring(tuple(endpoints), bridges, former_topics)
        settings = BrokerSettings(
            content["profile"], content["mosquitto"], fragment=content.get("fragment", False)
        )
        return DeployedFederation(wiring, Inventory(endpoints), settings, content["secret_fingerprint"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise damaged(folder / FEDERATION.file, f"{type(error).__name__}: {error}") from error


def _manifest(wiring: Wiring, inventory: Inventory, settings: BrokerSettings) -> dict[str, Any]:
    """Return the content of federation.json; `taken_off` holds the former topics of bridges."""
    content = {
        "profile": settings.profile,
        "mosquitto": settings.version,
        **({"fragment": True} if settings.fragment else {}),
        "secret_fingerprint": fingerprint(settings.secret),
        "brokers": [
            {"broker": broker, "folder": folder_of(broker), **_stated(inventory.endpoints[broker])}
            for broker in wiring.order
        ],
        "bridges": [
            {"dialler": dialler, "listener": listener, "topics": dict(topics)}
            for (dialler, listener), topics in wiring.bridges.items()
        ],
    }
    if settings.durable and wiring.former_topics:
        content["taken_off"] = [
            {"dialler": dialler, "listener": listener, "topics": list(topics)}
            for (dialler, listener), topics in wiring.former_topics.items()
        ]
    return content


def _stated(endpoint: Endpoint) -> dict[str, Any]:
    """Return the fields of an endpoint that are known."""
    return {name: value for name, value in vars(endpoint).items() if value is not None}


def _docker_compose(wiring: Wiring, settings: BrokerSettings) -> str:
    """Return a docker-compose file; it is JSON, which is also YAML and quotes every name safely."""
    service_of = {broker: f"broker-{number:04}" for number, broker in enumerate(wiring.order)}
    services: Mapping[str, Any] = {
        service_of[broker]: {
            "image": f"{IMAGE}:{settings.version}",
            "network_mode": "host",
            "working_dir": "/federation",
            "command": ["sh", "-c", f"chown -R {USER} . && exec mosquitto -c {CONFIGURATION}"],
            "volumes": [f"./{folder_of(broker)}:/federation"],
            "restart": "unless-stopped",
            "depends_on": [service_of[other] for other in wiring.dialled_by(broker)],
        }
        for broker in wiring.order
    }
    return json.dumps({"services": services}, indent=2, ensure_ascii=False) + "\n"
