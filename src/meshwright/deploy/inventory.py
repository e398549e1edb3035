"""The inventory: the host and port of each broker, read from CSV or YAML."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, structs

from meshwright.brokers.processes import free_ports
from meshwright.errors import FormatError, InputError, MissingDependencyError, first_five
from meshwright.files.schema import END, Count, Line, check_fields, parse_record
from meshwright.files.urls import check_inventory_size

COLUMNS = ("broker", "host", "port")
BOOLEANS = {"yes": "true", "no": "false"}
"""Further spellings of the column `tls`, in lower case."""
Host: TypeAlias = Annotated[str, Meta(pattern=rf"^[\w.:%-]+{END}", description="a name or address")]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65_535)]


class Endpoint(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a broker listens."""

    host: Host
    port: Port
    tls: bool = False
    bridge_port: Port | None = None
    """The port for bridges alone, used with a secret; without it, bridges share the port of clients."""
    trust: Count = 0
    """How far the broker is trusted: of two brokers, the less trusted one dials."""
    user: Line | None = None
    """For fragments: the user as whom bridges log in here."""
    password_file: Line | None = None
    """For fragments: the file, on this machine, with the password of that user."""
    ca_file: Line | None = None
    """For fragments: the certificate, on the machines that dial this broker, that signs its own."""
    config: Line | None = None
    """For fragments: the broker's own configuration, if it can be read here, to check it."""

    def __post_init__(self) -> None:
        check_fields(self)

    def record(self) -> dict[str, Any]:
        """Return the endpoint as a record for the manifest: without what is not given."""
        required = ("host", "port", "tls")
        return {name: value for name, value in structs.asdict(self).items() if value or name in required}

    @property
    def address(self) -> str:
        """Host and port as links name them; the port is after the last colon, IPv6 or not."""
        return f"{self.host}:{self.port}"

    @property
    def ports(self) -> set[int]:
        """The ports that the broker listens on."""
        return {self.port} if self.bridge_port is None else {self.port, self.bridge_port}

    @property
    def bridge_address(self) -> str:
        """Host and port that bridges dial."""
        return f"{self.host}:{self.bridge_port or self.port}"

    @property
    def loopback(self) -> str | None:
        """The loopback address that the host stands for, or None if the host is not on loopback."""
        if self.host.lower() == "localhost":
            return "127.0.0.1"
        try:
            return self.host if ip_address(self.host).is_loopback else None
        except ValueError:
            return None


class BrokerRecord(Endpoint, frozen=True, kw_only=True):
    """A broker in an inventory, or in a manifest."""

    broker: Line

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens."""
        return Endpoint(*(getattr(self, name) for name in Endpoint.__struct_fields__))


@dataclass(frozen=True)
class Inventory:
    """The endpoint of each broker, by name; no two brokers share one."""

    endpoints: Mapping[str, Endpoint]

    def __post_init__(self) -> None:
        taken: dict[tuple[str, int], str] = {}
        for broker, endpoint in self.endpoints.items():
            # All loopback names and addresses are the same machine.
            host = "localhost" if endpoint.loopback else endpoint.host.lower()
            for port in sorted(endpoint.ports):
                if (host, port) in taken:
                    raise InputError(
                        f"brokers {taken[host, port]!r} and {broker!r} are both at {endpoint.host}:{port}: "
                        "give each its own port"
                    )
                taken[host, port] = broker

    @classmethod
    def during_change(cls, endpoints: Mapping[str, Endpoint]) -> Inventory:
        """Return the endpoints in the middle of a change: a broker may already have another's address."""
        mixed = object.__new__(cls)
        object.__setattr__(mixed, "endpoints", endpoints)
        return mixed

    @classmethod
    def on_loopback(cls, brokers: Iterable[str], first_port: int = 18830) -> Inventory:
        """Return an inventory of brokers on this machine, with consecutive ports."""
        return cls({broker: Endpoint("127.0.0.1", first_port + i) for i, broker in enumerate(brokers)})

    def for_brokers(self, brokers: Iterable[str]) -> Inventory:
        """Return the inventory in the order of these brokers, which must be exactly those that it names.

        Raises
        ------
        InputError
            If a broker is missing from the inventory, or the inventory names another one.
        """
        wanted = list(brokers)
        missing = [broker for broker in wanted if broker not in self.endpoints]
        if missing:
            raise InputError(f"the inventory has no brokers {first_five(missing)}: add a line for each")
        unknown = sorted(set(self.endpoints) - set(wanted))
        if unknown:
            raise InputError(
                f"the inventory names the unknown brokers {first_five(unknown)}: remove them, "
                "or use the plan that has them"
            )
        return Inventory({broker: self.endpoints[broker] for broker in wanted})


def moved_brokers(before: Inventory, after: Inventory) -> set[str]:
    """Return the brokers of both inventories whose host, port or TLS changed."""
    both = before.endpoints.keys() & after.endpoints.keys()
    return {broker for broker in both if before.endpoints[broker] != after.endpoints[broker]}


def extend_inventory(inventory: Inventory, brokers: Iterable[str], *, must_place: bool = True) -> Inventory:
    """Return the inventory of these brokers: known ones keep their endpoint, new ones get a free local port.

    If a broker is new and the others are not all on this machine, it is left out unless `must_place`.

    Raises
    ------
    InputError
        If a broker is new, the others are not all on this machine, and `must_place`.
    """
    wanted = list(brokers)
    new = [broker for broker in wanted if broker not in inventory.endpoints]
    if new and not all(endpoint.loopback for endpoint in inventory.endpoints.values()):
        if must_place:
            raise InputError(f"the new brokers {first_five(new)} have no address: give an inventory")
        wanted, new = [broker for broker in wanted if broker in inventory.endpoints], []
    used = set().union(*(endpoint.ports for endpoint in inventory.endpoints.values()))
    apart = any(endpoint.bridge_port for endpoint in inventory.endpoints.values())
    known = {**inventory.endpoints, **free_endpoints(new, apart=apart, used=used)}
    return Inventory({broker: known[broker] for broker in wanted})


def free_endpoints(
    brokers: Collection[str], *, tls: bool = False, apart: bool = False, used: Collection[int] = ()
) -> dict[str, Endpoint]:
    """Return endpoints on free ports of this machine that are not `used`; `apart` gives bridges their own."""
    ports = (port for port in free_ports(2 * len(brokers) + len(used)) if port not in used)
    return {
        broker: Endpoint("127.0.0.1", next(ports), tls, bridge_port=next(ports) if apart else None)
        for broker in brokers
    }


def read_inventory(path: str | Path) -> Inventory:
    """Read an inventory: CSV with the columns broker, host, port, or the same as YAML.

    Optional columns are tls, bridge_port and trust.

    YAML is a list of such records, or a mapping from each broker to its host, port and tls. For fragments
    there may also be user, password_file, ca_file and config; relative paths of files that are read here
    start in the inventory's folder.

    Raises
    ------
    InputError
        If the file does not exist, a value is missing or wrong, or two brokers have the same address.
    FormatError
        If the file is not the CSV or YAML that its name says.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"no inventory {file}: nothing is there, check the path")
    ending = file.suffix.lower()
    if ending not in (".csv", ".yaml", ".yml"):
        raise InputError(f"{file} does not end in .csv, .yaml or .yml: rename it")
    check_inventory_size(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{file} is not UTF-8 text: save it as UTF-8") from error
    records = _csv_records(file, text) if ending == ".csv" else _yaml_records(file, text)
    endpoints: dict[str, Endpoint] = {}
    for place, record in records:
        broker, endpoint = _parse_record(f"{file}: {place}", record, file.absolute().parent)
        if broker in endpoints:
            raise InputError(f"{file}: {place}: broker {broker!r} occurs twice: keep one")
        endpoints[broker] = endpoint
    try:
        return Inventory(endpoints)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error


def _csv_records(file: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return each row with its place in the file."""
    rows = csv.DictReader(text.splitlines())
    absent = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
    if absent:
        raise InputError(
            f"{file} has no column {first_five(absent)}: the first line must be broker,host,port,tls"
        )
    return [(f"line {number}", dict(row)) for number, row in enumerate(rows, start=2)]


def _yaml_records(file: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return each record with its place in the file."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise MissingDependencyError("PyYAML is not installed: pip install 'meshwright[mqtt]'") from error

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Aliases, of which a few lines can make billions of records, are refused."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise InputError(f"{file}: line {mark.line + 1} has an alias: write the record out")
            return super().compose_node(parent, index)

    try:
        content = yaml.load(text, Loader)  # nosec B506: a SafeLoader
    except RecursionError as error:
        raise FormatError(f"{file} is not an inventory: it is nested too deeply") from error
    except yaml.YAMLError as error:
        raise FormatError(f"{file} is not YAML: {' '.join(str(error).split())}") from error
    if isinstance(content, dict) and isinstance(content.get("brokers"), (dict, list)):
        content = content["brokers"]
    if isinstance(content, dict):
        content = [
            {"broker": broker, **(fields if isinstance(fields, dict) else {})}
            for broker, fields in content.items()
        ]
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise FormatError(f"{file} is not an inventory: give a list of broker, host, port, tls")
    return [(f"record {number}", record) for number, record in enumerate(content, start=1)]


def _parse_record(place: str, record: Mapping[str, Any], folder: Path) -> tuple[str, Endpoint]:
    """Return a record's broker and endpoint; `place` is where errors say it is."""
    given = {str(name): str(value).strip() for name, value in record.items() if value is not None}
    given = {name: value for name, value in given.items() if value}
    if "broker" not in given:
        raise InputError(f"{place} has no broker: give its name")
    if "host" in given:
        given["host"] = re.sub(r"^\[(.*)\]$", r"\1", given["host"])
    if "tls" in given:
        given["tls"] = BOOLEANS.get(given["tls"].lower(), given["tls"])
    for name in ("password_file", "config"):
        if name in given:
            given[name] = str(folder / given[name])
    try:
        read = parse_record(given, BrokerRecord, lax=True)
    except ValueError as error:
        raise InputError(f"{place}: broker {given['broker']!r}: {error}; correct it") from error
    if read.bridge_port == read.port:
        raise InputError(f"{place}: broker {read.broker!r} has the same port twice: give bridges their own")
    return read.broker, read.endpoint
