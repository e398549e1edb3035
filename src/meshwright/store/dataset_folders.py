"""The folder of a dataset while it is written: on this machine, or at a URL.

On this machine, a dataset is written next to its place, and then takes it. An object store has no such
exchange: there, the manifest of an older dataset is deleted first, and the new one is written last. Either
way a killed run leaves nothing that opens as a dataset, or the old dataset.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from meshwright.errors import InputError, OutputError
from meshwright.files.atomic import new_folder, writing
from meshwright.files.header import DATASET, header_text, write_header
from meshwright.files.remote import names_below, reaching
from meshwright.files.urls import file_system, local_path
from meshwright.store.dataset_parts import SCHEMAS, PartWriter, part_name


class NewDataset:
    """A dataset that is being written."""

    def __init__(self, place: str) -> None:
        self.place = place

    def finish(self, content: dict[str, Any]) -> None:
        """Write the manifest, which makes the dataset valid."""
        local = local_path(self.place)
        if local is not None:
            write_header(Path(local), DATASET, content)
            return
        system, path = file_system(self.place)
        with system.open_output_stream(f"{path}/{DATASET.file}") as file:
            file.write(header_text(DATASET, content).encode())


@contextmanager
def new_dataset(path: str | Path) -> Iterator[NewDataset]:
    """Yield a dataset to write; it takes its place if the block succeeds, and is removed if it fails.

    Raises
    ------
    OutputError
        If the place cannot be written, or holds something other than a dataset.
    """
    local = local_path(path)
    if local is not None:
        with new_folder(local, DATASET) as folder:
            for kind in SCHEMAS:
                (folder / kind).mkdir()
            yield NewDataset(str(folder))
        return
    url = os.fspath(path).rstrip("/")
    with reaching(url):
        _clear(url)
    try:
        yield NewDataset(url)
    except BaseException:
        with reaching(url):
            _clear(url)
        raise


def _clear(url: str) -> None:
    """Remove an older dataset: its manifest first."""
    system, path = file_system(url)
    names = names_below(system, path)
    if names and not all(name == DATASET.file or name.split("/")[0] in SCHEMAS for name in names):
        raise OutputError(f"{url} holds something other than a dataset: choose another place, or empty it")
    for name in sorted(names, key=lambda name: (name != DATASET.file, name)):
        system.delete_file(f"{path}/{name}")


@contextmanager
def new_part(place: str, kind: str, number: int, schema: pa.Schema | None = None) -> Iterator[PartWriter]:
    """Yield the writer of a part; its file appears whole or not at all, however often this is tried.

    By default, the part has the columns of that table of a dataset.

    Raises
    ------
    InputError
        If the folder of the dataset cannot be seen from here.
    """
    local, columns = local_path(place), SCHEMAS[kind] if schema is None else schema
    if local is None:
        system, path = file_system(place)
        with reaching(place), PartWriter(f"{path}/{kind}/{part_name(number)}", columns, system) as writer:
            yield writer
        return
    folder = Path(local) / kind
    if not folder.is_dir():
        raise InputError(
            f"workers cannot see {folder.parent}: choose a folder that every worker has under this path, "
            "or a URL"
        )
    target = folder / part_name(number)
    beside = folder / f".{part_name(number)}.{uuid.uuid4().hex}"
    with writing(target):
        try:
            with PartWriter(beside, columns) as writer:
                yield writer
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)


def has_part(place: str, kind: str, number: int) -> bool:
    """Return whether a part is where it should be, as seen from this process."""
    local = local_path(place)
    if local is not None:
        return (Path(local) / kind / part_name(number)).is_file()
    from pyarrow import fs

    system, path = file_system(place)
    info = system.get_file_info(f"{path}/{kind}/{part_name(number)}")
    return bool(info.type == fs.FileType.File)
