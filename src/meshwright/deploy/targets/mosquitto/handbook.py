"""The handbook: `plan.md`, which explains a federation to the person who runs it."""

from __future__ import annotations

from meshwright.brokers.mosquitto import CONFIGURATION, MOSQUITTO
from meshwright.deploy.hosts.services import docker_compose, systemd_unit
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.named_trees import NamedTrees, TopicTree, filters_by_link
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets.mosquitto.fragments import FRAGMENT, REQUIREMENTS
from meshwright.deploy.targets.mosquitto.render import UNUSED_PREFIX
from meshwright.deploy.wiring import Wiring, client_id, folder_of, local_client_id
from meshwright.filters.mqtt import covers
from meshwright.formatting import escape_markdown, escape_markdown_code

USER = MOSQUITTO.user
MOST_ROWS = 200
"""Brokers in the table; the rest is in the manifest."""
SHARED_PORT = " Bridges share the port of clients; `bridge_port` in the inventory gives them their own."
"""Said where bridges have no port of their own."""
MOST_RELAYED = 50
"""Relays that are listed."""


def unit_files(broker: str, settings: BrokerSettings) -> dict[str, str]:
    """Return the systemd unit of a broker whose whole configuration is ours."""
    return {} if settings.fragment else {"mosquitto.service": systemd_unit(broker, MOSQUITTO)}


def shared_files(
    trees: NamedTrees, wiring: Wiring, inventory: Inventory, settings: BrokerSettings
) -> dict[str, str]:
    """Return the handbook and, for brokers whose whole configuration is ours, the compose file."""
    pages = {"plan.md": handbook(trees, wiring, inventory, settings)}
    if settings.fragment:
        return pages
    image = f"eclipse-mosquitto:{settings.version}"
    return {"docker-compose.yml": docker_compose(wiring, MOSQUITTO, image), **pages}


def handbook(trees: NamedTrees, wiring: Wiring, inventory: Inventory, settings: BrokerSettings) -> str:
    """Return the text of plan.md."""
    parts = [
        "# This federation",
        _overview(trees, wiring),
        _delivery(settings),
        *_exceptions(trees),
        *(_adopting() if settings.fragment else _starting()),
        "## Changing it",
        "Never add a bridge or a topic line by hand: one more link in a tree is a loop, and messages circle "
        "in a loop for ever. Make a new plan, check it with `meshwright diff`, then run `meshwright apply`. "
        + _how_bridges_change(settings),
        *_security(inventory, settings),
        "## The brokers",
        _broker_table(wiring, inventory),
    ]
    return "\n\n".join(parts) + "\n"


def _starting() -> list[str]:
    """Explain how to start brokers whose whole configuration is here."""
    return [
        "## Starting it",
        "Copy each folder to its broker, as `/etc/meshwright/FOLDER`, and start the brokers in the order of "
        "`start-order.txt`: each broker dials only brokers that started before it. `mosquitto.service` in "
        "each folder is a systemd unit. `docker-compose.yml` runs all brokers on one machine. To run one by "
        f"hand: `cd FOLDER && mosquitto -c {CONFIGURATION}`.",
        f"Started by root, Mosquitto becomes the user `{USER}`, who must own the folder to read passwords "
        "and to store queues. The systemd unit and the compose file set the owner; by hand, root does it "
        f"with `chown -hR {USER} FOLDER`.",
    ]


def _adopting() -> list[str]:
    """Explain how to add bridges to brokers that have a configuration of their own."""
    return [
        "## Adding the bridges",
        f"Copy `{FRAGMENT}` of each folder to a folder on its broker that the broker's own configuration "
        f"includes with `include_dir`, and restart the broker, in the order of `start-order.txt`. "
        f"`{REQUIREMENTS}` in each folder states what the configuration must provide. Nothing else changes: "
        "the file has bridges only. To take them away, remove the file and restart.",
    ]


def _overview(trees: NamedTrees, wiring: Wiring) -> str:
    """Count the parts, and say which brokers a message reaches."""
    linked = sum(bool(tree.links) for tree in trees.trees.values())
    relaxed = any(tree.filters or tree.relays for tree in trees.trees.values())
    groups = " and groups of filters" if any(tree.filters for tree in trees.trees.values()) else ""
    others = "other brokers only where stated below" if relaxed else "no other broker"
    return (
        f"{len(wiring.order):,} brokers, {len(wiring.bridges):,} bridges, {wiring.topic_lines:,} topic lines "
        f"for {linked:,} topics{groups}. Every topic has one tree: each message reaches every subscribing "
        f"broker once, and {others}."
    )


def _delivery(settings: BrokerSettings) -> str:
    """State what the profile promises."""
    if not settings.durable:
        return (
            "Profile `plain`: delivery is exactly once while links are up. A message published while a link "
            "is down does not cross it later. Retained messages are delivered again when a bridge reconnects."
        )
    listener_id, dialler_id = client_id("FROM", "TO"), local_client_id("FROM", "TO")
    return (
        "Profile `durable`: while a link is down or a broker restarts, messages queue at both ends and are "
        "delivered afterwards. Bridges use QoS 2, and a message gets the lower of its own QoS and theirs. "
        "Messages that clients publish with QoS 2 are delivered once even over restarts; those with QoS 1 "
        "sometimes arrive twice; those with QoS 0 do not queue. A broker that crashes loses the messages in "
        "its memory. Clients that must not miss messages while their own broker restarts need a persistent "
        "session too."
        "\n\n"
        f"When a topic leaves a bridge, a line `topic … {UNUSED_PREFIX}` unsubscribes from it at the other "
        "end; this line stays. When a bridge is removed, a session stays at each end: "
        f"`{listener_id}` at the broker that was dialled and `{dialler_id}` at the one that dialled. It "
        "queues messages until somebody ends it. `meshwright apply` ends sessions if it runs the brokers. "
        "Otherwise connect once with that id and a clean session: "
        "`mosquitto_sub -h HOST -p PORT -i ID -t x -E`."
    )


def _exceptions(trees: NamedTrees) -> list[str]:
    """List which brokers carry messages of topics that they did not subscribe to."""
    parts = []
    groups = {topic: tree for topic, tree in trees.trees.items() if tree.filters and tree.links}
    if groups:
        parts.append(
            "## Groups of filters\n\nFilters that can match a common topic form a group and share one tree. "
            "In each direction, a bridge carries only the filters that are wanted behind it. So a broker "
            "sees messages that it did not ask for only where it lies on the tree between others: it relays "
            "them."
        )
        rows = [row for topic, tree in groups.items() for row in _relay_rows(topic, tree)]
        table = ["| broker | relays | towards | group |", "| --- | --- | --- | --- |", *rows[:MOST_RELAYED]]
        if len(rows) > MOST_RELAYED:
            table.append(f"| … | and {len(rows) - MOST_RELAYED:,} more | | |")
        parts.append("\n".join(table) if rows else "In this federation no broker relays a message.")
    relayed = [(topic, sorted(tree.relays)) for topic, tree in trees.trees.items() if tree.relays]
    if relayed:
        listed = "; ".join(
            f"{escape_markdown_code(topic)}: {', '.join(map(escape_markdown, relays))}"
            for topic, relays in relayed[:MOST_RELAYED]
        )
        more = f"; and {len(relayed) - MOST_RELAYED:,} more" if len(relayed) > MOST_RELAYED else ""
        parts.append(f"Relays carry messages of topics that they do not subscribe to: {listed}{more}.")
    return parts


def _relay_rows(topic: str, tree: TopicTree) -> list[str]:
    """Return the rows of a table: which filters a broker relays that it does not hold, and towards whom."""
    lines = {(sender, receiver): filters for sender, receiver, filters in filters_by_link(topic, tree)}
    senders: dict[str, set[str]] = {}
    for sender, receiver in lines:
        senders.setdefault(receiver, set()).add(sender)
    rows = []
    for (broker, receiver), filters in sorted(lines.items()):
        others = senders.get(broker, set()) - {receiver}
        own = tree.filters.get(broker, frozenset())
        relayed = [one for one in filters if not any(covers(wide, one) for wide in own)]
        if others and relayed and broker not in tree.publishers:
            more = f" and {len(relayed) - 5} more" if len(relayed) > 5 else ""
            listed = ", ".join(map(escape_markdown, relayed[:5]))
            sender, other, carried = map(escape_markdown, (broker, receiver, topic))
            rows.append(f"| {sender} | {listed}{more} | {other} | {carried} |")
    return rows


def _how_bridges_change(settings: BrokerSettings) -> str:
    """Say which action makes a broker use changed bridges."""
    if settings.reloads:
        return (
            "Mosquitto 2.1 loads a new configuration on SIGHUP. If a broker loses several bridges at once, "
            "2.1.2 overlooks some of them: send the signal again, a second apart, four times for 15 bridges. "
            "Unchanged bridges are not affected."
        )
    return (
        "Bridges change when the dialling broker restarts: on SIGHUP, Mosquitto 2.0 ignores them and 2.1 "
        "loses queued messages."
    )


def _bridges_apart(inventory: Inventory) -> bool:
    """Return whether every broker has a port for bridges alone."""
    return all(endpoint.bridge_port for endpoint in inventory.endpoints.values())


def _security(inventory: Inventory, settings: BrokerSettings) -> list[str]:
    """Explain passwords and TLS, where they are used."""
    parts = []
    if settings.secret is not None:
        parts.append(
            "## Passwords\n\nEach bridge has its own user, whose access list contains the planned topics "
            "and nothing else: a misconfigured neighbour cannot leak messages. Clients of a broker connect "
            "as user `client` with the password in `client.password`. Keep the folders private."
            "\n\n"
            "What remains: access lists hold where a bridge is accepted, not where it dials. A broker "
            "that is dialled and was taken over can put messages on any topic into the brokers that dial it, "
            "since Mosquitto does not filter what arrives through its own bridges. So of two brokers the "
            "less trusted one should dial (`trust` in the inventory). Who steals the password of a bridge "
            "can read and write the topics of that bridge, and take its place."
            + ("" if _bridges_apart(inventory) else SHARED_PORT)
        )
    if any(endpoint.tls for endpoint in inventory.endpoints.values()):
        parts.append(
            "## TLS\n\nA broker with TLS needs `certs/ca.crt`, `certs/broker.crt` and `certs/broker.key` in "
            "its folder; brokers that dial it need `certs/ca.crt`. Each certificate must name the broker's "
            "host."
        )
    return parts


def _broker_table(wiring: Wiring, inventory: Inventory) -> str:
    """Return a table of brokers: folder, address and bridges of each."""
    rows = ["| broker | folder | address | dials | is dialled by |", "| --- | --- | --- | --- | --- |"]
    for broker in wiring.order[:MOST_ROWS]:
        cells = [
            escape_markdown(broker),
            f"`{folder_of(broker)}`",
            escape_markdown(inventory.endpoints[broker].address),
            ", ".join(escape_markdown(folder_of(other)) for other in wiring.dialled_by(broker)),
            ", ".join(escape_markdown(folder_of(other)) for other in wiring.dialled_to(broker)),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    more = len(wiring.order) - MOST_ROWS
    return "\n".join(rows) + (f"\n\n… and {more:,} more, in `federation.json`." if more > 0 else "")
