"""What is wrong with existing configurations: each finding with its place and a way to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from meshwright.deploy.findings import (
    DUPLICATE,
    FAULT,
    SEVERITIES,
    STORM,
    WARNING,
    Finding,
    Inspection,
    Place,
)
from meshwright.deploy.targets.mosquitto.credentials import (
    access_options,
    lets_anybody_in,
    why_no_login,
    why_no_tls,
)
from meshwright.deploy.targets.mosquitto.network import MOST_FILTERS, Link, Network
from meshwright.deploy.targets.mosquitto.options import likely_option
from meshwright.deploy.targets.mosquitto.parse import Listener, TopicLine, read_configurations
from meshwright.filters.mqtt import overlaps


def inspect(configurations: Iterable[str | Path], hosts: Mapping[str, tuple[str, int]]) -> Inspection:
    """Read existing configurations, follow their bridges, and find what is wrong."""
    network = Network(read_configurations(configurations), hosts)
    return Inspection(
        tuple(broker.name for broker in network.brokers),
        sum(len(broker.bridges) for broker in network.brokers),
        tuple(sorted(set(network.wanted()))),
        tuple(lint(network)),
    )


def lint(network: Network) -> list[Finding]:
    """Return all findings, the worst first."""
    found = [
        *_flows(network),
        *_overlapping_lines(network),
        *_echoes(network),
        *_dialled_twice(network),
        *_client_ids(network),
        *_nowhere(network),
        *_refused(network),
        *_invalid(network),
        *_everything(network),
        *_open_listeners(network),
        *_not_followed(network),
    ]
    return sorted(found, key=lambda one: (SEVERITIES.index(one.severity), one.place, one.kind))


def _flows(network: Network) -> Iterator[Finding]:
    """Follow messages, and report each loop and each pair of ways once, with the filter that carries it."""
    circles: dict[frozenset[Place], Finding] = {}
    twice: dict[frozenset[str], Finding] = {}
    for name in network.names():
        for broker in network.brokers:
            circle, arrived = network.follow(broker.name, name)
            if circle is not None:
                lines = [line for _, line in circle]
                brokers = tuple(hop.broker for hop, _ in circle)
                circles.setdefault(
                    frozenset(line.place for line in lines),
                    Finding(
                        STORM, "loop", lines[0].place,
                        f"messages such as {name!r} circle: {' → '.join([brokers[-1], *brokers])}",
                        "remove the topic from one of these bridges, or plan trees with meshwright",
                        brokers, tuple(dict.fromkeys(line.pattern for line in lines)),
                    ),
                )  # fmt: skip
                continue
            often = sorted(other for other, ways in arrived.items() if ways > 1)
            if often:
                place = next(link.bridge.place for link in network.links if often[0] in _ends(link))
                twice.setdefault(
                    frozenset(often),
                    Finding(
                        DUPLICATE, "two ways", place,
                        f"{name!r} from {broker.name} reaches {', '.join(often[:5])} by two ways, so it "
                        "arrives twice",
                        "carry the topic on one of the ways only",
                        tuple(often), (name,),
                    ),
                )  # fmt: skip
    yield from circles.values()
    yield from twice.values()


def _ends(link: Link) -> tuple[str, str]:
    return link.dialler.name, link.listener.name


def _overlaps_of(topics: Sequence[TopicLine]) -> Iterator[tuple[TopicLine, TopicLine]]:
    """Yield pairs of lines with different filters that carry a common topic in the same direction."""
    valid = [line for line in topics if not line.why_invalid]
    for place, one in enumerate(valid):
        for other in valid[place + 1 :]:
            ways = {one.direction, other.direction}
            sides = [
                *([(one.local, other.local)] if "in" not in ways else []),
                *([(one.remote, other.remote)] if "out" not in ways else []),
            ]
            if any(held != wanted and overlaps(held, wanted) for held, wanted in sides):
                yield one, other


def _overlapping_lines(network: Network) -> Iterator[Finding]:
    """With MQTT 5, a message that two lines of a bridge match crosses it twice."""
    for link in network.links:
        if link.bridge.protocol != "mqttv50":
            continue
        for one, other in _overlaps_of(link.bridge.topics):
            yield Finding(
                DUPLICATE, "overlap", other.place,
                f"{one.pattern!r} and {other.pattern!r} overlap on bridge {link.bridge.name!r}, and MQTT 5 "
                "delivers once for each",
                "set bridge_protocol_version mqttv311, or drop one of the lines",
                (link.dialler.name, link.listener.name), (one.pattern, other.pattern),
            )  # fmt: skip
            break


def _echoes(network: Network) -> Iterator[Finding]:
    """Without MQTT 5 or the private flag, a message comes back to the broker that sent it."""
    for link in network.links:
        both = [line for line in link.bridge.topics if line.direction == "both"]
        if both and not link.bridge.stops_echoes:
            yield Finding(
                DUPLICATE, "echo", both[0].place,
                f"bridge {link.bridge.name!r} sends messages on {both[0].pattern!r} back to where they came "
                "from",
                "remove try_private false, or set bridge_protocol_version mqttv50",
                (link.dialler.name, link.listener.name), (both[0].pattern,),
            )  # fmt: skip


def _dialled_twice(network: Network) -> Iterator[Finding]:
    """Report links between the same two brokers; the loops that they make are reported as such."""
    seen: dict[frozenset[str], str] = {}
    for link in network.links:
        pair = frozenset(_ends(link))
        if pair in seen:
            yield Finding(
                WARNING, "dialled twice", link.bridge.place,
                f"{link.dialler.name} and {link.listener.name} have two bridges, {seen[pair]!r} and "
                f"{link.bridge.name!r}",
                "keep one bridge, dialled from one end, with all topics",
                tuple(sorted(pair)),
            )  # fmt: skip
        seen.setdefault(pair, link.bridge.name)


def _client_ids(network: Network) -> Iterator[Finding]:
    """Clients with the same id at one broker disconnect each other, for ever."""
    seen: dict[tuple[str, str], str] = {}
    for link in network.links:
        ids = [
            (link.listener.name, link.bridge.remote_id),
            (link.dialler.name, link.bridge.options.get("local_clientid")),
        ]
        for at, client in ids:
            if client is None:
                continue
            other = seen.setdefault((at, client), link.bridge.name)
            if other is not link.bridge.name:
                yield Finding(
                    FAULT, "client id", link.bridge.place,
                    f"bridges {other!r} and {link.bridge.name!r} both are {client!r} at {at}, and disconnect "
                    "each other",
                    "give each its own remote_clientid and local_clientid",
                    (at,),
                )  # fmt: skip
    for broker in network.brokers:
        names: dict[str, Place] = {}
        for bridge in broker.bridges:
            if bridge.name in names:
                yield Finding(
                    FAULT, "client id", bridge.place,
                    f"{broker.name} has two connections {bridge.name!r}, which get the same client id",
                    "rename one of them",
                    (broker.name,),
                )  # fmt: skip
            names.setdefault(bridge.name, bridge.place)


def _nowhere(network: Network) -> Iterator[Finding]:
    """Report bridges without an address, and to addresses where no given broker listens."""
    for broker, bridge, address in network.lost:
        where = "has no address" if address is None else f"dials {address[0]}:{address[1]}"
        yield Finding(
            FAULT, "nowhere", bridge.place,
            f"bridge {bridge.name!r} {where}, where none of these brokers listens"
            if address
            else f"bridge {bridge.name!r} {where}",
            "correct the address, give the configuration of that broker too, or name its address with "
            "--inventory"
            if address
            else "give it the address of a broker",
            (broker.name,),
        )  # fmt: skip


def _refused(network: Network) -> Iterator[Finding]:
    """Report bridges that never come up: one end speaks TLS alone, or the listener refuses their user."""
    for link in network.links:
        listener, place = link.entrance, link.bridge.place
        if listener is None:
            continue
        passwords = _password_file(network, link, listener)
        for kind, found in (
            ("tls", why_no_tls(link.bridge, listener)),
            ("login", why_no_login(link.bridge, link.listener, listener, passwords)),
        ):
            if found is not None:
                text = f"bridge {link.bridge.name!r} to {link.listener.name}:{link.port} {found[0]}"
                yield Finding(FAULT, kind, place, text, found[1], _ends(link))
                break


def _password_file(network: Network, link: Link, listener: Listener) -> Path | None:
    """Return the password file of a listener, if it is beside the configuration.

    One with an absolute path is looked for there, too, if it can only be that of this broker:
    configurations are often copied from other machines.
    """
    stated = access_options(link.listener, listener).get("password_file")
    if stated is None:
        return None
    folder, path = Path(link.listener.file).parent, Path(stated)
    alone = sum(Path(broker.file).parent == folder for broker in network.brokers) == 1
    found = folder / (path.name if path.is_absolute() else path)
    return found if found.is_file() and (alone or not path.is_absolute()) else None


def _invalid(network: Network) -> Iterator[Finding]:
    """Report lines that the broker does not understand, and topic lines that never match."""
    for broker in network.brokers:
        for place, reason in broker.unreadable:
            yield Finding(FAULT, "syntax", place, reason, "correct the line", (broker.name,))
        for place, keyword in broker.unknown:
            meant = likely_option(keyword)
            yield Finding(
                FAULT, "option", place,
                f"{keyword!r} is not an option of Mosquitto 2, which does not start with it",
                f"did you mean {meant!r}?" if meant else "correct or remove the line",
                (broker.name,),
            )  # fmt: skip
        for bridge in broker.bridges:
            if bridge.addresses and not bridge.topics and not broker.unreadable:
                yield Finding(
                    FAULT, "syntax", bridge.place,
                    f"bridge {bridge.name!r} has no topics, and Mosquitto does not start with it",
                    "add a topic, or remove the connection",
                    (broker.name,),
                )  # fmt: skip
            for line in bridge.topics:
                if line.why_invalid:
                    yield Finding(
                        FAULT, "filter", line.place,
                        f"topic {line.pattern!r} never matches: {line.why_invalid}",
                        "correct the filter",
                        (broker.name,), (line.pattern,),
                    )  # fmt: skip


def _everything(network: Network) -> Iterator[Finding]:
    """Report bridges that carry everything: with one of them, each further link makes a loop."""
    for link in network.links:
        for line in link.bridge.topics:
            if line.local in ("#", "+/#") or line.remote in ("#", "+/#"):
                yield Finding(
                    WARNING, "everything", line.place,
                    f"bridge {link.bridge.name!r} carries everything ({line.pattern!r} {line.direction})",
                    "carry the filters that are wanted behind it",
                    (link.dialler.name, link.listener.name), (line.pattern,),
                )  # fmt: skip


def _open_listeners(network: Network) -> Iterator[Finding]:
    """Report listeners that let anybody in from other machines."""
    for broker in network.brokers:
        for listener in broker.listeners:
            if not listener.is_local and lets_anybody_in(broker, listener):
                yield Finding(
                    WARNING, "open listener", listener.place,
                    f"{broker.name} lets anybody in on port {listener.port}",
                    "set allow_anonymous false with a password_file, or listen on 127.0.0.1",
                    (broker.name,),
                )  # fmt: skip


def _not_followed(network: Network) -> Iterator[Finding]:
    """Say so if filters have too many intersections to follow them all: a storm may be missed."""
    if network.incomplete:
        yield Finding(
            WARNING, "not followed", network.links[0].bridge.place,
            f"the filters of these rings have more than {MOST_FILTERS:,} intersections; only the first ones "
            "were followed, so a loop may be missed",
            "use fewer or wider filters on these links",
        )  # fmt: skip
