"""Change many files of a folder together: after an accident, the next writer completes the change.

All new files are first written into `.update/` and flushed. Then a journal there says what to do, and from
that moment on the change counts as made: each new file is moved to its place, files to delete are deleted,
the last file is moved, and at last the journal is deleted. A process that dies earlier changes nothing. If it
dies later, the next writer does the rest. Readers write nothing: they read the staged files instead.

A journal is data from a shared folder, too. It may name only files that the folder's manifest lists.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from meshwright.errors import FormatError, MeshwrightError, OutputError, first_five
from meshwright.files.atomic import writing
from meshwright.files.header import FEDERATION, parse_json
from meshwright.files.real_folder import RealFolder
from meshwright.files.schema import END, Digest, InnerPath, parse_record

STAGE = ".update"
JOURNAL = f"{STAGE}/journal.json"
LOCK = ".lock"
EDITED, FORMER = ".edited", ".former"
"""Endings of files that are set aside: edited by hand before we replaced them, or queues of a gone broker."""

Staged: TypeAlias = Annotated[str, Meta(pattern=rf"^\.update/\d+{END}", description="a staged file")]
Found = TypeVar("Found")


@dataclass(frozen=True)
class FolderChange:
    """What to change in a folder, by paths relative to it."""

    writes: Mapping[str, tuple[bytes, int]] = field(default_factory=dict)
    """New content and mode of files; the last one is written last, after everything else is done."""
    set_aside: Mapping[str, str] = field(default_factory=dict)
    """Files to rename before anything is written, with their new names."""
    removals: Mapping[str, str] = field(default_factory=dict)
    """Files to delete, each with the digest of its content; with another content it stays."""

    def __bool__(self) -> bool:
        return bool(self.writes or self.set_aside or self.removals)


class Journal(Struct, frozen=True, forbid_unknown_fields=True):
    """What is left to do of a change."""

    set_aside: dict[InnerPath, InnerPath]
    writes: tuple[tuple[Staged, InnerPath], ...]
    removals: dict[InnerPath, Digest]


class Listing(Struct):
    """What a manifest says of the files that are ours."""

    files: dict[InnerPath, Digest]


class CompletedFolder(RealFolder):
    """A folder as it is once the change in its journal is made, for readers: nothing is written.

    A writer may be at work meanwhile. So a file is read again if the journal is another one afterwards.
    """

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of a file, staged or not."""
        return self._completed(super().status, name)

    def read(self, name: str) -> bytes | None:
        """Return the content of a regular file, staged or not."""
        return self._completed(super().read, name)

    def _completed(self, look: Callable[[str], Found | None], name: str) -> Found | None:
        while True:
            before = self._journal_seen()
            journal = None if before is None else _read_journal(self, super().read(JOURNAL))
            staged = {} if journal is None else {to: at for at, to in journal.writes}
            found = look(staged[name]) if name in staged else None
            found = look(name) if found is None else found
            if self._journal_seen() == before:
                return found

    def _journal_seen(self) -> tuple[int, int] | None:
        """Return what tells one journal from the next."""
        status = super().status(JOURNAL)
        return None if status is None else (status.st_ino, status.st_mtime_ns)


def digest(content: bytes) -> str:
    """Return the digest of a file's content."""
    return hashlib.sha256(content).hexdigest()


def change_folder(path: Path, change: FolderChange) -> None:
    """Make a change, whole or not at all; the caller holds the folder's lock.

    Raises
    ------
    OutputError
        If something cannot be written; then nothing has changed.
    """
    if not change:
        return
    with writing(path), RealFolder(path) as folder:
        _complete(folder)
        steps = []
        try:
            for number, (name, (content, mode)) in enumerate(change.writes.items()):
                staged = f"{STAGE}/{number}"
                folder.create(staged, content, mode)
                folder.give_to_owner_of_folder(staged, name)
                steps.append((staged, name))
            journal = Journal(dict(change.set_aside), tuple(steps), dict(change.removals))
            text = json.dumps(msgspec.to_builtins(journal))
            folder.create(f"{JOURNAL}.part", text.encode(), 0o600)
            folder.move(f"{JOURNAL}.part", JOURNAL)
        except BaseException:
            _discard(folder)
            raise
        _complete(folder)


def complete(path: Path) -> None:
    """Complete a change that was interrupted, if there is one; the caller holds the folder's lock.

    Raises
    ------
    FormatError
        If its journal is damaged, or names files that are not ours; then nothing has changed.
    OutputError
        If the change cannot be completed, for example by a user who may not write here.
    """
    if not (path / STAGE).exists():
        return
    try:
        with RealFolder(path) as folder:
            _complete(folder)
    except MeshwrightError:
        raise
    except OSError as error:
        raise OutputError(
            f"a change of {path} was interrupted and cannot be completed: {error.strerror or error}; "
            "open it as the user who owns it"
        ) from error


def _complete(folder: RealFolder) -> None:
    """Do what the journal says, as far as it is not yet done; without a journal, discard what was staged."""
    journal = _read_journal(folder, folder.read(JOURNAL))
    if journal is not None and not _is_done(folder, journal):
        _check_names(folder, journal)
        for name, aside in journal.set_aside.items():
            # Once something was written, the file at this name is already the new one.
            if all(folder.is_regular(staged) for staged, _ in journal.writes) and folder.is_regular(name):
                folder.move(name, aside)
        for staged, name in journal.writes[:-1]:
            if folder.is_regular(staged):
                folder.move(staged, name)
        for name, known in journal.removals.items():
            found = folder.read(name)
            if found is not None and digest(found) == known:
                folder.remove(name)
        for staged, name in journal.writes[-1:]:
            folder.move(staged, name)
    folder.remove(JOURNAL)
    _discard(folder)


def _read_journal(folder: RealFolder, text: bytes | None) -> Journal | None:
    """Return the journal of this text, or None if there is none; whatever it names is inside the folder."""
    if text is None:
        return None
    try:
        return parse_record(parse_json(text.decode()), Journal)
    except ValueError as error:
        raise _damaged(folder, str(error)) from error


def _is_done(folder: RealFolder, journal: Journal) -> bool:
    """Return whether only the journal is left to delete: the last file is at its place."""
    return bool(journal.writes) and not folder.is_regular(journal.writes[-1][0])


def _check_names(folder: RealFolder, journal: Journal) -> None:
    """Refuse a journal that names files which neither the manifest here nor the staged one lists.

    A file of somebody else is never replaced or deleted, and a file is only set aside in its own folder.
    """
    places = {name: staged for staged, name in journal.writes}
    before = _listed(folder, FEDERATION.file)
    after = _listed(folder, places.get(FEDERATION.file, FEDERATION.file))
    folders = {name.partition("/")[0] for name in (*before, *after) if "/" in name}

    def is_ours(name: str, staged: str) -> bool:
        return (
            name in (*before, FEDERATION.file)
            or not folder.is_regular(staged)
            or (name in after and (folder.status(name) is None or folder.read(name) == folder.read(staged)))
        )

    foreign = [
        *(name for name, staged in places.items() if not is_ours(name, staged)),
        *(name for name, known in journal.removals.items() if before.get(name) != known),
        *(
            name
            for name, aside in journal.set_aside.items()
            if aside not in (name + EDITED, name + FORMER)
            or (name not in before and name.partition("/")[0] not in folders)
        ),
    ]
    if foreign:
        raise _damaged(folder, f"it names files that {FEDERATION.file} does not list: {first_five(foreign)}")


def _listed(folder: RealFolder, manifest: str) -> dict[str, str]:
    """Return the files that a manifest lists, with their digests."""
    try:
        return parse_record(parse_json((folder.read(manifest) or b"").decode()), Listing).files
    except ValueError as error:
        raise _damaged(folder, f"{manifest}: {error}") from error


def _damaged(folder: RealFolder, why: str) -> FormatError:
    """Return the error for a journal that we did not write."""
    stage = folder.path / STAGE
    return FormatError(
        f"{folder.path / JOURNAL} is damaged: {why}; remove {stage}, then meshwright diff --drift shows what "
        "is half done, and meshwright apply repairs it"
    )


def _discard(folder: RealFolder) -> None:
    """Delete the stage and what is in it."""
    with suppress(FileNotFoundError), folder.parent(f"{STAGE}/x") as (stage, _):
        for name in os.listdir(stage):  # noqa: PTH208  (of an opened folder)
            os.unlink(name, dir_fd=stage)
        os.rmdir(STAGE, dir_fd=folder.descriptor)
    folder.flush()
