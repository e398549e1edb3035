"""Files and folders, by path or URL, that appear whole or not at all.

They are written next to their final path, flushed, and then renamed or exchanged. A killed writer or a power
cut leaves the previous file or folder, and a hidden `.writing-…` file or `.NAME.writing-…` folder. Readers
ignore these, and the next writer of a folder removes the hidden folders of killed writers.

In a folder, we own the files that its `Kind` names. Files of others go with it into the new folder.

- At a URL, where there is no exchange, `files.remote` writes the description of a folder last.
- The folder of a federation cannot be exchanged: its brokers run in it. `files.folder_change` changes files
  there in place, together.

There is one writer at a time, and a second one learns who the first is. A lock is a small file that its
holder keeps locked with `flock`; the system frees it when the holder dies. The file says who holds it and
since when. A thread may take a lock that it already holds.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from meshwright.errors import InputError, LockedError, MeshwrightError, OutputError
from meshwright.files.exchange import flush, flush_tree, new_sibling, remove_stale, restore, take_place
from meshwright.files.header import DATASET, KINDS, Kind, holds
from meshwright.files.urls import local_path, require_local

PATIENCE = 30.0
"""Seconds that a second writer waits for the first."""
PAUSE = 0.05
"""Seconds between two tries."""

_held: dict[tuple[str, int], int] = {}
"""How often each thread has taken each lock."""


@contextmanager
def locked(file: Path, what: object, *, patience: float | None = None) -> Iterator[None]:
    """Hold the lock file of something while the block runs; wait for another holder for some seconds.

    Raises
    ------
    LockedError
        If another process or thread still holds the lock; the error names it.
    """
    key = (os.path.realpath(file), threading.get_ident())
    if key not in _held:
        descriptor = _acquire(file, what, PATIENCE if patience is None else patience)
    _held[key] = _held.get(key, 0) + 1
    try:
        yield
    finally:
        _held[key] -= 1
        if not _held[key]:
            del _held[key]
            with suppress(OSError):
                file.unlink()
            os.close(descriptor)


def holder(file: Path) -> str:
    """Describe who holds a lock, from the content of its file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(content["since"])))
        return f"process {content['pid']} on {content['host']} ({content['command']}), since {since}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def describe_this_process() -> str:
    """Return the content of a lock file: who holds it, and since when."""
    command = " ".join([Path(sys.argv[0] or "python").name, *sys.argv[1:2]])
    fields = {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": time.time()}
    return json.dumps(fields)


def _acquire(file: Path, what: object, patience: float) -> int:
    """Open and lock a lock file, and write down who holds it."""
    import fcntl

    end = time.monotonic() + patience
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            if time.monotonic() > end:
                raise LockedError(f"{what} is in use by {holder(file)}: try again when it is done") from None
            time.sleep(PAUSE)
            continue
        except OSError:  # a file system without locks: go on without one
            return descriptor
        # The holder before us deletes the file: then we have locked a file that nobody else finds.
        if _same_file(descriptor, file):
            with suppress(OSError):  # on a full disk the lock holds, too; it only has no name
                os.truncate(descriptor, 0)
                os.write(descriptor, describe_this_process().encode())
            return descriptor
        os.close(descriptor)


def _same_file(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.lstat())
    except FileNotFoundError:
        return False


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
def new_file(path: str | Path, *, flushed: bool = True) -> Iterator[Path]:
    """Yield a path to write to; on success that file replaces `path`, on any error it is removed.

    The temporary file is hidden, in the same folder, with the same suffix. If `path` is not a regular file,
    such as /dev/stdout, it is yielded itself. At a URL, the file is written on this machine and then copied.
    A file that is not `flushed` is whole, too, unless the power is cut.

    Raises
    ------
    OutputError
        If the path cannot be written.
    """
    if local_path(path) is None:
        from meshwright.files.remote import new_remote_file

        with new_remote_file(os.fspath(path)) as beside:
            yield beside
        return
    with writing(path):
        target = Path(os.path.realpath(_local(path)))
        if target.exists() and not target.is_file():
            yield target
            return
        beside = target.with_name(f".writing-{uuid.uuid4().hex}{target.suffix}")
        try:
            yield beside
            if flushed:
                flush(beside)
            beside.replace(target)
            if flushed:
                flush(target.parent)
        finally:
            beside.unlink(missing_ok=True)


def check_target(path: str | Path, kind: str) -> None:
    """Raise an OutputError if a folder of this kind cannot be written to a path or URL."""
    local, wanted = local_path(path), next(known for known in KINDS if known.name == kind)
    if local is not None:
        check_free(Path(local), wanted)
        check_place(path)
        return
    from meshwright.files.remote import check_bucket, check_remote_place

    if wanted == DATASET:
        check_bucket(str(path))  # a dataset that is only half written may be replaced
    else:
        check_remote_place(str(path), wanted)


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

    Files of others in the old folder are in the new one, too, except where it has a file of that name. At a
    URL, the folder is written on this machine and then copied.

    Raises
    ------
    OutputError
        If the path cannot be written, or holds something other than an empty folder or one of this kind.
    """
    if local_path(path) is None:
        from meshwright.files.remote import new_remote_folder

        with new_remote_folder(os.fspath(path).rstrip("/"), kind) as folder:
            yield folder
        return
    with writing(path):
        target = Path(os.path.realpath(_local(path)))
        check_free(target, kind)
        target.parent.mkdir(parents=True, exist_ok=True)
        with one_writer(target):
            restore(target)
            with new_sibling(target) as beside:
                yield beside
                flush_tree(beside)
                _carry(target, beside, kind)
                # It may have changed while the new one was being written.
                check_free(target, kind)
                take_place(beside, target)
            remove_stale(target)


def _carry(old: Path, new: Path, kind: Kind) -> None:
    """Give a new folder the files of others that are in the old one, which keeps them until it goes."""
    made: dict[Path, Path] = {}
    for folder, folders, files in os.walk(old):
        for name in (*files, *folders):
            file = Path(folder, name)
            inner = file.relative_to(old)
            target = new / inner
            is_folder = file.is_dir() and not file.is_symlink()
            if is_folder or kind.owns(inner.as_posix()) or os.path.lexists(target):
                continue
            for above in reversed(inner.parents[:-1]):
                if not (new / above).exists():
                    (new / above).mkdir()
                    made[new / above] = old / above
            try:
                os.link(file, target, follow_symlinks=False)
            except OSError:  # a file system without hard links
                shutil.copy2(file, target, follow_symlinks=False)
                if not target.is_symlink():
                    flush(target)
            made.setdefault(target.parent, old / inner.parent)
    for folder_made, like in reversed(made.items()):
        if folder_made != new:
            shutil.copystat(like, folder_made)
        flush(folder_made)


def one_writer(target: str | Path) -> AbstractContextManager[None]:
    """Return a context in which no other process or thread writes the folder `target`.

    Raises
    ------
    LockedError
        If another one still writes it after some seconds; the error names it.
    """
    if local_path(target) is None:
        return nullcontext()  # an object store has no locks
    real = Path(os.path.realpath(_local(target)))
    return locked(real.with_name(f".{real.name}.lock"), target)


def check_free(target: Path, kind: Kind) -> None:
    """Raise an OutputError unless the path is free, an empty folder, or a folder of the same kind."""
    if target.is_dir():
        if any(target.iterdir()) and not holds(target, kind):
            what = f"{target} holds something other than a {kind.name}"
            if (target / kind.file).exists():
                raise OutputError(
                    f"{what}, or its {kind.file} is damaged: choose another path, or restore it"
                )
            raise OutputError(f"{what}: choose another path, or empty it")
    elif target.exists():
        raise OutputError(f"{target} is a file, and a {kind.name} is a folder: choose another path")
