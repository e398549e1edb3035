"""Change many files of a folder together: after an accident, the next start completes the change.

All new files are first written into `.update/` and flushed. Then a journal there says what to do, and from
that moment on the change counts as made: each new file is moved to its place, files to delete are deleted,
and at last the journal. A process that dies earlier changes nothing. If it dies later, `complete` does the
rest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from meshwright.errors import MeshwrightError, OutputError
from meshwright.files.atomic import locked, writing
from meshwright.files.real_folder import RealFolder

STAGE = ".update"
JOURNAL = f"{STAGE}/journal.json"
LOCK = ".lock"


@dataclass(frozen=True)
class FolderChange:
    """What to change in a folder, by paths relative to it."""

    writes: Mapping[str, tuple[bytes, int]] = field(default_factory=dict)
    """New content and mode of files; the last one is written last."""
    set_aside: Mapping[str, str] = field(default_factory=dict)
    """Files to rename before anything is written, with their new names."""
    removals: Mapping[str, str] = field(default_factory=dict)
    """Files to delete, each with the digest of its content; with another content it stays."""

    def __bool__(self) -> bool:
        return bool(self.writes or self.set_aside or self.removals)


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
                steps.append([staged, name])
            journal = {
                "set_aside": dict(change.set_aside), "writes": steps, "removals": dict(change.removals)
            }  # fmt: skip
            folder.create(f"{JOURNAL}.part", json.dumps(journal).encode(), 0o600)
            folder.move(f"{JOURNAL}.part", JOURNAL)
        except BaseException:
            _discard(folder)
            raise
        _complete(folder)


def complete(path: Path) -> None:
    """Complete a change that was interrupted, if there is one.

    Raises
    ------
    OutputError
        If the change cannot be completed, for example by a user who may not write here.
    """
    if not (path / STAGE).exists():
        return
    try:
        with locked(path / LOCK, path), RealFolder(path) as folder:
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
    text = folder.read(JOURNAL)
    if text is not None:
        journal = json.loads(text)
        for name, aside in journal["set_aside"].items():
            # Once something was written, the file at this name is already the new one.
            if all(folder.is_regular(staged) for staged, _ in journal["writes"]) and folder.is_regular(name):
                folder.move(name, aside)
        for staged, name in journal["writes"]:
            if folder.is_regular(staged):
                folder.move(staged, name)
        for name, known in journal["removals"].items():
            found = folder.read(name)
            if found is not None and digest(found) == known:
                folder.remove(name)
        folder.remove(JOURNAL)
    _discard(folder)


def _discard(folder: RealFolder) -> None:
    """Delete the stage and what is in it."""
    with suppress(FileNotFoundError), folder.parent(f"{STAGE}/x") as (stage, _):
        for name in os.listdir(stage):  # noqa: PTH208  (of an opened folder)
            os.unlink(name, dir_fd=stage)
        os.rmdir(STAGE, dir_fd=folder.descriptor)
    folder.flush()
