"""A federation as a folder: one folder for each broker, and the files that an operator needs around them.

Only files on the manifest's list are ours. Everything else in the folder belongs to its operator and stays.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from meshwright.deploy.drift import BrokerDrift, Drift, drift_of_brokers, find_drift
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.manifest import (
    DeployedFederation,
    describe,
    manifest_text,
    read_federation,
)
from meshwright.deploy.named_trees import NamedTrees
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import federation_files, mode_of
from meshwright.deploy.wiring import Wiring, check_broker_names, folder_of
from meshwright.errors import InputError, OutputError, first_five
from meshwright.files.atomic import holder, locked, new_folder
from meshwright.files.folder_change import (
    EDITED,
    FORMER,
    LOCK,
    CompletedFolder,
    FolderChange,
    change_folder,
    complete,
    digest,
)
from meshwright.files.header import FEDERATION, Kind, holds
from meshwright.files.real_folder import RealFolder

LOCK_FILE = "running.json"
"""Locked by the process that runs the brokers."""


def write_federation(
    trees: NamedTrees, wiring: Wiring, inventory: Inventory, settings: BrokerSettings, path: str | Path
) -> Path:
    """Write the folders of all brokers, whole or not at all; the same input gives the same bytes.

    In the folder of an existing federation, only files that are ours change.

    Raises
    ------
    InputError
        If there is a federation with another profile, version or secret.
    OutputError
        If something else is there, or a file that is not ours, or was edited, is in the way.
    """
    check_broker_names(wiring.order)
    checked = inventory.for_brokers(wiring.order)
    target = Path(path)
    if holds(target, FEDERATION):
        store = FederationFolder(target)
        with store.lock():
            settings = require_same_settings(target, settings)
            files = federation_files(trees, wiring, checked, settings)
            store.update(files, describe(wiring, checked, settings), overwrite_edits=False)
        return target
    files = federation_files(trees, wiring, checked, settings)
    manifest = manifest_text(describe(wiring, checked, settings, files))
    return write_new_folder(target, FEDERATION, {**files, FEDERATION.file: manifest}, settings)


def write_new_folder(path: Path, kind: Kind, files: Mapping[str, str], settings: BrokerSettings) -> Path:
    """Write a new folder with these texts, by their paths in it, each with the mode of its file."""
    with new_folder(path, kind) as folder, RealFolder(folder) as inside:
        inside.restrict(".")
        for name, text in files.items():
            inside.create(name, text.encode(), mode_of(name, settings), flush=False)
    return path


def require_same_settings(folder: Path, settings: BrokerSettings) -> BrokerSettings:
    """Refuse to change by export what brokers must learn in the right order; return the settings there."""
    deployed = read_federation(folder)
    different = [
        what
        for what, differs in (
            ("profile", deployed.settings.profile != settings.profile),
            (f"{settings.broker.product} version", deployed.settings.version != settings.version),
            ("kind of files", deployed.settings.fragment != settings.fragment),
            ("secret", deployed.settings.fingerprint != settings.fingerprint),
        )
        if differs
    ]
    if different:
        raise InputError(
            f"the federation in {folder} has another {', '.join(different)}: change it in waves with "
            "meshwright apply, or export to a new folder"
        )
    if deployed.rollout is not None:
        raise InputError(
            f"a change of {folder} is under way, {deployed.rollout.done} of {len(deployed.rollout.waves)} "
            "waves done: finish it with meshwright apply --wave next"
        )
    return replace(settings, identity=deployed.settings.identity)


class FederationFolder:
    """The folder of a federation, with its manifest: a store of rollouts."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    def read(self) -> DeployedFederation:
        """Return what the manifest says once an interrupted change is complete; nothing is written."""
        return read_federation(self.path)

    def lock(self) -> AbstractContextManager[None]:
        """Return a context in which no other run changes the folder, which must exist.

        Raises
        ------
        LockedError
            If another run still changes it after some seconds; the error names it.
        """
        return locked(self.path / LOCK, f"the federation in {self.path}")

    def drift(
        self, deployed: DeployedFederation, secret: bytes | None
    ) -> tuple[list[Drift], dict[str, BrokerDrift]]:
        """Return how files differ from what was written, and what that means for the links of brokers."""
        found = find_drift(self.path, deployed, secret)
        return found, drift_of_brokers(self.path, deployed, found)

    def require_free(self, files: Mapping[str, str]) -> None:
        """Check before a change of several waves that none of them will meet a file that is not ours.

        Raises
        ------
        OutputError
            If a file, folder or link that we did not write is in the way.
        """
        known = self.read().files
        with CompletedFolder(self.path) as inside:
            in_the_way = [
                name
                for name, text in files.items()
                if _is_foreign(inside.status(name), inside.read(name), text.encode(), known.get(name))
            ]
        _refuse(self.path, in_the_way)

    def update(
        self,
        files: Mapping[str, str],
        described: DeployedFederation,
        *,
        overwrite_edits: bool = True,
        only: bool = False,
        secured: bool | None = None,
    ) -> list[str]:
        """Bring files up to date, all together with the manifest, and return those that changed.

        It holds the folder's lock meanwhile. A change that was interrupted is completed first. The folders of
        brokers that are gone stay, without our files in them; their queues are set aside.

        Parameters
        ----------
        files
            The texts of all files, or with `only` of some; our other files are then deleted, or with `only`
            kept.
        described
            What the manifest will say; its list of files is filled in here.
        overwrite_edits
            Whether files that were edited by hand are replaced; they are set aside. Otherwise they are
            refused.
        secured
            Whether the files hold passwords, if that is not as described.
        """
        folder, broker_kind = self.path, described.settings.broker
        with self.lock():
            complete(folder)
            before = self.read()
            writes: dict[str, tuple[bytes, int]] = {}
            aside: dict[str, str] = {}
            removals: dict[str, str] = {}
            in_the_way = []
            with RealFolder(folder) as inside:
                for name, text in files.items():
                    content, mode = text.encode(), mode_of(name, described.settings, secured=secured)
                    status, found = inside.status(name), inside.read(name)
                    known = before.files.get(name)
                    if _is_foreign(status, found, content, known):
                        in_the_way.append(name)
                    elif (
                        status is not None and found != content and (found is None or digest(found) != known)
                    ):
                        if not overwrite_edits:
                            in_the_way.append(name)
                        elif found is not None:
                            aside[name] = name + EDITED
                    if found != content or status is None or not _fits(status.st_mode, mode):
                        writes[name] = (content, mode)
                obsolete = (
                    {} if only else {name: before.files[name] for name in before.files if name not in files}
                )
                for name, known in obsolete.items():
                    found = inside.read(name)
                    if found is None:
                        continue
                    if digest(found) == known:
                        removals[name] = known
                    elif overwrite_edits:
                        aside[name] = name + EDITED
                    else:
                        in_the_way.append(name)
                gone = () if only else set(before.wiring.order) - set(described.wiring.order)
                for broker in sorted(gone):
                    queues = f"{folder_of(broker)}/{broker_kind.queues}"
                    if inside.is_regular(queues):
                        aside[queues] = queues + FORMER
                _refuse(folder, in_the_way)
                kept = before.files if only else {}
                listed = {**kept, **{name: digest(text.encode()) for name, text in files.items()}}
                manifest = manifest_text(replace(described, files=listed)).encode()
                if inside.read(FEDERATION.file) != manifest:
                    writes[FEDERATION.file] = (manifest, 0o640)
                for below in sorted({"."} | {str(Path(name).parent) for name in files}):
                    if inside.status(below if below != "." else FEDERATION.file) is not None:
                        inside.restrict(below)
            change_folder(folder, FolderChange(writes, aside, removals))
        changed = [*writes, *aside, *removals]
        return list(dict.fromkeys(sorted(changed, key=lambda name: name == FEDERATION.file)))


def update_folders(
    trees: NamedTrees, wiring: Wiring, inventory: Inventory, settings: BrokerSettings, folder: Path
) -> list[str]:
    """Bring a federation's folders up to date, all files together; return the files that changed."""
    files = federation_files(trees, wiring, inventory, settings)
    return FederationFolder(folder).update(files, describe(wiring, inventory, settings))


def is_supervised(folder: Path) -> bool:
    """Return whether a live process keeps a federation running from this folder: it holds a lock there.

    Raises
    ------
    InputError
        If the lock file belongs to another user and cannot be read.
    """
    try:
        return is_locked(folder / LOCK_FILE)
    except PermissionError as error:
        raise InputError(
            f"cannot read {folder / LOCK_FILE}: run this as the user who runs the federation"
        ) from error


def is_locked(file: Path) -> bool:
    """Return whether a live process holds a lock file."""
    import fcntl

    try:
        with file.open("rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def require_stopped(folder: Path) -> None:
    """Refuse a folder whose federation is running: writing it again would pull it from under the brokers."""
    if is_supervised(folder):
        who = holder(folder / LOCK_FILE)
        raise InputError(f"the federation in {folder} is running, by {who}: stop it, or use meshwright apply")


def hold_running(folder: Path) -> AbstractContextManager[None]:
    """Return a context that tells others that this process runs the brokers of a folder."""
    return locked(folder / LOCK_FILE, f"the federation in {folder}", patience=5.0)


def _is_foreign(
    status: os.stat_result | None, found: bytes | None, content: bytes, known: str | None
) -> bool:
    """Return whether something that we did not write is in the place of a file."""
    return status is not None and found != content and (known is None or stat.S_ISDIR(status.st_mode))


def _refuse(folder: Path, in_the_way: list[str]) -> None:
    """Name the files that are in the way, if there are any."""
    if in_the_way:
        raise OutputError(
            f"{folder} has files that meshwright did not write, or that were edited since: "
            f"{first_five(sorted(in_the_way))}; move them away"
        )


def _fits(mode: int, wanted: int) -> bool:
    """Return whether a file's mode is as open as wanted, or less open but still for its owner."""
    return not stat.S_IMODE(mode) & ~wanted and mode & 0o600 == 0o600
