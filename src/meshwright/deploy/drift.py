"""Drift: what somebody changed by hand in the files of a federation, by file and line.

What is in the files counts as what the brokers do. So the repair comes first in the waves of a change: lines
that were added are removed before anything else happens.
"""

from __future__ import annotations

import difflib
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from meshwright.deploy.manifest import DeployedFederation
from meshwright.deploy.passwords import SHORTEST_SECRET, fingerprint
from meshwright.deploy.targets import mode_of
from meshwright.deploy.wiring import TopicLine, folder_of
from meshwright.files.folder_change import CompletedFolder, digest


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
    texts, target = _written_texts(deployed, secret), deployed.settings.broker
    found: list[Drift] = []
    with CompletedFolder(folder) as inside:
        for name, known in sorted(deployed.files.items()):
            status, content = inside.status(name), inside.read(name)
            if status is None:
                found.append(Drift(name, None, "it is missing"))
            elif content is None:
                found.append(Drift(name, None, "it is not a regular file"))
            elif digest(content) != known:
                expected = texts.get(name)
                shown = _line_drift(
                    name, expected, content.decode(errors="replace"), target.mask, masked=secret is None
                )
                found += shown or [Drift(name, None, "it has changed")]
            if status is not None and stat.S_ISREG(status.st_mode):
                mode = stat.S_IMODE(status.st_mode)
                widest = mode_of(name, deployed.settings)
                if mode & ~widest:
                    found.append(Drift(name, None, f"its mode is {mode:04o}, more open than {widest:04o}"))
    return found


def _written_texts(deployed: DeployedFederation, secret: bytes | None) -> dict[str, str]:
    """Return the texts of brokers' files as they were written; with any secret where it is not known."""
    known = secret or (b"-" * SHORTEST_SECRET if deployed.settings.secured else None)
    settings = replace(deployed.settings, secret=known)
    wiring, inventory = deployed.current, deployed.current_inventory
    texts = {}
    for broker in wiring.order:
        for name, text in settings.broker.broker_files(wiring, inventory, settings, broker).items():
            if secret is not None or not deployed.settings.secured or "password" not in name:
                texts[f"{folder_of(broker)}/{name}"] = text
    return texts


def _line_drift(
    name: str, expected: str | None, found: str, mask: Callable[[str], str], *, masked: bool
) -> list[Drift]:
    """Compare two texts line by line; passwords are never shown."""
    if expected is None:
        return []
    old, new = ((mask(text) if masked else text).splitlines() for text in (expected, found))
    drift = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            drift += [Drift(name, c + 1, f"removed: {mask(line)}") for line in old[a:b]]
            drift += [
                Drift(name, number, f"added: {mask(line)}")
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
    target = deployed.settings.broker
    links_file = target.links_file(deployed.settings)
    result = {}
    with CompletedFolder(folder) as inside:
        for own in sorted(files.keys() & brokers.keys()):
            broker = brokers[own]
            if links_file in files[own]:
                text = (inside.read(f"{own}/{links_file}") or b"").decode(errors="replace")
                there = target.read_links(text, deployed.current_inventory)
                planned = deployed.current.lines_of(broker)
                result[broker] = BrokerDrift(frozenset(there - planned), frozenset(planned - there), True)
            elif files[own] & set(target.access_files):
                result[broker] = BrokerDrift()
    return result
