"""`plan.md`: a federation explained to the person who runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.brokers.program import CONFIGURATION, USER
from meshwright.deploy.config.wiring import folder_of

if TYPE_CHECKING:
    from meshwright.deploy.config.inventory import Inventory, Settings
    from meshwright.deploy.config.routed import Routed
    from meshwright.deploy.config.wiring import Wiring

MOST_ROWS = 200


def handbook(routed: Routed, wiring: Wiring, inventory: Inventory, settings: Settings) -> str:
    """Return the page, in Markdown."""
    parts = [
        "# This federation",
        f"{len(wiring.order):,} brokers, {len(wiring.bridges):,} bridges, {wiring.lines:,} topic lines for "
        f"{sum(bool(way.links) for way in routed.ways.values()):,} topics. Every topic has one tree: each "
        f"message reaches every broker that asked for it once{_alone(routed)}.",
        *_promise(routed, settings),
        "## Starting it",
        "Copy each folder to its broker, as `/etc/meshwright/FOLDER`, and start the brokers in the order of "
        "`start-order.txt`: each dials only brokers before it, so that nobody has to try twice. "
        "`mosquitto.service` in each folder is a systemd unit; `docker-compose.yml` runs all of them on one "
        f"machine. To run one by hand: `cd FOLDER && mosquitto -c {CONFIGURATION}`. Started by root, "
        f"Mosquitto becomes the user `{USER}`, who has to own the folder to read its passwords and keep its "
        "queues. The unit and the compose file see to that; by hand, root does it with "
        f"`chown -R {USER} FOLDER`.",
        "## Changing it",
        "Never add a bridge or a topic line by hand: one more link in a tree is a loop, and a loop is a "
        "storm. Plan anew, look with `meshwright diff`, then `meshwright apply`. "
        + (
            "Mosquitto 2.1 takes a new configuration with SIGHUP. Where a broker loses several bridges at "
            "once, 2.1.2 overlooks some of them: send it again, a second apart, four times for 15 bridges. "
            "What stays as it is does not mind."
            if settings.reloads
            else "Bridges change when the dialling end restarts: Mosquitto 2.0 ignores them on SIGHUP, and "
            "2.1 loses what waits."
        ),
        *_security(inventory, settings),
        "## The brokers",
        _table(wiring, inventory),
    ]
    return "\n\n".join(parts) + "\n"


def _alone(routed: Routed) -> str:
    """Say who else a message reaches: nobody, unless brokers carry what they did not ask for."""
    relaxed = any(way.merged or way.relays for way in routed.ways.values())
    return ", and others only as far as is said here" if relaxed else ", and no other broker"


def _promise(routed: Routed, settings: Settings) -> list[str]:
    parts = []
    if settings.durable:
        parts.append(
            "Profile `durable`: while a link is down, or a broker restarts, messages wait at both ends and "
            "come when it is back. Bridges carry QoS 2, and a message takes the lower one of its own and "
            "theirs: what clients publish with QoS 2 comes once over restarts too, with QoS 1 now and then "
            "twice, with QoS 0 it does not wait. A broker that crashes loses what it had in memory. Clients "
            "that should miss nothing while their broker restarts need a session that lasts, too.\n\n"
            "A topic that leaves a bridge is unsubscribed at the other end by a `topic … meshwright-gone/` "
            "line, which stays. A bridge that goes leaves a session at each end, `meshwright.FROM>TO` at "
            "the one that was dialled and `local.meshwright.FROM>TO` at the one that dialled, which queues "
            "until somebody ends it; `meshwright apply` does so where it runs the brokers. Elsewhere connect "
            "once by that id with a clean session, as `mosquitto_sub -h HOST -p PORT -i ID -t x -E` does."
        )
    else:
        parts.append(
            "Profile `plain`: exactly once while links are up. What is published while a link is down does "
            "not cross it later. Retained messages are delivered again when a bridge reconnects."
        )
    merged = [way.merged for way in routed.ways.values() if way.merged]
    if merged:
        listed = "; ".join(", ".join(f"`{topic}`" for topic in group) for group in merged)
        parts.append(
            f"Relaxed: these topics overlap and share one tree, so that a broker that asked for one of them "
            f"carries the messages of all: {listed}."
        )
    relayed = {topic: way.relays for topic, way in routed.ways.items() if way.relays}
    if relayed:
        listed = "; ".join(
            f"`{topic}`: {', '.join(sorted(who))}" for topic, who in list(relayed.items())[:50]
        )
        parts.append(f"Relays, which carry what they did not ask for: {listed}.")
    return parts


def _security(inventory: Inventory, settings: Settings) -> list[str]:
    parts = []
    if settings.secret is not None:
        parts.append(
            "## Passwords\n\nEach bridge has a user of its own, whose access list holds the planned topics "
            "and nothing else: a neighbour that is set up wrongly cannot leak. Clients of a broker connect "
            "as user `client` with the password in `client.password`. Keep the folders private."
        )
    if any(place.tls for place in inventory.places.values()):
        parts.append(
            "## TLS\n\nBrokers with TLS expect `certs/ca.crt`, `certs/broker.crt` and `certs/broker.key` in "
            "their folder, those that dial them `certs/ca.crt`; a certificate must name the broker's host."
        )
    return parts


def _table(wiring: Wiring, inventory: Inventory) -> str:
    rows = ["| broker | folder | address | dials | is dialled by |", "| --- | --- | --- | --- | --- |"]
    for broker in wiring.order[:MOST_ROWS]:
        cells = [
            broker.replace("|", "\\|").replace("\n", " "),
            f"`{folder_of(broker)}`",
            inventory.places[broker].address,
            ", ".join(folder_of(other) for other in wiring.dialled_by(broker)),
            ", ".join(folder_of(other) for other in wiring.heard_by(broker)),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    more = len(wiring.order) - MOST_ROWS
    return "\n".join(rows) + (f"\n\n… and {more:,} more, in `federation.json`." if more > 0 else "")
