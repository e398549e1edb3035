"""Flush files and folders to the disk, and put a folder in the place of another one.

At every moment, also after a power cut, the old or the new folder is there, whole.

On Linux one system call exchanges the two (`renameat2` with `RENAME_EXCHANGE`). Elsewhere it takes two
renames. Their names are a journal: if the process dies between them, `restore` completes the exchange.

    .NAME.writing-ID    a folder that is being filled; worthless without its writer
    .NAME.ready-ID      a whole folder that is about to take its place
    .NAME.replaced-ID   the folder that was in its place before
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

WRITING, READY, REPLACED = "writing", "ready", "replaced"
RENAME_EXCHANGE = 2
AT_FDCWD = -100
UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
"""Errors of kernels, containers and file systems that cannot exchange two folders."""


def flush(path: str | Path) -> None:
    """Flush a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        flush_descriptor(descriptor)
    finally:
        os.close(descriptor)


def flush_descriptor(descriptor: int) -> None:
    """Flush an opened file or folder to the disk."""
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        with suppress(OSError):  # some network file systems cannot flush folders
            os.fsync(descriptor)
    else:
        os.fsync(descriptor)


def flush_tree(folder: str | Path) -> None:
    """Flush a folder and everything in it; symbolic links are not followed."""
    for _, _, files, descriptor in os.fwalk(folder, topdown=False):
        for name in files:
            if stat.S_ISREG(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=descriptor)
                try:
                    os.fsync(file)
                finally:
                    os.close(file)
        flush_descriptor(descriptor)


@contextmanager
def new_sibling(target: Path) -> Iterator[Path]:
    """Yield a new hidden folder next to the target, locked while this process lives; remove it afterwards."""
    beside, lock = _locked_sibling(target)
    try:
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        os.close(lock)


def take_place(beside: Path, target: Path) -> None:
    """Put a flushed folder in the place of the target, which may be missing; `beside` is gone afterwards."""
    if not target.exists():
        beside.rename(target)
        flush(target.parent)
        return
    if _exchange(beside, target):
        # The exchange must be on the disk before the old folder is deleted.
        flush(target.parent)
        shutil.rmtree(beside, ignore_errors=True)
        return
    ready, replaced = (
        target.with_name(beside.name.replace(f".{WRITING}-", f".{state}-")) for state in (READY, REPLACED)
    )
    beside.rename(ready)
    flush(target.parent)
    try:
        target.rename(replaced)
        flush(target.parent)
        ready.rename(target)
    except BaseException:
        if not target.exists():
            replaced.rename(target)
        shutil.rmtree(ready, ignore_errors=True)
        raise
    flush(target.parent)
    shutil.rmtree(replaced, ignore_errors=True)


def restore(target: Path) -> None:
    """Complete an exchange that was interrupted, if there is one: afterwards the target exists again."""
    with suppress(OSError):
        if target.exists():
            return
        for replaced in _siblings(target, REPLACED):
            ready = replaced.with_name(replaced.name.replace(f".{REPLACED}-", f".{READY}-"))
            with _lock_or_skip(ready if ready.exists() else replaced) as mine:
                if mine and not target.exists():
                    (ready if ready.exists() else replaced).rename(target)
                    flush(target.parent)


def remove_stale(target: Path) -> None:
    """Remove the folders of killed writers of this target: those that no process holds locked."""
    restore(target)
    if not target.exists():
        return
    for state in (WRITING, READY, REPLACED):
        for left in _siblings(target, state):
            with suppress(OSError), _lock_or_skip(left) as mine:
                if mine:
                    shutil.rmtree(left, ignore_errors=True)


def _locked_sibling(target: Path) -> tuple[Path, int]:
    """Make a hidden folder next to the target and lock it while this process lives."""
    while True:
        beside = target.with_name(f".{target.name}.{WRITING}-{uuid.uuid4().hex}")
        beside.mkdir()
        lock = os.open(beside, os.O_RDONLY)
        mine = True
        with suppress(OSError):  # a file system without locks: nobody removes stale folders there
            mine = _lock(lock)
        if mine and beside.is_dir():
            return beside, lock
        os.close(lock)  # another writer took it for a stale folder in the meantime


def _siblings(target: Path, state: str) -> list[Path]:
    prefix = f".{target.name}.{state}-"
    return sorted(path for path in target.parent.iterdir() if path.name.startswith(prefix))


@contextmanager
def _lock_or_skip(folder: Path) -> Iterator[bool]:
    """Try to lock a folder; yield whether no other process holds it."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        yield _lock(lock)
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


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return False where the system cannot."""
    call = _renameat2()
    if call is None:
        return False
    if call(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))


@cache
def _renameat2() -> Any:
    """Return the function of the C library, or None."""
    if not sys.platform.startswith("linux"):
        return None
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return call
