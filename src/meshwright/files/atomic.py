"""Files and folders that appear whole or not at all.

They are written next to their final path and then renamed. A killed writer leaves the previous file or
folder, and a hidden `.writing-…` file or `.NAME.writing-…` folder. Readers ignore these, and the next writer
of a folder removes the hidden folders of killed writers.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from meshwright.errors import InputError, MeshwrightError, OutputError
from meshwright.files.header import Kind, holds
from meshwright.files.urls import require_local


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn errors while writing into one line that names the path.

    Raises
    ------
    OutputError
        If the path cannot be written.
    """
    try:
        yield
    except MeshwrightError:
        raise
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}; choose another path, or free some space"
        ) from error


@contextmanager
def new_file(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to; on success that file replaces `path`, on any error it is removed.

    The temporary file is hidden, in the same folder, with the same suffix. If `path` is not a regular file,
    such as /dev/stdout, it is yielded itself.

    Raises
    ------
    OutputError
        If the path cannot be written.
    """
    with writing(path):
        target = Path(os.path.realpath(_local(path)))
        if target.exists() and not target.is_file():
            yield target
            return
        beside = target.with_name(f".writing-{uuid.uuid4().hex}{target.suffix}")
        try:
            yield beside
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)


def check_place(path: str | Path) -> None:
    """Check before long work that its result can be written to a path.

    Missing parent folders are fine: the writer makes them.

    Raises
    ------
    OutputError
        If the path cannot be written.
    """
    above = next(folder for folder in _local(path).absolute().parents if folder.exists())
    if not above.is_dir():
        raise OutputError(f"cannot write {path}: {above} is a file; choose another path")
    try:
        with tempfile.TemporaryFile(dir=above):  # permissions alone are not conclusive
            pass
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}, in {above}; choose another path"
        ) from error


def _local(path: str | Path) -> Path:
    """Return a path that can be written; a URL must not become a folder of that name."""
    try:
        return require_local(path)
    except InputError as error:
        raise OutputError(str(error)) from error


@contextmanager
def new_folder(path: str | Path, kind: Kind) -> Iterator[Path]:
    """Yield a folder to fill; on success it replaces `path`, on any error it is removed.

    Raises
    ------
    OutputError
        If the path cannot be written, or holds something other than an empty folder or one of this kind.
    """
    with writing(path):
        target = Path(os.path.realpath(_local(path)))
        check_free(target, kind)
        target.parent.mkdir(parents=True, exist_ok=True)
        beside, lock = _locked_sibling(target)
        try:
            yield beside
            _take_place(beside, target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
            os.close(lock)
        _remove_stale(target)


def check_free(target: Path, kind: Kind) -> None:
    """Raise an OutputError unless the path is free, an empty folder, or a folder of the same kind."""
    if target.is_dir():
        if any(target.iterdir()) and not holds(target, kind):
            raise OutputError(
                f"{target} holds something other than a {kind.name}: choose another path, or empty it"
            )
    elif target.exists():
        raise OutputError(f"{target} is a file, and a {kind.name} is a folder: choose another path")


def _locked_sibling(target: Path) -> tuple[Path, int]:
    """Make a hidden folder next to the target and lock it while this process lives."""
    while True:
        beside = _sibling(target)
        beside.mkdir()
        lock = os.open(beside, os.O_RDONLY)
        mine = True
        with suppress(OSError):  # a file system without locks: nobody removes stale folders there
            mine = _lock(lock)
        if mine and beside.is_dir():
            return beside, lock
        os.close(lock)  # another writer took it for a stale folder in the meantime


def _take_place(beside: Path, target: Path) -> None:
    if not target.exists():
        beside.rename(target)
        return
    # rename cannot replace a non-empty folder: move the old one aside, and back on failure.
    aside = _sibling(target)
    try:
        target.rename(aside)
        beside.rename(target)
    except BaseException:
        if not target.exists():
            aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _remove_stale(target: Path) -> None:
    """Remove the folders of killed writers of this target: those that no process holds locked."""
    for left in target.parent.iterdir():
        if not left.name.startswith(_prefix(target)):
            continue
        with suppress(OSError):
            lock = os.open(left, os.O_RDONLY)
            try:
                if _lock(lock):
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(lock)


def _lock(descriptor: int) -> bool:
    """Try to lock a folder; the system releases the lock when the process ends."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _prefix(target: Path) -> str:
    return f".{target.name}.writing-"


def _sibling(target: Path) -> Path:
    return target.with_name(f"{_prefix(target)}{uuid.uuid4().hex}")
