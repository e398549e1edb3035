"""Where each broker is and how the federation is set up; from CSV or YAML."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from meshwright.brokers.program import free_ports
from meshwright.errors import FormatError, InputError, MissingDependencyError, first_five

PROFILES = ("plain", "durable")
VERSIONS = ("2.0", "2.1")


@dataclass(frozen=True)
class Settings:
    """What an operator chooses for all brokers at once."""

    profile: str = "plain"
    """`plain`: exactly once while links are up. `durable`: both ends queue while a link is down, or a broker
    restarts."""
    version: str = "2.0"
    """The oldest Mosquitto there is: from 2.1 on, `plain` bridges change without a restart."""
    secret: bytes | None = None
    """What all passwords are derived from; without, there are neither passwords nor access lists."""

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise InputError(f"no profile {self.profile!r}: choose one of {', '.join(PROFILES)}")
        if self.version not in VERSIONS:
            raise InputError(f"no Mosquitto {self.version!r}: choose one of {', '.join(VERSIONS)}")
        if self.secret is not None and len(self.secret) < 16:
            raise InputError("the secret is shorter than 16 bytes: make one with openssl rand -hex 32")

    @property
    def durable(self) -> bool:
        """Whether sessions last: brokers keep them, and what is queued in them, while somebody is away."""
        return self.profile == "durable"

    @property
    def reloads(self) -> bool:
        """Whether bridges change by a reload: from 2.1 on, but not where sessions last: it loses queues."""
        return self.version == "2.1" and not self.durable

    @property
    def qos(self) -> int:
        """The quality of service of bridges: who queues must know what has come, or it comes twice."""
        return 2 if self.durable else 1


COLUMNS = ("broker", "host", "port")
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}


@dataclass(frozen=True)
class Place:
    """Where a broker listens."""

    host: str
    port: int
    tls: bool = False

    @property
    def address(self) -> str:
        """Host and port as a bridge names them: Mosquitto takes what follows the last colon for the port."""
        return f"{self.host}:{self.port}"

    @property
    def loopback(self) -> str | None:
        """The address of this machine that only it can reach, if the host is one."""
        if self.host.lower() == "localhost":
            return "127.0.0.1"
        try:
            return self.host if ip_address(self.host).is_loopback else None
        except ValueError:
            return None


@dataclass(frozen=True)
class Inventory:
    """The place of each broker, by name."""

    places: Mapping[str, Place]

    def __post_init__(self) -> None:
        taken: dict[tuple[str, int], str] = {}
        for broker, place in self.places.items():
            # Every name and address of loopback is this one machine.
            host = "localhost" if place.loopback else place.host.lower()
            other = taken.setdefault((host, place.port), broker)
            if other != broker:
                raise InputError(
                    f"brokers {other!r} and {broker!r} are both at {place.address}: give each its own port"
                )

    @classmethod
    def loopback(cls, brokers: Iterable[str], first_port: int = 18830) -> Inventory:
        """Return a place on this machine for each broker, with ports in a row."""
        return cls({broker: Place("127.0.0.1", first_port + i) for i, broker in enumerate(brokers)})

    def of(self, brokers: Iterable[str]) -> Inventory:
        """Return the places of exactly these brokers.

        Raises
        ------
        InputError
            If a broker has no place, or a place is of no such broker.
        """
        wanted = list(brokers)
        missing = [broker for broker in wanted if broker not in self.places]
        if missing:
            raise InputError(f"the inventory has no brokers {first_five(missing)}: add a line for each")
        unknown = sorted(set(self.places) - set(wanted))
        if unknown:
            raise InputError(
                f"the inventory names the unknown brokers {first_five(unknown)}: take them out, "
                "or give the plan that has them"
            )
        return Inventory({broker: self.places[broker] for broker in wanted})


def moved(before: Inventory, after: Inventory) -> set[str]:
    """Return the brokers that are in both, at another address or with another kind of connection."""
    both = before.places.keys() & after.places.keys()
    return {broker for broker in both if before.places[broker] != after.places[broker]}


def extended(inventory: Inventory, brokers: Iterable[str]) -> Inventory:
    """Return the places of these brokers: known ones stay where they are, new ones get a free port here.

    Raises
    ------
    InputError
        If a broker is new and the others are not on this machine.
    """
    places = {broker: inventory.places[broker] for broker in brokers if broker in inventory.places}
    new = [broker for broker in brokers if broker not in places]
    if new and not all(place.loopback for place in inventory.places.values()):
        raise InputError(f"nobody says where the new brokers {first_five(new)} are: give an inventory")
    used = {place.port for place in inventory.places.values()}
    ports = (port for port in free_ports(len(new) + len(used)) if port not in used)
    places |= {broker: Place("127.0.0.1", port) for broker, port in zip(new, ports, strict=False)}
    return Inventory({broker: places[broker] for broker in brokers})


def read_inventory(path: str | Path) -> Inventory:
    """Read an inventory: CSV with the columns broker, host, port and perhaps tls, or the same as YAML.

    YAML is a list of such records, or a mapping of each broker to its host, port and tls.

    Raises
    ------
    InputError
        If nothing is there, something is missing or wrong, or two brokers have the same place.
    FormatError
        If the file is not what its name says.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"no inventory {file}: nothing is there")
    ending = file.suffix.lower()
    if ending not in (".csv", ".yaml", ".yml"):
        raise InputError(f"{file} ends in none of .csv, .yaml, .yml: rename it")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{file} is not UTF-8 text: save it as UTF-8") from error
    records = _csv(file, text) if ending == ".csv" else _yaml(file, text)
    places: dict[str, Place] = {}
    for number, record in records:
        broker, place = _place(f"{file}: {number}", record)
        if broker in places:
            raise InputError(f"{file}: {number}: broker {broker!r} is there twice: keep one")
        places[broker] = place
    try:
        return Inventory(places)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error


def _csv(file: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    rows = csv.DictReader(text.splitlines())
    absent = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
    if absent:
        raise InputError(
            f"{file} has no column {first_five(absent)}: the first line names broker,host,port,tls"
        )
    return [(f"line {number}", dict(row)) for number, row in enumerate(rows, start=2)]


def _yaml(file: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise MissingDependencyError("PyYAML is not installed: pip install 'meshwright[mqtt]'") from error
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise FormatError(f"{file} is not YAML: {' '.join(str(error).split())}") from error
    if isinstance(content, dict) and isinstance(content.get("brokers"), (dict, list)):
        content = content["brokers"]
    if isinstance(content, dict):
        content = [
            {"broker": broker, **(place if isinstance(place, dict) else {})}
            for broker, place in content.items()
        ]
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise FormatError(f"{file} is no inventory: give a list of broker, host, port, tls")
    return [(f"record {number}", record) for number, record in enumerate(content, start=1)]


def _place(where: str, record: Mapping[str, Any]) -> tuple[str, Place]:
    broker, host, port = (str(record.get(column) or "").strip() for column in COLUMNS)
    if not broker:
        raise InputError(f"{where} names no broker: give its name")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not host or any(letter.isspace() for letter in host):
        raise InputError(f"{where}: broker {broker!r} has host {host!r}: give a name or address")
    if not port.isdecimal() or not 1 <= int(port) <= 65_535:
        raise InputError(f"{where}: broker {broker!r} has port {port!r}: give a number from 1 to 65535")
    tls = TRUTH.get(str(record.get("tls", "") if record.get("tls") is not None else "").strip().lower())
    if tls is None:
        raise InputError(f"{where}: broker {broker!r} has tls {record['tls']!r}: give true or false")
    return broker, Place(host, int(port), tls)
