"""The files to read: found, listed with their sizes, and looked at again when all is done."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import FormatError, InputError, first_five
from meshwright.pipeline.session.failures import plain, telling, unescaped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


STRICTLY = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
"""Options of a reader: a file that ends in the middle, or is gone, is an error and never fewer rows."""
NEVER_EMPTY = (".gz", ".bz2", ".parquet")
"""Endings of files that have some bytes even if they hold nothing."""


@dataclass(frozen=True, order=True)
class SourceFile:
    """A file as it was when it was listed."""

    path: str
    size: int
    modified: str


def spelled(source: str | Path) -> str:
    """Return a source as Spark takes it: relative paths from here, URLs and globs as they are."""
    text = os.fspath(source)
    if re.match(r"\w+:/", text):
        return text
    path = os.path.abspath(text)  # noqa: PTH100 -- a glob is no Path
    return escaped(path) if os.path.lexists(path) else path


def listed(
    spark: SparkSession, sources: Sequence[str | Path], *, but: str | Path | None = None
) -> list[SourceFile]:
    """List the files that paths, folders with all that is below them, and globs stand for, sorted.

    What is in the folder `but`, to be written, is left out: it may lie below a source.

    Raises
    ------
    InputError
        If one of them stands for nothing.
    FormatError
        If a file is empty that cannot be.
    """
    if not sources:
        raise InputError("no source: name at least one file, folder or glob")
    hidden = [str(source) for source in sources if re.search(r"(^|/)[_.][^/.][^/]*/*$", str(source))]
    if hidden:
        raise InputError(f"Spark leaves out what begins with _ or a dot, as {first_five(hidden)}: rename it")
    with telling():
        found = (
            spark.read.format("binaryFile")
            .options(**STRICTLY)
            .option("recursiveFileLookup", "true")
            .load([spelled(source) for source in sources])
        )
        rows = found.selectExpr(
            "path", "length", "cast(modificationTime as string) as modified"
        ).collect()  # without those of no bytes
        every = {plain(path) for path in found.inputFiles()}
    files = {SourceFile(unescaped(row.path), row.length, row.modified) for row in rows}
    if but is not None:
        inside = f"{Path(but).absolute()}/"
        files = {file for file in files if not file.path.startswith(inside)}
        every = {path for path in every if not path.startswith(inside)}
    empty = every - {file.path for file in files}
    if not every:
        raise InputError(f"no file in {first_five(map(str, sources))}: nothing is there to read")
    cut_off = sorted(path for path in empty if path.lower().endswith(NEVER_EMPTY))
    if cut_off:
        raise FormatError(f"{first_five(cut_off)} hold not a byte: get them whole, or leave them out")
    return sorted(files | {SourceFile(path, 0, "") for path in empty})


def check_unchanged(spark: SparkSession, files: Sequence[SourceFile]) -> None:
    """Refuse a result if files changed while they were read: its parts may not fit each other.

    Raises
    ------
    FormatError
        If so.
    """
    try:
        now = set(listed(spark, [escaped(file.path) for file in files]))
    except InputError as error:
        raise FormatError(f"files went away while they were read ({error}): run this again") from error
    changed = [file.path for file in files if file not in now]
    if changed:
        raise FormatError(f"{first_five(changed)} changed while being read: run this again, or read a copy")


def escaped(path: str) -> str:
    r"""Spell a file's name so that no letter of it is taken for a glob.

    >>> escaped("/logs/a[1].csv")
    '/logs/a\\[1\\].csv'
    """
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)
