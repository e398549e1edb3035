"""The files to read: found, listed with their sizes, and looked at again when all is done."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import FormatError, InputError, first_five
from meshwright.pipeline.failures import plain, telling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, order=True)
class SourceFile:
    """A file as it was when it was listed."""

    path: str
    size: int
    modified: str


def spelled(source: str | Path) -> str:
    """Return a source as Spark takes it: relative paths from here, URLs as they are."""
    text = os.fspath(source)
    return text if re.match(r"\w+:/", text) else os.path.abspath(text)  # noqa: PTH100 -- a glob is no Path


def listed(spark: SparkSession, sources: Sequence[str | Path]) -> list[SourceFile]:
    """List the files that paths, folders and globs stand for, sorted.

    Raises
    ------
    InputError
        If one of them stands for nothing.
    """
    if not sources:
        raise InputError("no source: name at least one file, folder or glob")
    with telling():
        rows = (
            spark.read.format("binaryFile")
            .load([spelled(source) for source in sources])
            .selectExpr("path", "length", "cast(modificationTime as string) as modified")
            .collect()
        )
    if not rows:
        raise InputError(f"no file in {first_five(map(str, sources))}: nothing is there to read")
    return sorted({SourceFile(plain(row.path), row.length, row.modified) for row in rows})


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
