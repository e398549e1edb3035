"""Small files at a path or URL: read, write whole, list and remove."""

from __future__ import annotations

import shutil
from pathlib import Path

from meshwright.files.atomic import new_file
from meshwright.files.remote import reaching
from meshwright.files.urls import file_system, inside, local_path, names_in


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
