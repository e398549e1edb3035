"""Locks that name their holder: one writer at a time, and a second one learns who the first is.

A lock is a small file that the holder keeps locked with `flock`; the system frees it when the holder dies.
The file says who holds it and since when. A thread may take a lock that it already holds.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from meshwright.errors import LockedError

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
