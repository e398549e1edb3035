"""Durable writing: flush files and folders, so that a power cut cannot undo or empty what was written."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


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
