"""Files inside one folder, reached only through real folders: a symbolic link is never followed.

Every path is relative to an opened folder, and every part of it is opened by itself without following links.
So nobody who may write in a sub-folder can lead us out of the folder, not even between a check and its use.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from meshwright.errors import OutputError
from meshwright.files.exchange import flush_descriptor

FOLDER_MODE = 0o750
"""Folders are never more open than this."""
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class RealFolder:
    """An opened folder; a context. Names are relative paths with `/`.

    Raises
    ------
    OutputError
        By every method, if a part of a path is a symbolic link, or a file where a folder should be.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(os.path.realpath(path))
        self.descriptor = os.open(self.path, FOLDER)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.descriptor)

    @contextmanager
    def parent(self, name: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Yield the opened folder that holds a file, and the file's own name.

        Raises a FileNotFoundError if a folder is missing, unless it may be created.
        """
        *folders, last = PurePosixPath(name).parts
        if not last or any(part in ("..", "/") for part in (*folders, last)):
            raise OutputError(f"{name!r} is not a path inside {self.path}")
        opened = os.dup(self.descriptor)
        try:
            for depth, part in enumerate(folders, start=1):
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, FOLDER_MODE, dir_fd=opened)
                        flush_descriptor(opened)
                try:
                    inner = os.open(part, FOLDER, dir_fd=opened)
                except NotADirectoryError as error:  # also for links
                    where = self.path.joinpath(*folders[:depth])
                    raise OutputError(
                        f"{where} is a symbolic link or a file, not a real folder: remove it"
                    ) from error
                os.close(opened)
                opened = inner
            yield opened, last
        finally:
            os.close(opened)

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of a file, of a link itself, or None if nothing is there."""
        try:
            with self.parent(name) as (folder, last):
                return os.stat(last, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, name: str) -> bytes | None:
        """Return the content of a regular file, or None if there is none; a link counts as none."""
        try:
            with self.parent(name) as (folder, last):
                # A pipe would block, and a link raises an error.
                descriptor = os.open(
                    last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
                )
        except FileNotFoundError:
            return None
        except OSError:
            if self.is_regular(name):
                raise
            return None
        with os.fdopen(descriptor, "rb") as file:
            return file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else None

    def is_regular(self, name: str) -> bool:
        """Return whether there is a regular file."""
        found = self.status(name)
        return found is not None and stat.S_ISREG(found.st_mode)

    def create(self, name: str, content: bytes, mode: int, *, flush: bool = True) -> None:
        """Create a file that must not be there yet, and flush it; it is never more open than `mode`."""
        with self.parent(name, create=True) as (folder, last):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(last, flags, mode, dir_fd=folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                if flush:
                    os.fsync(descriptor)

    def move(self, name: str, to: str) -> None:
        """Rename a file; it replaces a file or link that is at its new place."""
        with (
            self.parent(name) as (folder, last),
            self.parent(to, create=True) as (new_folder, new_last),
        ):
            os.rename(last, new_last, src_dir_fd=folder, dst_dir_fd=new_folder)
            flush_descriptor(new_folder)

    def remove(self, name: str) -> None:
        """Delete a file or link, if it is there."""
        with suppress(FileNotFoundError), self.parent(name) as (folder, last):
            os.unlink(last, dir_fd=folder)
            flush_descriptor(folder)

    def give_to_owner_of_folder(self, name: str, destination: str) -> None:
        """As root, give a file to the owner of the folder that it will be moved to."""
        if os.geteuid() != 0:
            return
        with (
            self.parent(destination, create=True) as (target, _),
            self.parent(name) as (folder, last),
        ):
            owner = os.fstat(target)
            change_owner(last, folder, owner.st_uid, owner.st_gid)

    def restrict(self, name: str) -> bool:
        """Make a sub-folder, or `.` itself, at most as open as 0750; return whether it was more open."""
        with self.parent(f"{name}/x") as (folder, _):
            mode = stat.S_IMODE(os.fstat(folder).st_mode)
            if mode & 0o777 & ~FOLDER_MODE:
                os.fchmod(folder, mode & FOLDER_MODE)
                return True
            return False

    def flush(self) -> None:
        """Flush the folder's own entries to the disk."""
        flush_descriptor(self.descriptor)


def change_owner(name: str, folder: int, user: int, group: int = -1) -> None:
    """Change the owner of a file or folder in an opened folder, never through a link; -1 keeps the group.

    Links, pipes and files with a second name are left alone: their other name may be anywhere.
    """
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:  # a link, a socket, or gone
        return
    try:
        status = os.fstat(descriptor)
        single = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        if single or stat.S_ISDIR(status.st_mode):
            os.fchown(descriptor, user, group)
    finally:
        os.close(descriptor)
