"""Fragments: for brokers that are already configured, a file with the bridges only, and what else they need.

The existing configuration includes the fragment with `include_dir`. It keeps its listener, users, access
lists and persistence; `required.md` states what these must provide for the bridges of this broker.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.deploy.config.wiring import BOTH, OUT
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.deploy.config.inventory import Endpoint, Inventory
    from meshwright.deploy.config.settings import BrokerSettings
    from meshwright.deploy.config.wiring import Wiring

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
    try:
        word = Path(endpoint.password_file).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot read the password file {endpoint.password_file} of {endpoint.address}: "
            "correct the inventory"
        ) from error
    if not word or not word.isprintable():
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
            lines = "\n".join([f"user {endpoint.user}", *access_lines(wiring, broker)])
            parts.append(
                f"- Its password file has the user `{endpoint.user}`. If it has an access list, these lines "
                f"are in it:\n\n```text\n{lines}\n```"
            )
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
    return "\n".join(parts) + "\n"
