"""The files to read: lists them with their sizes, and checks afterwards that they did not change."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import FormatError, InputError, first_five
from meshwright.pipeline.session.failures import readable_path, spark_errors, strip_scheme

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


STRICT = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
"""Reader options: a truncated or missing file is an error, it never means fewer rows."""
NEVER_EMPTY = (".gz", ".bz2", ".parquet")
"""Extensions of formats that take some bytes even without any content."""


@dataclass(frozen=True, order=True)
class SourceFile:
    """A file at the time of listing."""

    path: str
    size: int
    modified: str


def spark_path(source: str | Path) -> str:
    """Return a source for Spark: paths absolute and escaped, URLs and globs unchanged."""
    text = os.fspath(source)
    if re.match(r"\w+:/", text):
        return text
    path = os.path.abspath(text)  # noqa: PTH100 -- a glob is not a Path
    return escape_glob(path) if os.path.lexists(path) else path


def list_files(
    spark: SparkSession, sources: Sequence[str | Path], *, exclude: str | Path | None = None
) -> list[SourceFile]:
    """Return the files that paths, folders (with all subfolders) and globs match, sorted.

    Files in the folder `exclude` are left out: the output may lie inside a source.

    Raises
    ------
    InputError
        If a source matches no file.
    FormatError
        If a compressed or Parquet file has no bytes.
    """
    if not sources:
        raise InputError("no source: name at least one file, folder or glob")
    hidden = [str(source) for source in sources if re.search(r"(^|/)[_.][^/.][^/]*/*$", str(source))]
    if hidden:
        raise InputError(
            f"Spark skips names that begin with _ or a dot, such as {first_five(hidden)}: rename them"
        )
    with spark_errors():
        found = (
            spark.read.format("binaryFile")
            .options(**STRICT)
            .option("recursiveFileLookup", "true")
            .load([spark_path(source) for source in sources])
        )
        # Spark leaves out empty files here; `inputFiles` has them.
        rows = found.selectExpr("path", "length", "cast(modificationTime as string) as modified").collect()
        every = {readable_path(path) for path in found.inputFiles()}
    files = {SourceFile(strip_scheme(row.path), row.length, row.modified) for row in rows}
    if exclude is not None:
        inside = f"{Path(exclude).absolute()}/"
        files = {file for file in files if not file.path.startswith(inside)}
        every = {path for path in every if not path.startswith(inside)}
    empty = every - {file.path for file in files}
    if not every:
        raise InputError(f"no file in {first_five(map(str, sources))}: give a folder or glob that has files")
    cut_off = sorted(path for path in empty if path.lower().endswith(NEVER_EMPTY))
    if cut_off:
        raise FormatError(f"empty files {first_five(cut_off)}: get the complete files, or leave them out")
    return sorted(files | {SourceFile(path, 0, "") for path in empty})


def check_unchanged(spark: SparkSession, files: Sequence[SourceFile]) -> None:
    """Check that files did not change while they were read, which would mix two states of the data.

    Raises
    ------
    FormatError
        If a file changed or vanished.
    """
    try:
        now = set(list_files(spark, [escape_glob(file.path) for file in files]))
    except InputError as error:
        raise FormatError(f"files were deleted while they were read ({error}): run this again") from error
    changed = [file.path for file in files if file not in now]
    if changed:
        raise FormatError(f"{first_five(changed)} changed while being read: run this again, or read a copy")


def escape_glob(path: str) -> str:
    r"""Escape the glob characters of a path.

    >>> escape_glob("/logs/a[1].csv")
    '/logs/a\\[1\\].csv'
    """
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)
