"""Limits on what a small file may expand to: a few kilobytes must not fill the memory.

Each limit can be raised by a variable of the environment; its error says which.
"""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from meshwright.errors import FormatError, InputError

SMALL = 16 * 2**20
"""Bytes that any compressed file may expand to."""
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


def expand_gzip(file: Path) -> bytes:
    """Return the content of a gzip file; raise an error if it expands too far."""
    most = max(SMALL, limit(MAX_EXPANSION) * file.stat().st_size)
    try:
        with gzip.open(file, "rb") as packed:
            content: bytes = packed.read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{file} cannot be read as gzip: {error}") from error
    if len(content) > most:
        raise InputError(
            f"{file} expands to more than {most:,} bytes, {limit(MAX_EXPANSION)} times its size: it "
            f"may be an attack; if you trust it, raise the limit with {MAX_EXPANSION[0]}"
        )
    return content
