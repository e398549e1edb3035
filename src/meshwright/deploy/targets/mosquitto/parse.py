"""Existing Mosquitto configurations: listeners and bridges, each with the file and line where it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from meshwright.deploy.findings import Place
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.targets.mosquitto.options import is_option, likely_option
from meshwright.deploy.wiring import OUT
from meshwright.errors import FormatError, InputError
from meshwright.filters.mqtt import has_wildcard, why_invalid

DEFAULT_PORT = 1883
TLS_PORT = 8883
MAIN_NAMES = ("mosquitto", "meshwright", "broker", "main")
"""Names of files that are called after the program, so that the broker has the name of their folder."""


@dataclass
class TopicLine:
    """One `topic` line of a bridge."""

    place: Place
    pattern: str
    direction: str = "out"
    local_prefix: str = ""
    remote_prefix: str = ""

    @property
    def local(self) -> str:
        """The filter at the broker that dials."""
        return self.local_prefix + self.pattern

    @property
    def remote(self) -> str:
        """The filter at the broker that is dialled."""
        return self.remote_prefix + self.pattern

    @property
    def why_invalid(self) -> str | None:
        """Why one of its filters never matches, or None."""
        return why_invalid(self.local) or why_invalid(self.remote)


@dataclass
class Bridge:
    """One `connection` of a configuration."""

    place: Place
    name: str
    addresses: list[tuple[str, int]] = field(default_factory=list)
    topics: list[TopicLine] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    @property
    def protocol(self) -> str:
        """The version of MQTT that it speaks: mqttv311 unless stated."""
        return self.options.get("bridge_protocol_version", "mqttv311")

    @property
    def stops_echoes(self) -> bool:
        """Whether the other end does not send a message back: by MQTT 5, or by Mosquitto's private flag."""
        return self.protocol == "mqttv50" or self.options.get("try_private", "true") != "false"

    @property
    def user(self) -> str | None:
        """The user that it is at the other end, if one is stated."""
        return self.options.get("remote_username") or self.options.get("username")

    @property
    def password(self) -> str:
        """The password of that user; empty if none is stated."""
        return self.options.get("remote_password") or self.options.get("password", "")

    @property
    def shows_certificate(self) -> bool:
        """Whether it has a certificate of its own."""
        return "bridge_certfile" in self.options

    @property
    def remote_id(self) -> str | None:
        """The client id at the other end, if it is stated."""
        return self.options.get("remote_clientid") or self.options.get("clientid")


@dataclass
class Listener:
    """A port on which a broker listens."""

    place: Place
    port: int
    host: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host in (None, ""):
            return False
        if str(self.host).lower() == "localhost":
            return True
        try:
            return ip_address(str(self.host)).is_loopback
        except ValueError:
            return False


@dataclass
class BrokerConfiguration:
    """What lint needs to know of one broker."""

    name: str
    file: str
    listeners: list[Listener] = field(default_factory=list)
    bridges: list[Bridge] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    included: list[Path] = field(default_factory=list)
    include_places: list[tuple[str, Place]] = field(default_factory=list)
    """Every `include_dir`, with its place."""
    unreadable: list[tuple[Place, str]] = field(default_factory=list)
    """Lines that cannot be understood, with reasons."""
    unknown: list[tuple[Place, str]] = field(default_factory=list)
    """Options that Mosquitto does not know, with their places."""
    known: int = 0
    """The number of lines with options that it knows."""


def read_configurations(paths: Iterable[str | Path]) -> list[BrokerConfiguration]:
    """Read brokers from files and folders; a folder has one broker for each `.conf` that no other includes.

    Raises
    ------
    InputError
        If a path does not exist, or there is no configuration.
    FormatError
        If a file is not text, or has no option of Mosquitto.
    """
    files: list[Path] = []
    for given in map(Path, paths):
        if given.is_dir():
            files += sorted(given.rglob("*.conf"))
        elif given.is_file():
            files.append(given)
        else:
            raise InputError(f"no file or folder {given}: nothing is there, check the path")
    if not files:
        raise InputError("there is no .conf file: give configurations of Mosquitto, or folders with some")
    read = {file.resolve(): _read(file) for file in dict.fromkeys(files)}
    included = {part.resolve() for broker in read.values() for part in broker.included}
    brokers = [broker for file, broker in read.items() if file not in included]
    _name_brokers(brokers)
    return brokers


def _name_brokers(brokers: list[BrokerConfiguration]) -> None:
    """Name brokers after their files, or after their folders where files have the same name."""
    for broker in brokers:
        path = Path(broker.file)
        parents = [part for part in path.resolve().parent.parts if part != "/"]
        broker.name = parents[-1] if path.stem.lower() in MAIN_NAMES and parents else path.stem
    taken = Counter(broker.name for broker in brokers)
    for broker in brokers:
        if taken[broker.name] > 1:
            broker.name = broker.file


def _read(file: Path) -> BrokerConfiguration:
    broker = BrokerConfiguration(file.stem, str(file))
    _read_into(broker, file, set())
    if broker.unknown and not broker.known:
        place, keyword = broker.unknown[0]
        meant = likely_option(keyword)
        hint = f"did you mean {meant!r}?" if meant else "give a mosquitto.conf, or a folder with some"
        raise FormatError(
            f"{file} is not a Mosquitto configuration: it has no option of Mosquitto, but {keyword[:40]!r} "
            f"in line {place.line}; {hint}"
        )
    if not broker.listeners:
        port = broker.options.get("port", str(DEFAULT_PORT))
        place = Place(str(file), 1)
        broker.listeners.append(Listener(place, int(port) if port.isdecimal() else DEFAULT_PORT, "localhost"))
    return broker


def _lines(file: Path) -> Iterator[tuple[Place, str, str]]:
    """Yield place, keyword and value of each line that states something."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{file} is not UTF-8 text: give a configuration of Mosquitto") from error
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    for number, line in enumerate(text.split("\n"), start=1):
        keyword, _, value = line.strip().partition(" ")
        if keyword and not keyword.startswith("#"):
            yield Place(str(file), number), keyword, value.strip()


def _read_into(broker: BrokerConfiguration, file: Path, seen: set[Path]) -> None:
    """Read a file, and the files that it includes, into a broker."""
    if file.resolve() in seen:
        return
    seen.add(file.resolve())
    bridge: Bridge | None = None
    for place, keyword, value in _lines(file):
        if not is_option(keyword):
            broker.unknown.append((place, keyword))
            continue
        broker.known += 1
        if keyword == "connection":
            bridge = Bridge(place, value)
            broker.bridges.append(bridge)
        elif keyword == "include_dir":
            broker.include_places.append((value, place))
            for part in _included(file, value):
                broker.included.append(part)
                _read_into(broker, part, seen)
        elif keyword == "listener":
            port, _, host = value.partition(" ")
            if port.isdecimal():
                broker.listeners.append(Listener(place, int(port), host.strip() or None))
            else:
                broker.unreadable.append((place, f"listener {value!r} has no port"))
        elif keyword == "port" and value.isdecimal() and value != "0":
            broker.listeners.append(Listener(place, int(value), broker.options.get("bind_address")))
        elif bridge is None and keyword in ("address", "addresses", "topic"):
            broker.unreadable.append((place, f"{keyword} stands before any connection"))
        elif bridge is not None and keyword in ("address", "addresses"):
            bridge.addresses += [_address(part, bridge) for part in value.split()]
        elif bridge is not None and keyword == "topic":
            _read_topic(broker, bridge, place, value)
        elif bridge is not None and (keyword == "password" or keyword.startswith(BRIDGE_PREFIXES)):
            bridge.options[keyword] = value
        else:
            broker.options.setdefault(keyword, value)
            if broker.listeners:
                broker.listeners[-1].options.setdefault(keyword, value)


BRIDGE_PREFIXES = (
    "bridge_", "remote_", "local_", "try_private", "cleansession", "clientid", "notification", "start_type",
    "restart_timeout", "keepalive_interval", "idle_timeout", "round_robin", "threshold", "username",
)  # fmt: skip
"""The beginnings of options that belong to the last connection."""


def _address(text: str, bridge: Bridge) -> tuple[str, int]:
    """Return host and port; the port stands after the last colon."""
    host, found, port = text.rpartition(":")
    if found and port.isdecimal():
        return host.strip("[]").lower(), int(port)
    tls = any(name in bridge.options for name in ("bridge_cafile", "bridge_capath", "bridge_psk"))
    return text.lower(), TLS_PORT if tls else DEFAULT_PORT


def _read_topic(broker: BrokerConfiguration, bridge: Bridge, place: Place, value: str) -> None:
    """Read `topic PATTERN [DIRECTION [QOS [LOCAL [REMOTE]]]]`."""
    words = [("" if word == '""' else word) for word in value.split(" ") if word]
    if not words or (len(words) > 1 and words[1] not in ("in", "out", "both")) or len(words) > 5:
        reason = f"topic {value!r} is not PATTERN, in, out or both, QoS and two prefixes"
        broker.unreadable.append((place, reason))
        return
    words += ["out", "0", "", ""][len(words) - 1 :]
    pattern, direction, qos, *prefixes = words
    wild = next((prefix for prefix in prefixes if has_wildcard(prefix)), None)
    if wild is not None:
        broker.unreadable.append((place, f"topic {pattern!r} has a prefix with a wildcard, {wild!r}"))
    elif not pattern and not all(prefixes):
        broker.unreadable.append((place, "topic '' needs two prefixes"))
    else:
        if qos not in ("0", "1", "2"):
            broker.unreadable.append((place, f"topic {pattern!r} has QoS {qos!r}, not 0, 1 or 2"))
        bridge.topics.append(TopicLine(place, pattern, direction, *prefixes))


def _included(file: Path, folder: str) -> list[Path]:
    """Return the files that `include_dir` reads: all `.conf` of a folder, in order.

    It is first looked for beside the file, by its last name: configurations are often copied from other
    machines.
    """
    path = Path(folder)
    for candidate in (file.parent / path.name, file.parent / path, path):
        if candidate.is_dir():
            return sorted(part for part in candidate.iterdir() if part.suffix == ".conf")
    return []


def bridge_lines(text: str, inventory: Inventory) -> set[tuple[str, str, str]]:
    """Read the topic lines of all bridges in a mosquitto.conf, ours and others.

    The listener of a bridge to an unknown address is that address. Lines of topics that a durable bridge no
    longer carries do not count.
    """
    names: Mapping[str, str] = {
        address: name
        for name, endpoint in inventory.endpoints.items()
        for address in (endpoint.address, endpoint.bridge_address)
    }
    lines = set()
    listener = "?"
    for line in text.splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if words[0] == "connection":
            listener = "?"
        elif words[0] in ("address", "addresses") and len(words) > 1:
            listener = names.get(words[1], words[1])
        elif words[0] == "topic" and len(words) > 1:
            local = words[4] if len(words) > 4 else '""'
            if local == '""':
                lines.add((listener, words[1], words[2] if len(words) > 2 else OUT))
    return lines
