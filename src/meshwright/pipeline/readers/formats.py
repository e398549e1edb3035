"""The formats of sources: their file names, and the options of a reading."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from meshwright.pipeline.readers.sources import SourceFile

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
ROW_FORMATS = ("csv", "jsonl", "parquet")
"""Formats whose rows have named columns."""
UNREADABLE_PACKING = re.compile(r"\.(zst|zstd|xz|lzma|deflate|lz4|snappy|zip|7z|z)$", re.IGNORECASE)
"""Extensions of compressions that are not supported."""
MQTT_FORMATS = ("mosquitto-log", "emqx")
"""Formats whose topics are MQTT filters."""
TABLE = "table"
"""The format of a table of a Spark session, which no file has."""
BROKER_FORMATS = ("mosquitto-log", "nats-connz", "emqx")
BRIDGES = r"^(local|bridge|meshwright)[.\-_ ]|[.\-_]bridge$"
"""The default pattern for client ids of bridges between brokers."""


@dataclass(frozen=True)
class Reading:
    """How to read sources. A column that is None has its default name and may be absent."""

    format: str = ""
    """The format; by default from the names of the files, see `for_files`."""
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
    quoted_newlines: bool = False
    """Whether quoted values of CSV files may have line breaks; then files are not split."""
    topic_kind: str | None = None
    """Whether topics are MQTT filters (`mqtt`) or plain names (`plain`); by default from the format."""
    excluded: tuple[str, ...] = ()
    """Topics whose rows are left out."""
    publications: bool = False
    """Whether rows are published messages, which have no operation."""

    def __post_init__(self) -> None:
        if not self.format:
            return
        if self.format not in (*FORMATS, TABLE):
            raise InputError(f"no format {self.format!r}: choose one of {', '.join(FORMATS)}")
        if self.delimiter is not None:
            from meshwright.store.row_files import check_delimiter

            check_delimiter(self.delimiter)
        if self.quoted_newlines and self.format != "csv":
            raise InputError(f"--quoted-newlines applies to csv only: leave it out for {self.format}")
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

    def for_files(self, files: Sequence[SourceFile]) -> Reading:
        """Return the reading with its format, which may follow from the names of the files."""
        return self if self.format else replace(self, format=common_format(files))

    def described(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, for the manifest."""
        plain = asdict(Reading(self.format))
        return {
            name: value for name, value in asdict(self).items() if name == "format" or value != plain[name]
        }


@dataclass(frozen=True)
class Publications:
    """The columns of a publish log, and the channels of its messages."""

    format: str | None = None
    publisher: str = "publisher"
    topic: str = "topic"
    size: str | None = None
    time: str | None = None
    value: str | None = None
    """The column of content values, if messages have values instead of topics."""
    channels: int = 100
    """The number of equal channels that divide the content space."""
    low: float = 0.0
    high: float = 1.0
    seconds: float | None = None
    """The length of the log; by default, the time from its first to its last message."""
    delimiter: str | None = None
    quoted_newlines: bool = False
    """Whether quoted values of CSV files may have line breaks; then files are not split."""

    def __post_init__(self) -> None:
        if self.channels < 1:
            raise InputError(f"{self.channels} channels are too few: give at least one")
        if not self.low < self.high:
            raise InputError(f"the content space from {self.low} to {self.high} is empty: give low < high")
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"a log cannot take {self.seconds} s: give a time above zero")
        if self.format is not None:
            self.reading(self.format)

    def reading_of(self, files: Sequence[SourceFile]) -> Reading:
        """Return how to read some logs, whose names may give the format."""
        return self.reading(self.format or common_format(files))

    def reading(self, found: str) -> Reading:
        """Return how to read a log in a format: like subscriptions, with other column names."""
        if found not in ROW_FORMATS:
            raise InputError(f"publish logs cannot have the format {found}: choose csv, jsonl or parquet")
        return Reading(
            found,
            node=self.publisher,
            topic=self.value or self.topic,
            time=self.time,
            sequence=self.size,
            delimiter=self.delimiter,
            quoted_newlines=self.quoted_newlines,
            publications=True,
        )


def guess_format(name: str) -> str | None:
    """Return the format that the extension of a file stands for, or None.

    >>> guess_format("/a/b.csv.gz"), guess_format("broker.log"), guess_format("page.json")
    ('csv', 'mosquitto-log', None)
    """
    bare = _bare(name)
    return next((known for known, endings in FORMATS.items() if bare.endswith(endings or ("\0",))), None)


def _bare(name: str) -> str:
    """Return a name in lower case, without the extension of its compression."""
    return UNREADABLE_PACKING.sub("", re.sub(r"\.(gz|bz2)$", "", name.lower()))


def common_format(files: Sequence[SourceFile]) -> str:
    """Return the format of all files, from their extensions.

    Raises
    ------
    InputError
        If an extension is unknown, or the formats differ.
    """
    formats = {file.path: guess_format(file.path) for file in files}
    unknown = [path for path, known in formats.items() if known is None]
    if unknown:
        raise InputError(
            f"the format of {first_five(unknown)} cannot be derived from the name: "
            f"give --format, one of {', '.join(FORMATS)}"
        )
    kinds = sorted({known for known in formats.values() if known is not None})
    if len(kinds) > 1:
        raise InputError(f"the files have several formats ({', '.join(kinds)}): ingest each by itself")
    return kinds[0]


def check_packing(files: Sequence[SourceFile]) -> None:
    """Check that files can be decompressed; they would be read as plain text.

    Raises
    ------
    InputError
        If a file has another compression.
    """
    packed = [file.path for file in files if UNREADABLE_PACKING.search(file.path)]
    if packed:
        raise InputError(f"{first_five(packed)} cannot be decompressed: unpack it, or use .gz or .bz2")
