"""Fragments: for brokers that are already configured, a file with the bridges only, and what else they need.

The existing configuration includes the fragment with `include_dir`. It keeps its listener, users, access
lists and persistence; `required.md` states what these must provide for the bridges of this broker. Where the
existing configuration can be read here, it is checked.
"""

from __future__ import annotations

from pathlib import Path

from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import write_lines
from meshwright.deploy.targets.mosquitto.credentials import has_user
from meshwright.deploy.targets.mosquitto.parse import read_configurations
from meshwright.deploy.wiring import BOTH, OUT, Wiring, client_id
from meshwright.errors import InputError, MeshwrightError

LONGEST_PASSWORD = 65_535
"""The most bytes of a password in MQTT."""
FRAGMENT, REQUIREMENTS = "meshwright.conf", "required.md"
"""The files of a broker's folder."""


def remote_password(endpoint: Endpoint) -> list[str]:
    """Return the line with the password of the bridge user at a broker; none without a password file.

    Raises
    ------
    InputError
        If the file cannot be read, or is empty, or holds more than one line.
    """
    if endpoint.password_file is None:
        return []
    file = Path(endpoint.password_file)
    try:
        if not file.is_file():
            raise FileNotFoundError(file)  # also for devices, which may never end, and pipes
        with file.open("rb") as opened:
            word = opened.read(LONGEST_PASSWORD + 1).decode().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot read the password file {file} of {endpoint.address}: correct the inventory"
        ) from error
    if not word.isprintable() or not 0 < len(word) <= LONGEST_PASSWORD:
        raise InputError(f"{endpoint.password_file} must hold one password on one line: correct it")
    return [f"remote_password {word}"]


def access_lines(wiring: Wiring, broker: str) -> list[str]:
    """Return the access list of the bridge user at a broker: what all bridges that dial it may do."""
    rights: dict[str, set[str]] = {}
    for topics in wiring.dialled_to(broker).values():
        for topic, direction in topics.items():
            granted = {"read", "write"} if direction == BOTH else {"write" if direction == OUT else "read"}
            rights.setdefault(topic, set()).update(granted)
    return [
        f"topic {'readwrite' if len(granted) == 2 else min(granted)} {topic}"
        for topic, granted in sorted(rights.items())
    ]


def requirements(wiring: Wiring, inventory: Inventory, settings: BrokerSettings, broker: str) -> str:
    """Return the text of required.md: what a broker's own configuration must provide."""
    endpoint = inventory.endpoints[broker]
    diallers = list(wiring.dialled_to(broker))
    parts = [
        f"# What the configuration of {broker} must provide",
        f"- It includes the bridges: copy `{FRAGMENT}` to a folder of its own, say "
        "`/etc/mosquitto/meshwright`, and add the line `include_dir /etc/mosquitto/meshwright` at the end. "
        "Then restart the broker. To take the bridges away, remove the file and restart.",
    ]
    if diallers:
        tls = f" with TLS, and a certificate for `{endpoint.host}`" if endpoint.tls else ""
        parts.append(f"- It listens on port {endpoint.port}{tls}, where {', '.join(diallers)} dial.")
        if endpoint.user is not None:
            parts += [
                f"- Its password file has the user `{endpoint.user}`. If it has an access list, these lines "
                "are in it:",
                *("", "```text", f"user {endpoint.user}", *access_lines(wiring, broker), "```"),
            ]
        else:
            parts.append(
                "- It lets bridges in without a user: the inventory names none. Give `user` and "
                "`password_file` there if the broker asks for one."
            )
    if settings.durable:
        parts.append(
            "- It has `persistence true`, so that queues outlive a restart, `max_inflight_messages 20000`, "
            "and a `max_queued_messages` that holds what queues while a link is down."
        )
    else:
        parts.append(
            "- Its `max_queued_messages` holds a burst over one bridge; 1,000 is Mosquitto's default."
        )
    return write_lines(parts)


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
    passwords = own.options.get("password_file")
    user = endpoint.user if wiring.dialled_to(broker) else None
    if user is not None and passwords is not None and not has_user(Path(passwords), user):
        missing.append(f"MISSING in {passwords}: the user {user}")
    ours = {client_id(broker, other) for other in wiring.dialled_by(broker)}
    taken = [bridge.name for bridge in own.bridges if bridge.name in ours]
    if taken:
        missing.append(f"already in {own.file}: {', '.join(taken[:5])}; the fragment replaces them")
    return missing or [f"checked: {own.file} provides it"]
