"""The configuration of one Mosquitto broker.

Every choice here was seen to matter with real brokers: MQTT 5, whose no-local flag stops echoes; explicit
client ids; one end that dials; QoS 1 and a clean session. In the profile `durable` sessions last, and so:
MQTT 3.1.1, as with 5 only the dialler queues; QoS 2, as with 1 a broker that restarts sends again what was
not yet acknowledged; many messages in flight, as with few QoS 2 loses messages in a burst; and a line for
each topic that was taken off a bridge, else it stays subscribed at the other end.

Told to reload, Mosquitto 2.1 ends bridges whose name is gone, begins those whose name is new, and leaves the
others as they are. So from 2.1 on a plain bridge's names tell what it carries. (`bridge_reload_type
immediate` breaks all of a broker's bridges, those too that stay as they are.)
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from meshwright.brokers.program import CONFIGURATION, USER
from meshwright.deploy.config.access import access_file, client_password, password, password_file
from meshwright.deploy.config.wiring import OUT, client_id, folder_of, local_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from meshwright.deploy.config.inventory import Inventory, Settings
    from meshwright.deploy.config.wiring import Wiring

PLANNED = "# Planned by Meshwright, which writes this file anew: change the plan instead.\n"
DATA = "Mosquitto keeps here what it has queued.\n"
NOWHERE = "meshwright-gone/"
"""Where a bridge would take a topic from that it carries no more: nobody publishes there."""
MOST_IN_FLIGHT = 20_000
"""With QoS 2, Mosquitto 2.0 loses what is in flight beyond its limit, 20 unless told. With no limit, or the
highest there is, it forgets on a restart how far each message was, and sends some again."""
LOGGED = ("error", "warning", "notice", "information", "subscribe", "unsubscribe")


def broker_files(wiring: Wiring, inventory: Inventory, settings: Settings, broker: str) -> dict[str, str]:
    """Return the files of a broker's folder by name; paths in them are relative to that folder."""
    files = {CONFIGURATION: configuration(wiring, inventory, settings, broker)}
    if settings.durable:
        files["data/README"] = DATA
    if settings.secret is not None:
        files["passwords"] = password_file(wiring, broker, settings.secret)
        files["access"] = access_file(wiring, broker)
        files["client.password"] = client_password(settings.secret, broker) + "\n"
    return files


def configuration(wiring: Wiring, inventory: Inventory, settings: Settings, broker: str) -> str:
    """Return the text of a broker's mosquitto.conf."""
    place = inventory.places[broker]
    lines = [f"listener {place.port}" + (f" {place.loopback}" if place.loopback else "")]
    if place.tls:
        lines += ["cafile certs/ca.crt", "certfile certs/broker.crt", "keyfile certs/broker.key"]
    if settings.secret is None:
        lines.append("allow_anonymous true")
    else:
        lines += ["allow_anonymous false", "password_file passwords", "acl_file access"]
    if settings.durable:
        lines += ["persistence true", "persistence_location data/", f"max_inflight_messages {MOST_IN_FLIGHT}"]
    else:
        lines.append("persistence false")
    # A thousand, as it is unless told, is less than a burst over one bridge can be.
    lines += ["max_queued_messages 100000", "set_tcp_nodelay true"]
    lines += ["log_dest stderr", *(f"log_type {kind}" for kind in LOGGED)]
    parts = [PLANNED, *(f"{line}\n" for line in lines)]
    for other, topics in wiring.dialled_by(broker).items():
        gone = wiring.taken_off.get((broker, other), ())
        parts.append("\n" + _bridge(inventory, settings, broker, other, topics, gone))
    return "".join(parts)


def _bridge(
    inventory: Inventory,
    settings: Settings,
    broker: str,
    other: str,
    topics: Mapping[str, str],
    gone: Iterable[str],
) -> str:
    name, place = client_id(broker, other), inventory.places[other]
    lines = [
        f"address {place.address}",
        f"remote_clientid {name}",
    ]
    if settings.durable:
        lines += ["bridge_protocol_version mqttv311", "try_private true", "cleansession false"]
    else:
        lines += ["bridge_protocol_version mqttv50", "cleansession true"]
    # 2.1 waits so long before it dials at all when a reload begins a bridge: no longer than it has to.
    lines += [
        "notifications_local_only true",
        f"restart_timeout {'1' if settings.reloads else '1 5'}",
    ]
    if settings.secret is not None:
        lines += [f"remote_username {name}", f"remote_password {password(settings.secret, name)}"]
    if place.tls:
        lines.append("bridge_cafile certs/ca.crt")
    if settings.durable:
        # What a bridge only sends it unsubscribes from at the other end, whenever it connects.
        lines += [f'topic {topic} {OUT} {settings.qos} {NOWHERE} ""' for topic in gone]
    lines += [f'topic {topic} {direction} {settings.qos} "" ""' for topic, direction in topics.items()]
    told = f".{_digest(lines)}" if settings.reloads else ""
    named = (
        f"connection {name}{told}",
        *lines[:2],
        f"local_clientid {local_id(broker, other)}{told}",
        *lines[2:],
    )
    return "".join(f"{line}\n" for line in named)


def _digest(lines: Iterable[str]) -> str:
    """Tell bridges apart by what they are to do; passwords, which are nobody's business, are left out."""
    open_to_all = "\n".join(line for line in lines if not line.startswith("remote_password"))
    return hashlib.sha256(open_to_all.encode()).hexdigest()[:12]


def unit(broker: str) -> str:
    """Return a systemd unit that runs a broker from /etc/meshwright."""
    folder = f"/etc/meshwright/{folder_of(broker)}".replace("%", "%%")
    return (
        "[Unit]\n"
        f"Description=Mosquitto broker {folder_of(broker).replace('%', '%%')}, planned by Meshwright\n"
        "After=network-online.target\nWants=network-online.target\n\n"
        "[Service]\n"
        f"WorkingDirectory={folder}\n"
        f"ExecStartPre=+/bin/chown -R {USER} {folder}\n"
        f"ExecStart=/usr/sbin/mosquitto -c {CONFIGURATION}\n"
        "ExecReload=/bin/kill -HUP $MAINPID\nRestart=on-failure\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
