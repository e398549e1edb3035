"""Drift: what somebody changed by hand in the files of a federation, by file and line.

What is in the files counts as what the brokers do. So the repair comes first in the waves of a change: lines
that were added are removed before anything else happens.
"""

from __future__ import annotations

import difflib
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.brokers.processes import CONFIGURATION
from meshwright.deploy.folder_store import mode_of
from meshwright.deploy.settings import SHORTEST_SECRET, fingerprint
from meshwright.deploy.targets.mosquitto.fragments import FRAGMENT
from meshwright.deploy.targets.mosquitto.render import broker_files
from meshwright.deploy.wiring import OUT, folder_of
from meshwright.files.folder_change import digest
from meshwright.files.real_folder import RealFolder

if TYPE_CHECKING:
    from meshwright.deploy.delta import TopicLine
    from meshwright.deploy.inventory import Inventory
    from meshwright.deploy.manifest import DeployedFederation

PASSWORD = re.compile(r"^(\s*(?:remote_password|bridge_psk)\s).*", re.MULTILINE)
MASK = r"\1…"
"""What replaces passwords where they cannot be compared, and wherever they would be shown."""
ACCESS_FILES = ("passwords", "access", "bridges.passwords", "bridges.access")
"""Files that a broker reads again on a reload."""


@dataclass(frozen=True)
class Drift:
    """One difference between a file and what was written."""

    file: str
    line: int | None
    """The number of the line in the file, or where it should be; None for the whole file."""
    what: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.what}"


@dataclass(frozen=True)
class BrokerDrift:
    """What the drift of one broker's files means for its bridges."""

    extra: frozenset[TopicLine] = frozenset()
    """Lines of bridges that were added by hand."""
    missing: frozenset[TopicLine] = frozenset()
    """Lines of bridges that were removed by hand."""
    restart: bool = False
    """Whether the configuration differs at all."""


def find_drift(folder: Path, deployed: DeployedFederation, secret: bytes | None = None) -> list[Drift]:
    """Return how the files of a federation differ from what was written.

    Without the secret that the files were written with, password lines are not compared one by one, only by
    the digest of the file.
    """
    if fingerprint(secret) != deployed.settings.fingerprint:
        secret = None  # a new one: the passwords in the files are not derived from it
    texts = _written_texts(deployed, secret)
    found: list[Drift] = []
    with RealFolder(folder) as inside:
        for name, known in sorted(deployed.files.items()):
            status, content = inside.status(name), inside.read(name)
            if status is None:
                found.append(Drift(name, None, "it is missing"))
            elif content is None:
                found.append(Drift(name, None, "it is not a regular file"))
            elif digest(content) != known:
                expected = texts.get(name)
                shown = _line_drift(name, expected, content.decode(errors="replace"), masked=secret is None)
                found += shown or [Drift(name, None, "it has changed")]
            if status is not None and stat.S_ISREG(status.st_mode):
                mode, widest = stat.S_IMODE(status.st_mode), mode_of(name, deployed.secured)
                if mode & ~widest:
                    found.append(Drift(name, None, f"its mode is {mode:04o}, more open than {widest:04o}"))
    return found


def _written_texts(deployed: DeployedFederation, secret: bytes | None) -> dict[str, str]:
    """Return the texts of brokers' files as they were written; with any secret where it is not known."""
    known = secret or (b"-" * SHORTEST_SECRET if deployed.secured else None)
    settings = replace(deployed.settings, secret=known)
    wiring, inventory = deployed.current, deployed.current_inventory
    texts = {}
    for broker in wiring.order:
        for name, text in broker_files(wiring, inventory, settings, broker).items():
            if secret is not None or not deployed.secured or "password" not in name:
                texts[f"{folder_of(broker)}/{name}"] = text
    return texts


def _line_drift(name: str, expected: str | None, found: str, *, masked: bool) -> list[Drift]:
    """Compare two texts line by line; passwords are never shown."""
    if expected is None:
        return []
    old, new = ((PASSWORD.sub(MASK, text) if masked else text).splitlines() for text in (expected, found))
    drift = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            drift += [Drift(name, c + 1, f"removed: {PASSWORD.sub(MASK, line)}") for line in old[a:b]]
            drift += [
                Drift(name, number, f"added: {PASSWORD.sub(MASK, line)}")
                for number, line in enumerate(new[c:d], start=c + 1)
            ]
    return drift


def drift_of_brokers(
    folder: Path, deployed: DeployedFederation, drift: Iterable[Drift]
) -> dict[str, BrokerDrift]:
    """Return what drift means for the bridges of each broker that has any."""
    files: dict[str, set[str]] = {}
    for each in drift:
        own, _, name = each.file.partition("/")
        if not each.what.startswith("its mode"):
            files.setdefault(own, set()).add(name)
    brokers = {folder_of(broker): broker for broker in deployed.current.order}
    bridges_file = FRAGMENT if deployed.settings.fragment else CONFIGURATION
    result = {}
    with RealFolder(folder) as inside:
        for own in sorted(files.keys() & brokers.keys()):
            broker = brokers[own]
            if bridges_file in files[own]:
                text = (inside.read(f"{own}/{bridges_file}") or b"").decode(errors="replace")
                there = bridge_lines(text, deployed.current_inventory)
                planned = {
                    (listener, topic, way)
                    for listener, topics in deployed.current.dialled_by(broker).items()
                    for topic, way in topics.items()
                }
                result[broker] = BrokerDrift(frozenset(there - planned), frozenset(planned - there), True)
            elif files[own] & set(ACCESS_FILES):
                result[broker] = BrokerDrift()
    return result


def bridge_lines(text: str, inventory: Inventory) -> set[TopicLine]:
    """Read the topic lines of all bridges in a mosquitto.conf, ours and others.

    The listener of a bridge to an unknown address is that address. Lines of topics that a durable bridge no
    longer carries do not count.
    """
    names: Mapping[str, str] = {
        address: name
        for name, endpoint in inventory.endpoints.items()
        for address in (endpoint.address, endpoint.bridge_address)
    }
    lines: set[TopicLine] = set()
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
