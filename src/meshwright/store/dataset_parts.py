"""A dataset while it is written: one Parquet file for each part of its tables, with fixed row groups.

The contents of a file may come in pieces of any size: its bytes depend on the relation alone. So the process
that calls `write_dataset` and the executors of a cluster write the same files, here or at a URL.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from meshwright.arrow import from_numpy, table_schema
from meshwright.errors import InputError
from meshwright.files.atomic import new_file, new_folder
from meshwright.files.header import DATASET
from meshwright.files.remote import reaching, replaced_folder
from meshwright.files.urls import file_system, local_path
from meshwright.fingerprint import PartDigest, name_buffers
from meshwright.formatting import hide_secrets
from meshwright.store.tables import ROWS_AT_ONCE

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyarrow.fs import FileSystem

NAMES_AT_ONCE = 1 << 16
"""Names per row group, unless they are long."""
NAMES_IN_A_STEP = 1 << 10
BYTES_AT_ONCE = 1 << 25
"""A row group of names or records ends at the first step at which it has this many bytes."""


SUBSCRIPTIONS = table_schema(node=pa.int32(), topic=pa.int32())
NAMES = table_schema(id=pa.int32(), name=pa.string())
QUARANTINE = pa.schema(
    {"source": pa.string(), "line": pa.int64(), "record": pa.string(), "reason": pa.string()}
)
SCHEMAS = {"nodes": NAMES, "topics": NAMES, "subscriptions": SUBSCRIPTIONS, "quarantine": QUARANTINE}
"""The tables of a dataset, each in a folder of its own."""


def part_name(number: int) -> str:
    """Return the name of the file of a part.

    >>> part_name(3)
    'part-00003.parquet'
    """
    return f"part-{number:05}.parquet"


class PartWriter:
    """Writes one file of a dataset, and digests what it writes."""

    def __init__(self, where: Any, schema: pa.Schema, filesystem: FileSystem | None = None) -> None:
        import pyarrow.parquet as pq

        self.rows = 0
        self.digest = PartDigest()
        self._schema = schema
        self._writer = pq.ParquetWriter(where, self._schema, compression="zstd", filesystem=filesystem)
        self._held: list[pa.Table] = []
        self._held_rows = self._held_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and (self._held or not self.rows):
                self._flush()
        finally:
            self._writer.close()

    def add_names(self, first: int, names: pa.Array) -> None:
        """Write the next names; `first` is the id of the first one."""
        self.digest.add_names(names)
        begin = 0
        while begin < len(names):
            # Steps begin at multiples of their size, so that row groups do not depend on the pieces.
            end = min(begin + NAMES_IN_A_STEP - (first + begin) % NAMES_IN_A_STEP, len(names))
            piece = names[begin:end]
            ids = from_numpy(np.arange(first + begin, first + end, dtype=np.int32))
            size = len(name_buffers(piece)[1])
            self._hold(pa.table([ids, piece.cast(pa.string())], schema=self._schema), size)
            if (first + end) % NAMES_IN_A_STEP == 0 and self._is_full(NAMES_AT_ONCE):
                self._flush()
            begin = end

    def add_subscriptions(self, first: int, sizes: NDArray[Any], topics: NDArray[Any]) -> None:
        """Write the topics of the next nodes; `first` is the first of these nodes."""
        self.digest.add_subscriptions(sizes, topics)
        nodes = np.repeat(np.arange(first, first + len(sizes), dtype=np.int32), sizes)
        columns = [from_numpy(nodes), from_numpy(topics.astype(np.int32, copy=False))]
        self._add_rows(pa.table(columns, schema=self._schema))

    def add_records(self, records: pa.Table) -> None:
        """Write the next rows, in row groups of a fixed size."""
        self._add_rows(records)

    def add_group(self, table: pa.Table) -> None:
        """Write the next rows as a row group of their own."""
        self._hold(table, 0)
        self._flush()

    def _add_rows(self, table: pa.Table) -> None:
        while table.num_rows:
            room = ROWS_AT_ONCE - self._held_rows
            self._hold(table[:room], 0)
            table = table[room:]
            if self._held_rows == ROWS_AT_ONCE:
                self._flush()

    def _hold(self, table: pa.Table, size: int) -> None:
        self._held.append(table)
        self._held_rows += table.num_rows
        self._held_bytes += size

    def _is_full(self, most: int) -> bool:
        return self._held_rows >= most or self._held_bytes >= BYTES_AT_ONCE

    def _flush(self) -> None:
        """Write what is held as one row group."""
        table = pa.concat_tables(self._held) if self._held else self._schema.empty_table()
        self._writer.write_table(table.combine_chunks(), max(table.num_rows, 1))
        self.rows += table.num_rows
        self._held, self._held_rows, self._held_bytes = [], 0, 0


@contextmanager
def new_dataset(path: str | Path) -> Iterator[str]:
    """Yield the path or URL of a dataset to write; it takes its place if the block succeeds.

    The block writes the header last. If it fails, nothing is left of the new dataset.

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
            yield str(folder)
        return
    url = os.fspath(path).rstrip("/")
    with replaced_folder(url, DATASET):
        yield url


def manifest(
    counts: Mapping[str, int],
    fingerprint: str,
    *,
    sources: Iterable[str] = (),
    made_by: Mapping[str, Any] | None = None,
    topic_kind: str | None = None,
) -> dict[str, Any]:
    """Return the contents of a manifest, which is written last and makes the dataset valid."""
    return {
        "counts": dict(counts),
        "sources": [hide_secrets(str(source)) for source in sources],
        "made_by": dict(made_by or {}),
        **({} if topic_kind is None else {"topic_kind": topic_kind}),
        "fingerprint": fingerprint,
    }


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
    # All of the dataset is flushed before it takes its place.
    with new_file(folder / part_name(number), flushed=False) as beside, PartWriter(beside, columns) as writer:
        yield writer


def has_part(place: str, kind: str, number: int) -> bool:
    """Return whether a part is where it should be, as seen from this process."""
    local = local_path(place)
    if local is not None:
        return (Path(local) / kind / part_name(number)).is_file()
    from pyarrow import fs

    system, path = file_system(place)
    info = system.get_file_info(f"{path}/{kind}/{part_name(number)}")
    return bool(info.type == fs.FileType.File)
