"""The manifest of a federation's folder, `federation.json`: what is deployed, and which files are ours."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from meshwright.deploy.inventory import BrokerRecord, Inventory, moved_brokers
from meshwright.deploy.rollout import Rollout, RolloutRecord
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import DEFAULT_TARGET, STOP, TARGETS
from meshwright.deploy.wiring import Direction, Wiring, folder_of
from meshwright.errors import FormatError, InputError, first_five
from meshwright.files.folder_change import CompletedFolder
from meshwright.files.header import FEDERATION, check_header, damaged, header_text, read_header
from meshwright.files.schema import Digest, Filter, InnerPath, Line

FIRST_WITH_FILES = 2
"""The first schema whose manifest lists the files that are ours."""


class ListedBroker(BrokerRecord, frozen=True, kw_only=True):
    """A broker in the manifest."""

    folder: Line | None = None


class BridgeRecord(Struct, forbid_unknown_fields=True):
    """A bridge in the manifest: its topics, each with its direction."""

    dialler: Line
    listener: Line
    topics: dict[Filter, Direction]


class FormerBridge(Struct, forbid_unknown_fields=True):
    """The topics that a durable bridge no longer carries."""

    dialler: Line
    listener: Line
    topics: tuple[Filter, ...]


class FederationHeader(Struct, forbid_unknown_fields=True):
    """The contents of `federation.json`."""

    format: str
    schema: int
    profile: str
    version: str
    """The version of the brokers' program; in the file, the field has the name of the target."""
    secret_fingerprint: Line | None
    brokers: tuple[ListedBroker, ...]
    bridges: tuple[BridgeRecord, ...]
    files: dict[InnerPath, Digest]
    fragment: bool = False
    identity: Digest | None = None
    taken_off: tuple[FormerBridge, ...] = ()
    gone: tuple[BrokerRecord, ...] = ()
    rollout: RolloutRecord | None = None


@dataclass(frozen=True)
class DeployedFederation:
    """A federation as the manifest of its folder describes it."""

    wiring: Wiring
    inventory: Inventory
    settings: BrokerSettings
    """Without the secret, which no file holds."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The files that are ours, by their paths in the folder, each with the digest of its content."""
    rollout: Rollout | None = None
    """The change that is under way, or None."""

    @property
    def current(self) -> Wiring:
        """The wiring in the files now: during a rollout, that after the last wave."""
        return self.wiring if self.rollout is None else self.rollout.current(self.wiring)

    @property
    def current_inventory(self) -> Inventory:
        """The endpoints of the brokers in the files now; during a rollout, those after it count.

        Brokers that are gone are included while bridges still dial them.
        """
        if self.rollout is None:
            return self.inventory
        endpoints = {**self.inventory.endpoints, **self.rollout.inventory.endpoints}
        current = self.current
        named = dict.fromkeys((*current.order, *(listener for _, listener in current.bridges)))
        return Inventory.during_change({broker: endpoints[broker] for broker in named})

    def during(self, rollout: Rollout | None) -> DeployedFederation:
        """Return what the manifest says during a rollout; one to another target begins where this one is."""
        if self.rollout is None or rollout is None or self.rollout.target == rollout.target:
            return replace(self, rollout=rollout)
        return replace(self, wiring=self.current, inventory=self.current_inventory, rollout=rollout)

    def must_restart(self, inventory: Inventory, settings: BrokerSettings) -> set[str]:
        """Return the brokers that must restart even if their bridges stay: those with another address.

        With another secret, profile or version, all brokers must restart: both ends of each bridge
        need the new password, and all bridges change.
        """
        same = (
            self.settings.fingerprint == settings.fingerprint
            and self.settings.profile == settings.profile
            and self.settings.version == settings.version
        )
        if not same:
            return self.inventory.endpoints.keys() & inventory.endpoints.keys()
        return moved_brokers(self.inventory, inventory)


def describe(
    wiring: Wiring,
    inventory: Inventory,
    settings: BrokerSettings,
    files: Mapping[str, str] | None = None,
) -> DeployedFederation:
    """Return what the manifest says of files by their texts."""
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in (files or {}).items()}
    bare = replace(settings, secret=None, identity=settings.identity_key)
    return DeployedFederation(wiring, inventory, bare, digests)


def read_federation(path: str | Path) -> DeployedFederation:
    """Read the manifest of a federation's folder, as it is once an interrupted change is complete.

    Raises
    ------
    InputError
        If the folder does not exist.
    FormatError
        If the folder is not a federation, has a newer schema, or is damaged.
    """
    folder = Path(path)
    text = None
    if folder.is_dir():
        with CompletedFolder(folder) as completed:
            text = completed.read(FEDERATION.file)
    content = read_header(folder, FEDERATION, text)
    if content["schema"] < FIRST_WITH_FILES:
        raise FormatError(
            f"{folder} was written by an earlier version, which did not record its files: "
            "export to a new folder, and move your own files there"
        )
    # The version of the brokers' program is listed under its name.
    target = next((name for name in TARGETS if name in content), DEFAULT_TARGET)
    stated = check_header(
        folder / FEDERATION.file,
        {"version" if name == target else name: value for name, value in content.items()},
        FederationHeader,
    )
    try:
        endpoints = {record.broker: record.endpoint for record in (*stated.brokers, *stated.gone)}
        order = tuple(record.broker for record in stated.brokers)
        Inventory({broker: endpoints[broker] for broker in order})  # no two share an address
        wiring = Wiring(
            order,
            {(bridge.dialler, bridge.listener): bridge.topics for bridge in stated.bridges},
            {(former.dialler, former.listener): former.topics for former in stated.taken_off},
        )
        settings = BrokerSettings(
            stated.profile,
            stated.version,
            identity=stated.identity,
            fragment=stated.fragment,
            fingerprint=stated.secret_fingerprint,
            target=target,
        )
        rollout = None if stated.rollout is None else stated.rollout.rollout
        _check_references(stated, wiring, rollout, endpoints.keys())
    except InputError as error:
        raise damaged(folder / FEDERATION.file, str(error)) from error
    return DeployedFederation(wiring, Inventory.during_change(endpoints), settings, stated.files, rollout)


def _check_references(
    stated: FederationHeader, wiring: Wiring, rollout: Rollout | None, known: Collection[str]
) -> None:
    """Check that brokers and bridges are stated once, and that steps and bridges are those of known brokers.

    Raises
    ------
    InputError
        If one is not; the message is a phrase for the end of a line.
    """
    there, waves = set(wiring.order), () if rollout is None else rollout.waves
    if len(there) < len(stated.brokers) or len(wiring.bridges) < len(stated.bridges):
        raise InputError("a broker or bridge is there twice")
    if rollout is not None:
        known = {*known, *rollout.inventory.endpoints}
        if rollout.done > len(waves):
            raise InputError(f"{rollout.done} of {len(waves)} waves are done")
    steps = [step for wave in waves for step in wave]
    named = {*chain(*wiring.bridges, *((step.broker, *(step.bridges or ())) for step in steps))}
    if not named <= set(known):
        raise InputError(f"it does not say where brokers {first_five(sorted(named - set(known)))} are")
    for step in steps:
        if step.action == STOP and step.broker not in there:
            raise InputError(f"a step stops {step.broker!r}, which is not there")
        (there.discard if step.action == STOP else there.add)(step.broker)


def exported_addresses(folders: Iterable[str | Path]) -> dict[str, tuple[str, int]]:
    """Return host and port of the brokers of federations, by the folder of each; other folders have none."""
    found: dict[str, tuple[str, int]] = {}
    for folder in map(Path, folders):
        if not (folder / FEDERATION.file).is_file():
            continue
        with suppress(FormatError):  # the configurations beside a manifest that cannot be read still can
            endpoints = read_federation(folder).current_inventory.endpoints
            found |= {folder_of(name): (one.host.lower(), one.port) for name, one in endpoints.items()}
    return found


def manifest_text(deployed: DeployedFederation) -> str:
    """Return the text of federation.json; `taken_off` holds the former topics of bridges."""
    wiring = deployed.wiring
    content: dict[str, Any] = {
        "profile": deployed.settings.profile,
        deployed.settings.target: deployed.settings.version,
        **({"fragment": True} if deployed.settings.fragment else {}),
        "secret_fingerprint": deployed.settings.fingerprint,
        "brokers": [
            {"broker": broker, "folder": folder_of(broker), **deployed.inventory.endpoints[broker].record()}
            for broker in wiring.order
        ],
        "bridges": _bridge_records(wiring.bridges),
        "files": dict(sorted(deployed.files.items())),
    }
    if deployed.settings.durable and wiring.former_topics:
        content["taken_off"] = _bridge_records(wiring.former_topics)
    if deployed.settings.identity is not None:
        content["identity"] = deployed.settings.identity
    gone = deployed.inventory.endpoints.keys() - set(wiring.order)
    if gone:
        content["gone"] = [
            {"broker": broker, **deployed.inventory.endpoints[broker].record()} for broker in sorted(gone)
        ]
    if deployed.rollout is not None:
        content["rollout"] = deployed.rollout.record()
    return header_text(FEDERATION, content)


def _bridge_records(bridges: Mapping[tuple[str, str], Any]) -> list[dict[str, Any]]:
    """Return bridges as records, each with its topics."""
    return [
        {"dialler": dialler, "listener": listener, "topics": topics}
        for (dialler, listener), topics in bridges.items()
    ]
