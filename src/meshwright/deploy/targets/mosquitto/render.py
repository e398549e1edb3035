"""The configuration files of one Mosquitto broker.

Tests with real brokers led to every choice here. A `plain` bridge uses:

- MQTT 5, whose no-local flag prevents echoes, unless filters of one direction overlap: an MQTT 5 broker sends
  a message once for each filter that it matches, an MQTT 3.1.1 broker sends it once;
- with MQTT 3.1.1, `try_private`, which prevents echoes too;
- explicit client ids, because two bridges with the same id disconnect each other;
- QoS 1 and a clean session.

A `durable` bridge keeps its session while the other end is away, and uses:

- MQTT 3.1.1, because with MQTT 5 only the dialler queues;
- QoS 2, because with QoS 1 a broker that restarts resends messages that were not yet acknowledged;
- many messages in flight, because with few of them QoS 2 loses messages in a burst;
- a line for each topic that the bridge no longer carries, because the listener would stay subscribed to it.

On a reload, Mosquitto 2.1 stops bridges whose name is gone, starts those whose name is new, and leaves the
others alone. So from 2.1 on, the name of a plain bridge contains a digest of its settings. (The alternative
`bridge_reload_type immediate` interrupts all bridges of a broker, even unchanged ones.)

With a secret, each bridge logs in as its own user, whose access list contains the planned topics and no
others. Its id cannot be guessed, because a client that connects with the id of a bridge takes its place.
Brokers store only hashes of passwords. If the inventory names a port for bridges, they have a listener of
their own, where an id is always the user's name.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping

from meshwright.brokers.mosquitto import CONFIGURATION
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.passwords import CLIENT_USER, client_password, derive, password
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import write_lines
from meshwright.deploy.targets.mosquitto.fragments import (
    FRAGMENT,
    REQUIREMENTS,
    remote_password,
    requirements,
)
from meshwright.deploy.wiring import BOTH, IN, OUT, Wiring, bridge_identity, client_id
from meshwright.filters.groups import group_numbers
from meshwright.filters.mqtt import has_wildcard

HEADER = "# Planned by Meshwright, which overwrites this file: change the plan instead."
DATA_README = "Mosquitto keeps here what it has queued.\n"
UNUSED_PREFIX = "meshwright-gone/"
"""The local prefix of a topic that a bridge no longer carries: no client publishes there."""
MAX_IN_FLIGHT = 20_000
"""With QoS 2, Mosquitto 2.0 loses messages in flight beyond its limit, which is 20 by default. Without a
limit, or with the highest possible one, a restart forgets the state of each message and resends some."""
MAX_QUEUED = 100_000
"""A burst over one bridge can exceed Mosquitto's default of 1,000."""
CLIENT_ACCESS = write_lines([f"user {CLIENT_USER}", "topic readwrite #"])
"""What the clients of a broker may do there: everything."""
LOG_TYPES = ("error", "warning", "notice", "information", "subscribe", "unsubscribe")
PASSWORD_ITERATIONS = 101
"""Iterations of the password hash, as in Mosquitto 2.0."""
PASSWORD = re.compile(r"^(\s*(?:remote_password|bridge_psk)\s).*", re.MULTILINE)
ACCESS_FILES = ("passwords", "access", "bridges.passwords", "bridges.access")
"""Files that a broker reads again on a reload."""
SECRET_FILES = ("passwords", "bridges.passwords", "client.password", CONFIGURATION)
"""Files that hold passwords if there is a secret."""


def broker_files(
    wiring: Wiring, inventory: Inventory, settings: BrokerSettings, broker: str
) -> dict[str, str]:
    """Return the files of a broker's folder by name; paths in them are relative to that folder."""
    if settings.fragment:
        return {
            FRAGMENT: fragment(wiring, inventory, settings, broker),
            REQUIREMENTS: requirements(wiring, inventory, settings, broker),
        }
    files = {CONFIGURATION: configuration(wiring, inventory, settings, broker)}
    if settings.durable:
        files["data/README"] = DATA_README
    if settings.secret is not None:
        users, rights = bridge_users(wiring, broker, settings), bridge_access(wiring, broker, settings)
        clients = password_line(settings.secret, CLIENT_USER, client_password(settings.secret, broker))
        apart = inventory.endpoints[broker].bridge_port is not None
        files["passwords"] = clients if apart else clients + users
        files["access"] = CLIENT_ACCESS if apart else f"{CLIENT_ACCESS}{rights}"
        if apart:
            files["bridges.passwords"], files["bridges.access"] = users, rights
        files["client.password"] = write_lines([client_password(settings.secret, broker)])
    return files


def configuration(wiring: Wiring, inventory: Inventory, settings: BrokerSettings, broker: str) -> str:
    """Return the text of a broker's mosquitto.conf."""
    endpoint = inventory.endpoints[broker]
    place = f" {endpoint.loopback}" if endpoint.loopback else ""
    tls = (
        ["cafile certs/ca.crt", "certfile certs/broker.crt", "keyfile certs/broker.key"]
        if endpoint.tls
        else []
    )
    lines = [f"listener {endpoint.port}{place}", *tls]
    if settings.secret is None:
        lines.append("allow_anonymous true")
    else:
        lines += ["allow_anonymous false", "password_file passwords", "acl_file access"]
    if settings.secret is not None and endpoint.bridge_port is not None:
        # With TLS, a bridge shows the certificate of its broker, too.
        lines = ["per_listener_settings true", *lines, f"listener {endpoint.bridge_port}{place}", *tls]
        lines += ["require_certificate true"] if endpoint.tls else []
        lines += ["allow_anonymous false", "password_file bridges.passwords", "acl_file bridges.access"]
        lines.append("use_username_as_clientid true")
    if settings.durable:
        lines += ["persistence true", "persistence_location data/", f"max_inflight_messages {MAX_IN_FLIGHT}"]
    else:
        lines.append("persistence false")
    lines += [f"max_queued_messages {MAX_QUEUED}", "set_tcp_nodelay true"]
    lines += ["log_dest stderr", *(f"log_type {kind}" for kind in LOG_TYPES)]
    bridges = [_bridge(wiring, inventory, settings, broker, other) for other in wiring.dialled_by(broker)]
    return "\n".join([write_lines([HEADER, *lines]), *bridges])


def fragment(wiring: Wiring, inventory: Inventory, settings: BrokerSettings, broker: str) -> str:
    """Return the file that an existing configuration includes: the broker's bridges, and nothing else."""
    bridges = [_bridge(wiring, inventory, settings, broker, other) for other in wiring.dialled_by(broker)]
    return "\n".join([write_lines([HEADER]), *bridges])


def _bridge(
    wiring: Wiring, inventory: Inventory, settings: BrokerSettings, dialler: str, listener: str
) -> str:
    """Return the section of a dialler's mosquitto.conf for one bridge."""
    endpoint = inventory.endpoints[listener]
    name = bridge_identity(settings.identity_key, client_id(dialler, listener))
    apart = settings.secret is not None and endpoint.bridge_port is not None
    ends = [f"address {endpoint.bridge_address if apart else endpoint.address}", f"remote_clientid {name}"]
    topics = wiring.bridges[dialler, listener]
    options = [f"cleansession {'false' if settings.durable else 'true'}"]
    if settings.durable or lines_overlap(topics):
        options = ["bridge_protocol_version mqttv311", "try_private true", *options]
    else:
        options = ["bridge_protocol_version mqttv50", *options]
    # After a reload, 2.1 waits this long before a new bridge dials for the first time: keep it short.
    restart_timeout = "1" if settings.reloads else "1 5"
    options += ["notifications_local_only true", f"restart_timeout {restart_timeout}"]
    if settings.secret is not None:
        options += [f"remote_username {name}", f"remote_password {password(settings.secret, name)}"]
    if settings.fragment and endpoint.user is not None:
        options += [f"remote_username {endpoint.user}", *remote_password(endpoint)]
    if endpoint.tls:
        options.append(f"bridge_cafile {endpoint.ca_file or 'certs/ca.crt'}")
        if apart:
            options += ["bridge_certfile certs/broker.crt", "bridge_keyfile certs/broker.key"]
    if settings.durable:
        # When it connects, a bridge unsubscribes at the listener from topics that it only sends.
        former = wiring.former_topics.get((dialler, listener), ())
        options += [f'topic {topic} {OUT} {settings.qos} {UNUSED_PREFIX} ""' for topic in former]
    options += [f'topic {topic} {direction} {settings.qos} "" ""' for topic, direction in topics.items()]
    suffix = f".{_digest([*ends, *options])}" if settings.reloads else ""
    return write_lines(
        [f"connection {name}{suffix}", *ends, f"local_clientid local.{name}{suffix}", *options]
    )


def mask(text: str) -> str:
    """Return a configuration without passwords, where they cannot be compared, or would be shown."""
    return PASSWORD.sub(r"\1…", text)


def password_line(secret: bytes, user: str, word: str) -> str:
    """Return a line of a password file, in the format `$7$` of Mosquitto 2.0 and later."""
    salt = derive(secret, "salt", word)[:12]
    digest = hashlib.pbkdf2_hmac("sha512", word.encode(), salt, PASSWORD_ITERATIONS)
    encoded_salt, encoded_digest = (base64.b64encode(part).decode() for part in (salt, digest))
    return write_lines([f"{user}:$7${PASSWORD_ITERATIONS}${encoded_salt}${encoded_digest}"])


def bridge_users(wiring: Wiring, broker: str, settings: BrokerSettings) -> str:
    """Return the lines of a password file for the bridges that dial a broker."""
    lines = []
    for dialler in wiring.dialled_to(broker):
        assert settings.secret is not None
        user = bridge_identity(settings.identity_key, client_id(dialler, broker))
        lines.append(password_line(settings.secret, user, password(settings.secret, user)))
    return "".join(lines)


def bridge_access(wiring: Wiring, broker: str, settings: BrokerSettings) -> str:
    """Return the access list of the bridges that dial a broker: the planned topics and nothing else."""
    parts = []
    for dialler, topics in wiring.dialled_to(broker).items():
        rights = {BOTH: "readwrite", OUT: "write"}
        allowed = [f"topic {rights.get(direction, 'read')} {topic}" for topic, direction in topics.items()]
        user = bridge_identity(settings.identity_key, client_id(dialler, broker))
        parts.append(write_lines(["", f"user {user}", *allowed]))
    return "".join(parts)


def lines_overlap(topics: Mapping[str, str]) -> bool:
    """Return whether two topics that a bridge carries in the same direction overlap.

    >>> lines_overlap({"a/#": "both", "a/b": "out"}), lines_overlap({"a/#": "in", "a/b": "out"})
    (True, False)
    """
    for direction in (IN, OUT):
        filters = [topic for topic, way in topics.items() if way in (BOTH, direction)]
        if any(map(has_wildcard, filters)) and group_numbers(filters) != list(range(len(filters))):
            return True
    return False


def _digest(lines: Iterable[str]) -> str:
    """Return a digest of a bridge's settings without its password: the name of a bridge is public."""
    public = "\n".join(line for line in lines if not line.startswith("remote_password"))
    return hashlib.sha256(public.encode()).hexdigest()[:12]
