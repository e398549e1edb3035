"""Folders of lakes: tables of Delta, Iceberg and Hudi are refused, and partitions `name=value` are columns.

The folder of such a table also has the files of earlier versions. Only a reader of its log knows which are
current.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from meshwright.errors import InputError
from meshwright.files.urls import is_url, split_options

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

TABLES = {"_delta_log": "delta", ".hoodie": "hudi", "metadata": "iceberg"}
"""The folder that a table of each format has in its own."""
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What a partition is named whose rows have no value."""


def table_of(path: str) -> tuple[str, str] | None:
    """Return the folder of a table and its format, if this path is one that only such tables have.

    >>> table_of("/lake/rain/_delta_log/0.json"), table_of("/lake/rain/metadata/v1.metadata.json")
    (('/lake/rain', 'delta'), ('/lake/rain', 'iceberg'))
    >>> table_of("/lake/rain/data/part-0.parquet")
    """
    parts = path.split("/")
    for number, part in enumerate(parts):
        kind = TABLES.get(part)
        if kind == "iceberg" and not (number == len(parts) - 2 and parts[-1].endswith(".metadata.json")):
            continue
        if kind is not None:
            return "/".join(parts[:number]), kind
    return None


def refuse_table(found: tuple[str, str] | None, scheme: str = "") -> None:
    """Raise an InputError if a table was found; the scheme is that of its URL."""
    if found is not None:
        table, kind = scheme + found[0], found[1]
        raise InputError(
            f"{table} is a table of {kind.capitalize()}, whose folder also has files of other versions: read "
            f"the current one by mw.pipeline.ingest(spark, spark.read.format({kind!r}).load({table!r}), out)"
        )


def refuse_tables_above(paths: Iterable[str]) -> None:
    """Refuse files and folders of this machine that lie in a table."""
    for folder in {folder for path in paths for folder in Path(path).parents}:
        marks = [folder / "_delta_log", folder / ".hoodie", *folder.glob("metadata/*.metadata.json")]
        for mark in marks:
            if mark.exists():
                refuse_table(table_of(str(mark)))


def refuse_remote_table_above(system: FileSystem, path: str, scheme: str) -> None:
    """Refuse a file or folder of a store that lies in a table."""
    from pyarrow import fs

    folders = [path[: found.start()] for found in re.finditer("/", path)]
    marks = [f"{folder}/{mark}" for folder in folders for mark in ("_delta_log", ".hoodie")]
    found = [info.path for info in system.get_file_info(marks) if info.type == fs.FileType.Directory]
    for folder in folders:
        if path[len(folder) :].startswith("/data"):  # of Iceberg; others need no further request
            metadata = fs.FileSelector(f"{folder}/metadata", allow_not_found=True)
            found += [info.path for info in system.get_file_info(metadata)]
    for mark in found:
        refuse_table(table_of(mark), scheme)


def partition_columns(path: str) -> dict[str, str | None]:
    """Return the columns that the folders of a path or URL state, as Hive and Spark name them.

    >>> partition_columns("/lake/topic=rain%2Fnow/zone=__HIVE_DEFAULT_PARTITION__/part-0.parquet")
    {'topic': 'rain/now', 'zone': None}
    >>> partition_columns("s3://lake/topic=rain%252Fnow/part-0.parquet")
    {'topic': 'rain/now'}
    """
    readable = unquote(split_options(path)[0]) if is_url(path) else path
    stated: Sequence[tuple[str, str, str]] = [part.partition("=") for part in readable.split("/")[:-1]]
    return {
        unquote(name): None if value == NO_VALUE else unquote(value)
        for name, equals, value in stated
        if name and equals
    }
