"""Options for reading sources: format, columns, and how to interpret them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from meshwright.errors import InputError

FORMATS: Mapping[str, tuple[str, ...]] = {
    "csv": (".csv", ".tsv"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet",),
    "edges": (".txt", ".edges", ".el"),
    "mosquitto-log": (".log",),
    "nats-connz": (),
    "emqx": (),
}
"""The formats, each with its file extensions (before `.gz` or `.bz2`)."""
UNREADABLE_PACKING = re.compile(r"\.(zst|zstd|xz|lzma|deflate|lz4|snappy|zip|7z|z)$", re.IGNORECASE)
"""Extensions of files that Spark would read as plain text, or can read on some machines only."""
BROKER_FORMATS = ("mosquitto-log", "nats-connz", "emqx")
BRIDGES = r"^(local|bridge|meshwright)[.\-_ ]|[.\-_]bridge$"
"""The default pattern for client ids of bridges between brokers."""
MILLISECONDS_FROM = 1e11
"""Numbers from here on are milliseconds: as seconds they would lie after the year 5000."""


@dataclass(frozen=True)
class Reading:
    """How to read sources. A column that is None has its default name and may be absent."""

    format: str
    node: str = "node"
    topic: str = "topic"
    time: str | None = None
    operation: str | None = None
    sequence: str | None = None
    delimiter: str | None = None
    """The separator of CSV columns; by default a tab for `.tsv` and a comma otherwise."""
    header: bool = True
    both_ways: bool = False
    as_of: float | None = None
    node_from: str | None = None
    bridges: str = BRIDGES
    publications: bool = False
    """Whether rows are published messages, which have no operation."""

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise InputError(f"no format {self.format!r}: choose one of {', '.join(FORMATS)}")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise InputError(f"delimiter {self.delimiter!r} is not one character: give one, or tab")
        if self.both_ways and self.format != "edges":
            raise InputError(f"--both-ways applies to edges only: leave it out for {self.format}")
        if self.node_from not in (None, "broker", "client"):
            raise InputError(f"--node-from {self.node_from!r}: choose broker or client")
        if self.node_from is not None and self.format not in BROKER_FORMATS:
            raise InputError(f"--node-from applies to broker logs only: leave it out for {self.format}")
        try:
            re.compile(self.bridges)
        except re.error as error:
            raise InputError(f"--bridges {self.bridges!r} is not a regular expression: {error}") from error

    def described(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, for the manifest."""
        plain = asdict(Reading(self.format))
        return {
            name: value for name, value in asdict(self).items() if name == "format" or value != plain[name]
        }


def guess_format(name: str) -> str | None:
    """Return the format that the extension of a file stands for, or None.

    >>> guess_format("/a/b.csv.gz"), guess_format("broker.log"), guess_format("page.json")
    ('csv', 'mosquitto-log', None)
    """
    bare = _bare(name)
    return next((known for known, endings in FORMATS.items() if bare.endswith(endings or ("\0",))), None)


def is_tab_separated(name: str) -> bool:
    """Return whether the extension of a file stands for tab-separated columns."""
    return _bare(name).endswith(".tsv")


def _bare(name: str) -> str:
    """Return a name in lower case, without the extension of its compression."""
    return UNREADABLE_PACKING.sub("", re.sub(r"\.(gz|bz2)$", "", name.lower()))


def parse_time(text: str) -> float | None:
    """Return the seconds since 1970 that a text states, or None if it is not a time.

    >>> [parse_time(text) for text in ("2024-05-01T12:00:00Z", "1714564800", "1714564800000", "noon")]
    [1714564800.0, 1714564800.0, 1714564800.0, None]
    """
    try:
        number = float(text)
    except ValueError:
        try:
            read = datetime.fromisoformat(text.strip())
        except ValueError:
            return None
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(number):
        return None
    return number / 1000 if abs(number) >= MILLISECONDS_FROM else number
