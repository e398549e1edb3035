"""Limits on what a small file may expand to: a few kilobytes must not fill the memory.

Each limit can be raised by a variable of the environment; its error says which.
"""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any

from meshwright.errors import FormatError, InputError

SMALL = 16 * 2**20
"""Bytes that any compressed file may expand to."""
SMALL_ROWS = 2**25
"""Bytes that the rows of any Parquet file may expand to that passes in batches: four million rows."""
SMALL_TABLE = 2**28
"""Bytes that any table may expand to that is read at once."""
STEP = 2**22
"""Bytes that are read and counted at once."""
MAX_EXPANSION = ("MESHWRIGHT_MAX_EXPANSION", 100)
"""How many times its size a larger file may expand to; text with names takes 5 to 20."""
MAX_INVENTORY = ("MESHWRIGHT_MAX_INVENTORY", 16 * 2**20)
"""The most bytes of an inventory: a million brokers in CSV, and minutes of parsing in YAML."""


def limit(known: tuple[str, int]) -> int:
    """Return a limit: that of the environment, or the usual one.

    Raises
    ------
    InputError
        If the variable is not a whole number.
    """
    name, usual = known
    given = os.environ.get(name, "")
    if given and not given.isdecimal():
        raise InputError(f"{name} is {given!r}: give a whole number")
    return int(given) if given else usual


def check_inventory_size(file: Path) -> None:
    """Refuse an inventory that is too large."""
    size, most = file.stat().st_size, limit(MAX_INVENTORY)
    if size > most:
        raise InputError(
            f"{file} has {size:,} bytes, more than {most:,}: is it an inventory? "
            f"Raise the limit with {MAX_INVENTORY[0]}"
        )


class Decoded:
    """Counts what a file of some size expands to, and refuses more than its limit.

    The limit is `MAX_EXPANSION` times the size, and at least `least`.
    """

    def __init__(self, file: str | Path, size: int, least: int = SMALL) -> None:
        self.file, self.count = file, 0
        self.most = max(least, limit(MAX_EXPANSION) * size)

    def add(self, count: int) -> None:
        """Count some bytes.

        Raises
        ------
        InputError
            If they are too many, together with those before.
        """
        self.count += count
        if self.count > self.most:
            raise InputError(
                f"{self.file} expands to more than {self.most:,} bytes, {limit(MAX_EXPANSION)} times its "
                f"size or more: it may be an attack; if you trust it, raise the limit with {MAX_EXPANSION[0]}"
            )


class CountedFile:
    """An opened file whose content is counted as it is read."""

    def __init__(self, opened: Any, decoded: Decoded) -> None:
        self.opened, self.decoded = opened, decoded

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes: as many, or all, unless the file ends before."""
        pieces: list[bytes] = []
        while size and (piece := self.opened.read(STEP if size < 0 else min(size, STEP))):
            self.decoded.add(len(piece))
            pieces.append(piece)
            size -= len(piece) if size > 0 else 0
        return b"".join(pieces)


def expand_gzip(file: Path) -> bytes:
    """Return the content of a gzip file; raise an error if it expands too far."""
    try:
        with gzip.open(file, "rb") as packed:
            return CountedFile(packed, Decoded(file, file.stat().st_size)).read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{file} cannot be read as gzip: {error}") from error
