"""Folders and files at URLs of object stores: made on this machine first, then copied there, and back.

Small files at a path or URL are read, written whole, listed and removed.

An object store has no exchange of folders and no locks. The file that describes a folder is written last. It
is deleted first if a file that it lists changes: a killed writer leaves the old folder, the new one, or one
that does not open. Of two writers at once, the last one wins. Files of others are not touched.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError, MeshwrightError, OutputError
from meshwright.files.atomic import new_file
from meshwright.files.header import Kind, parse_json
from meshwright.files.urls import (
    file_system,
    inside,
    local_copy,
    local_path,
    names_in,
    naming,
    two_slashes,
    why_unreachable,
)

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

TRIES = 3
"""How often a file is sent to a store before that is an error."""


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Turn errors of a file system into one line that names the place.

    Raises
    ------
    OutputError
        If the place cannot be written.
    """
    import pyarrow as pa

    try:
        yield
    except InputError as error:
        raise OutputError(str(error)) from error
    except MeshwrightError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise OutputError(f"cannot write {url}: {why_unreachable(error)}; choose another place") from error


def names_below(system: FileSystem, path: str) -> set[str]:
    """Return the names of all files below a folder, relative to it."""
    from pyarrow import fs

    found = system.get_file_info(fs.FileSelector(path, allow_not_found=True, recursive=True))
    return {info.path[len(path) :].strip("/") for info in found if info.type == fs.FileType.File}


def check_bucket(url: str) -> None:
    """Check before long work that the bucket of a URL exists.

    Raises
    ------
    OutputError
        If it does not, or cannot be reached.
    """
    from pyarrow import fs

    with reaching(url):
        system, path = file_system(url)
        bucket = path.strip("/").split("/")[0]
        if system.type_name != "hdfs" and system.get_file_info(bucket).type == fs.FileType.NotFound:
            raise OutputError(f"cannot write {url}: there is no bucket {bucket}; create it")


def check_remote_place(url: str, kind: Kind) -> None:
    """Check before long work that a folder of this kind can be written to a URL.

    Raises
    ------
    OutputError
        If it cannot be reached, or holds something else.
    """
    if not kind.at_urls:
        raise OutputError(
            f"{two_slashes(url)} is a URL, and a {kind.name} is a folder on this machine: give a path"
        )
    check_bucket(url)
    read_remote_description(url, kind)


@contextmanager
def new_remote_folder(url: str, kind: Kind) -> Iterator[Path]:
    """Yield a folder on this machine to fill; on success it is copied to the URL, its description last.

    Raises
    ------
    OutputError
        If the URL cannot be written, or holds something other than a folder of this kind.
    """
    check_remote_place(url, kind)
    with tempfile.TemporaryDirectory(prefix="meshwright-new-") as made:
        folder = Path(made) / "folder"
        folder.mkdir()
        with naming(url, folder):
            yield folder
        with reaching(url):
            _publish(folder, url, kind)


def _publish(folder: Path, url: str, kind: Kind) -> None:
    system, path = file_system(url)
    found = read_remote_description(url, kind)
    listed = found.get("files", {}) if isinstance(found.get("files"), dict) else {}
    there = names_below(system, path)
    new = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    same = {name for name in there & new.keys() if listed.get(name) == _digest(new[name])}
    # Files that the old description does not list do not matter to its readers.
    if kind.file in there and (not listed or any(name in new and name not in same for name in listed)):
        system.delete_file(f"{path}/{kind.file}")
    for name in sorted(new.keys() - same - {kind.file}):
        upload(new[name], system, f"{path}/{name}")
    upload(new[kind.file], system, f"{path}/{kind.file}")
    for name in sorted(there - new.keys()):
        if kind.owns(name):
            system.delete_file(f"{path}/{name}")


@contextmanager
def replaced_folder(url: str, kind: Kind) -> Iterator[None]:
    """Remove our files of an older folder at a URL, for a block that writes new ones there, on any machine.

    The block writes the description last. If it fails, what it has written is removed.

    Raises
    ------
    OutputError
        If the URL cannot be written, or holds something other than a folder of this kind.
    """
    with reaching(url):
        system, path = file_system(url)
        if not all(map(kind.owns, names_below(system, path))):
            read_remote_description(url, kind)
    _remove(url, kind)
    try:
        yield
    except BaseException:
        _remove(url, kind)
        raise


def _remove(url: str, kind: Kind) -> None:
    """Remove our files of a folder: the description first."""
    with reaching(url):
        system, path = file_system(url)
        ours = filter(kind.owns, names_below(system, path))
        for name in sorted(ours, key=lambda name: (name != kind.file, name)):
            system.delete_file(f"{path}/{name}")


def read_remote_description(url: str, kind: Kind) -> dict[str, Any]:
    """Return the description of the folder at a URL; empty if there is none.

    Raises
    ------
    OutputError
        If the URL cannot be reached, or holds something else.
    """
    with reaching(url):
        system, path = file_system(url)
        there = names_below(system, path)
        if kind.file not in there and all(map(kind.owns, there)):
            return {}
        try:
            with system.open_input_file(f"{path}/{kind.file}") as file:
                content = parse_json(file.read().decode())
        except (ValueError, OSError):
            content = None
    if not isinstance(content, dict) or content.get("format") != f"meshwright {kind.name}":
        raise OutputError(
            f"{url} holds something other than a {kind.name}: choose another place, or empty it"
        )
    return content


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def upload(file: Path, system: FileSystem, path: str) -> None:
    """Copy a file of this machine to a store, and check that it arrived with its size.

    Some stores keep the frames of a request that was sent a second time.
    """
    size = file.stat().st_size
    for _ in range(TRIES):
        with file.open("rb") as source, system.open_output_stream(path) as target:
            shutil.copyfileobj(source, target, 1 << 22)
        if system.get_file_info(path).size == size:
            return
    raise OSError(f"{path} did not arrive with its {size} bytes")


@contextmanager
def new_remote_file(url: str) -> Iterator[Path]:
    """Yield a path on this machine to write to; on success the file is copied to the URL.

    Raises
    ------
    OutputError
        If the URL cannot be written.
    """
    with reaching(url):
        system, path = file_system(url)
    with tempfile.TemporaryDirectory(prefix="meshwright-new-") as made:
        beside = Path(made) / path.rpartition("/")[2]
        yield beside
        with reaching(url):
            upload(beside, system, path)


def fetch_folder(place: str | Path, owner: object) -> Path:
    """Copy a folder at a URL to this machine, until its owner is forgotten.

    Raises
    ------
    InputError
        If it is not there, or cannot be reached.
    """
    url = os.fspath(place).rstrip("/")
    folder = Path(tempfile.mkdtemp(prefix="meshwright-copy-"))
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    with local_copy(url) as copy:
        copy.rename(folder / "copy")
    return folder / "copy"


def read_text(place: str) -> str | None:
    """Return the text of a file; None if it is not there."""
    if not exists(place):
        return None
    local = local_path(place)
    if local is not None:
        return Path(local).read_text(encoding="utf-8")
    with reaching(place):
        system, path = file_system(place)
        with system.open_input_file(path) as file:
            text: str = file.read().decode()
    return text


def exists(place: str) -> bool:
    """Return whether there is a file."""
    from pyarrow import fs

    local = local_path(place)
    if local is not None:
        return Path(local).exists()
    with reaching(place):
        system, path = file_system(place)
        return bool(system.get_file_info(path).type == fs.FileType.File)


def write_text(place: str, text: str) -> None:
    """Write a file, whole or not at all, and make its folder."""
    make_folder(place.rpartition("/")[0])
    with new_file(place) as beside:
        beside.write_text(text, encoding="utf-8")


def make_folder(place: str) -> None:
    """Make a folder; object stores need none."""
    local = local_path(place)
    if local is not None:
        Path(local).mkdir(parents=True, exist_ok=True)


def remove_folder(place: str) -> None:
    """Remove a folder and everything in it; a missing one is fine."""
    local = local_path(place)
    if local is not None:
        shutil.rmtree(local, ignore_errors=True)
        return
    for name in names_in(place):
        remove_file(inside(place, name))


def remove_file(place: str) -> None:
    """Remove a file; a missing one is fine."""
    if not exists(place):
        return
    local = local_path(place)
    if local is not None:
        Path(local).unlink(missing_ok=True)
        return
    with reaching(place):
        system, path = file_system(place)
        system.delete_file(path)
