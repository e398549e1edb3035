"""Shares: ranges of bytes of files, of about the same size, in order; a task reads one share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from meshwright.pipeline.readers.sources import SourceFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BYTES_IN_A_SHARE = 1 << 26
"""A share has at most this many bytes, unless a file cannot be split."""


def share_bytes(spark: SparkSession | None) -> int:
    """Return the bytes in a share: ours, or Spark's setting for its own readers if that is smaller."""
    if spark is None:
        return BYTES_IN_A_SHARE
    text = str(spark.conf.get("spark.sql.files.maxPartitionBytes", "134217728")).lower().rstrip("b")
    scale = {"k": 2**10, "m": 2**20, "g": 2**30}.get(text[-1:], 1)
    return max(min(int(text.rstrip("kmg")) * scale, BYTES_IN_A_SHARE), 1)


class Stretch(NamedTuple):
    """A range of bytes of a file, and the number of the file among all files."""

    path: str
    begin: int
    end: int
    file: int
    whole: bool
    """Whether this is the complete file."""


def shares(
    files: Sequence[SourceFile], most: int, *, unsplittable: tuple[str, ...] = ()
) -> list[list[Stretch]]:
    """Divide files into shares: split large files, unless their names end so, and combine small ones.

    >>> from meshwright.pipeline.readers.sources import SourceFile
    >>> [len(share) for share in shares([SourceFile(name, 5, "") for name in "abc"], 10)]
    [2, 1]
    """
    cut: list[list[Stretch]] = []
    room = 0
    for number, file in enumerate(files):
        at_once = bool(unsplittable) and file.path.lower().endswith(unsplittable)
        pieces = 1 if at_once else max(-(-file.size // most), 1)
        for piece in range(pieces):
            begin, end = file.size * piece // pieces, file.size * (piece + 1) // pieces
            if not cut or end - begin > room:
                cut.append([])
                room = most
            cut[-1].append(Stretch(file.path, begin, end, number, pieces == 1))
            room -= end - begin
    return cut
