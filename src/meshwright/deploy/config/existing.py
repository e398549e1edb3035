"""Check whether a broker's own configuration provides what a fragment needs, where it can be read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.deploy.config.fragments import FRAGMENT, access_lines
from meshwright.deploy.config.wiring import client_id
from meshwright.deploy.lint.configuration import read_configurations
from meshwright.errors import MeshwrightError

if TYPE_CHECKING:
    from meshwright.deploy.config.inventory import Endpoint, Inventory
    from meshwright.deploy.config.settings import BrokerSettings
    from meshwright.deploy.config.wiring import Wiring


def check_existing(wiring: Wiring, inventory: Inventory, settings: BrokerSettings) -> dict[str, list[str]]:
    """Return, by broker, what its configuration must provide, and for each point whether it does."""
    return {
        broker: [
            *_needs(wiring, inventory, settings, broker),
            *_checks(wiring, inventory.endpoints[broker], settings, broker),
        ]
        for broker in wiring.order
    }


def _needs(wiring: Wiring, inventory: Inventory, settings: BrokerSettings, broker: str) -> list[str]:
    """State the needs of a broker in a few words."""
    endpoint = inventory.endpoints[broker]
    lines = [f"needs include_dir with {FRAGMENT}"] if wiring.dialled_by(broker) else []
    if wiring.dialled_to(broker):
        lines.append(f"needs a listener on port {endpoint.port}{' with TLS' if endpoint.tls else ''}")
        if endpoint.user is not None:
            count = len(access_lines(wiring, broker))
            lines.append(f"needs user {endpoint.user}, with {count} access lines if it has an access list")
    if settings.durable:
        lines.append("needs persistence true")
    return lines


def _checks(wiring: Wiring, endpoint: Endpoint, settings: BrokerSettings, broker: str) -> list[str]:
    """Read a broker's configuration, if it can be read, and return what is missing."""
    if endpoint.config is None:
        return []
    if not Path(endpoint.config).is_file():
        return [f"not checked: there is no {endpoint.config} on this machine"]
    try:
        own = read_configurations([endpoint.config])[0]
    except MeshwrightError as error:
        return [f"not checked: {error}"]
    missing = []
    if wiring.dialled_by(broker) and not own.include_places:
        missing.append(f"MISSING in {own.file}: an include_dir")
    if wiring.dialled_to(broker) and not any(one.port == endpoint.port for one in own.listeners):
        missing.append(f"MISSING in {own.file}: a listener on port {endpoint.port}")
    if settings.durable and own.options.get("persistence") != "true":
        missing.append(f"MISSING in {own.file}: persistence true")
    if wiring.dialled_to(broker) and endpoint.user is not None and not _lets_in(own.options, endpoint.user):
        missing.append(f"MISSING in {own.options['password_file']}: the user {endpoint.user}")
    ours = {client_id(broker, other) for other in wiring.dialled_by(broker)}
    taken = [bridge.name for bridge in own.bridges if bridge.name in ours]
    if taken:
        missing.append(f"already in {own.file}: {', '.join(taken[:5])}; the fragment replaces them")
    return missing or [f"checked: {own.file} provides it"]


def _lets_in(options: dict[str, str], user: str) -> bool:
    """Return whether a password file, if it can be read here, has a user."""
    file = options.get("password_file")
    if file is None or not Path(file).is_file():
        return True
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return True
    return any(line.partition(":")[0] == user for line in text.splitlines())
