"""Accidents for tests: a writer killed before each of its system calls, with or without a power cut.

The work runs in a forked process whose calls of `os` are counted. Before call number N the process kills
itself. A power cut also empties every file that was written and not flushed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from meshwright.files import exchange

CALLS = (
    "open", "mkdir", "rename", "replace", "unlink", "rmdir", "fsync", "write", "close", "chmod", "fchmod",
    "chown", "fchown", "truncate", "link", "symlink",
)  # fmt: skip
"""The functions of `os` before which a writer may die."""
MOST_CALLS = 2_000


def killed_everywhere(
    work: Callable[[], object], folder: Path, *, power_cut: bool, stride: int = 1
) -> Iterator[int]:
    """Run the work again and again from the same state of a folder, killed before each of its calls.

    Yields the number of the call after each accident, with the folder as the accident left it. The last run
    is not killed.
    """
    saved = folder.with_name(f"{folder.name}-saved")
    shutil.copytree(folder, saved, symlinks=True)
    for number in range(0, MOST_CALLS, stride):
        shutil.rmtree(folder)
        shutil.copytree(saved, folder, symlinks=True)
        killed = _run(work, number, folder if power_cut else None)
        yield number
        if not killed:
            return
    raise AssertionError(f"the work takes more than {MOST_CALLS} calls")


def _run(work: Callable[[], object], survive: int, cut: Path | None) -> bool:
    """Run the work in a forked process that survives this many calls; return whether it was killed."""
    journal = None if cut is None else cut.with_name("flushed")
    before = set() if cut is None else {_identity(file) for file in _files(cut)}
    if journal is not None:
        journal.write_bytes(b"")
    child = os.fork()
    if child == 0:
        try:
            _count_down(survive, journal)
            work()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status):
        assert os.waitstatus_to_exitcode(status) == 0, "the work failed by itself"
    killed = os.WIFSIGNALED(status)
    if killed and cut is not None and journal is not None:
        flushed = before | set(journal.read_text().splitlines())
        for file in _files(cut):
            if _identity(file) not in flushed:
                file.write_bytes(b"")
    return killed


def _count_down(survive: int, journal: Path | None) -> None:
    """Replace the functions of `os`, in this process, by ones that count and kill."""
    left = [survive]
    original_open, original_write, original_fsync = os.open, os.write, os.fsync
    log = None if journal is None else original_open(journal, os.O_WRONLY | os.O_APPEND)

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(*arguments: Any, **options: Any) -> Any:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            result = call(*arguments, **options)
            if call is original_fsync and log is not None:
                path = Path(f"/proc/self/fd/{arguments[0]}").resolve()
                if path.is_file():
                    original_write(log, f"{_identity(path)}\n".encode())
            return result

        return replacement

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    exchange._exchange = counted(exchange._exchange)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


def _identity(file: Path) -> str:
    """Return what identifies a file with its content, under whatever name."""
    return f"{file.stat().st_ino}:{hashlib.sha256(file.read_bytes()).hexdigest()}"
