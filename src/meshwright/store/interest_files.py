"""Interests from anything: Python objects, tables, dataset folders, CSV, JSON-lines and Parquet files."""

from __future__ import annotations

import csv
import gzip
import mmap
import os
import re
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from meshwright.arrow import from_strings
from meshwright.errors import FormatError, InputError, first_five
from meshwright.files.urls import local_copy
from meshwright.formatting import counted
from meshwright.interest import Interest
from meshwright.names import MQTT, TopicKind, check_topic_kind, guess_topic_kind
from meshwright.store.datasets import read_dataset, read_topic_kind
from meshwright.store.row_files import (
    DELIMITERS,
    LONGEST_LINE,
    check_delimiter,
    check_names,
    check_operations,
    csv_names,
    delimiter_of,
    errors_name_file,
    is_encodable,
    other_delimiter,
    parquet_names,
    parse_object,
    read_csv,
    read_parquet,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    Reader: TypeAlias = Callable[[Path, "Columns"], pa.Table]


OPERATION = "operation"
"""The column of a file of events that says what a row is; subscriptions need none."""


@dataclass(frozen=True)
class Columns:
    """Where a file has its nodes and topics."""

    node: str = "node"
    topic: str = "topic"
    delimiter: str | None = None
    """The separator of CSV columns; by default a tab for `.tsv` and a comma otherwise."""
    header: bool = True
    """Whether the first line of a CSV file names its columns; otherwise node comes first, then topic."""

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            check_delimiter(self.delimiter)

    @property
    def options(self) -> list[str]:
        """The options of a command that say this."""
        delimiter = self.delimiter and DELIMITERS.get(self.delimiter, quote(self.delimiter))
        return [
            *([] if self.node == "node" else [f"--node {quote(self.node)}"]),
            *([] if self.topic == "topic" else [f"--topic {quote(self.topic)}"]),
            *([] if delimiter is None else [f"--delimiter {delimiter}"]),
            *([] if self.header else ["--no-header"]),
        ]

    def among(self, found: Sequence[str]) -> list[str]:
        """Return the columns to read of those in a file: nodes, topics, and operations if it has them."""
        return list(dict.fromkeys([self.node, self.topic, *([OPERATION] if OPERATION in found else [])]))


def read_json_line_by_line(path: Path, node: str, topic: str) -> pa.Table:
    """Read JSON lines with string or integer names as a table of strings: slow, but errors name the line."""
    names: dict[str, list[str]] = {node: [], topic: []}
    operations: list[str | None] = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if len(line) > LONGEST_LINE:
                raise FormatError(f"line {number} is longer than {LONGEST_LINE:,} bytes; correct it")
            if not line.strip():
                continue
            record = parse_object(line, f"line {number}")
            for column in names:
                if column in record.repeated:
                    raise InputError(f"line {number} has more than one {column!r}: keep one of them")
            for column, so_far in names.items():
                so_far.append(_name(record, column, number))
            operation = record.get(OPERATION)
            operations.append(None if operation is None else str(operation).encode(errors="replace").decode())
    read = {column: from_strings(found) for column, found in names.items()}
    return pa.table({OPERATION: pa.array(operations, pa.string()), **read})


def _name(record: dict[str, object], column: str, number: int) -> str:
    if column not in record:
        raise InputError(
            f"no column {column!r} in line {number}; it has {first_five(record)}: rename one of them"
        )
    name = record[column]
    if name is None:
        raise InputError(f"no {column} name in line {number}: fill or drop it")
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        raise InputError(f"the {column} name in line {number} is {name!r}: give a string or an integer")
    text = str(name)
    if not is_encodable(text):
        raise InputError(f"the {column} name in line {number} holds half a surrogate pair: fix its escapes")
    return text


def load_interest(
    source: Any,
    *,
    node: str = "node",
    topic: str = "topic",
    delimiter: str | None = None,
    header: bool = True,
    kind: TopicKind | None = None,
) -> Interest:
    """Make an interest from a Python object, a table, a file or a dataset folder.

    Parameters
    ----------
    source
        An `Interest`, a mapping of nodes to topics, a networkx graph, a scipy sparse matrix, anything with
        `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow), or a path or URL: a dataset folder, or a file in
        .csv, .tsv, .csv.gz, .jsonl, .ndjson or .parquet. Names in files are strings, even if they look like
        numbers.
    node, topic
        The columns to read from tables and files.
    delimiter, header
        The separator of CSV columns, and whether the first line names them; without a header, the first
        column has the nodes and the second the topics.
    kind
        Whether topics are `mqtt` filters or `plain` names; by default as the dataset or interest states, and
        otherwise filters if some topic has a wildcard.

    Raises
    ------
    InputError
        If the file, a column or a name is missing.
    FormatError
        If the content of a file does not match its format.

    Examples
    --------
    >>> import pyarrow as pa
    >>> load_interest(pa.table({"broker": ["a", "b"], "filter": ["x", "x"]}), node="broker", topic="filter")
    Interest(2 nodes, 1 topic, 2 subscriptions)
    """
    return read_source(source, Columns(node, topic, delimiter, header), kind).interest


class Loaded(NamedTuple):
    """An interest, and how the kind of its topics is known."""

    interest: Interest
    guessed: bool
    """Whether topics count as MQTT filters only because some have wildcards."""


def read_source(source: Any, columns: Columns, kind: str | None = None) -> Loaded:
    """Make an interest as `load_interest` does, and say whether the kind of its topics is a guess."""
    stated = check_topic_kind(kind)
    if isinstance(source, Interest):
        return Loaded(Interest.of(source, kind=stated), guessed=False)
    if hasattr(source, "__arrow_c_stream__"):
        interest = Interest.from_arrow(source, node=columns.node, topic=columns.topic)
    elif not isinstance(source, (str, Path)):
        interest = Interest.of(source)
    else:
        with local_copy(source) as path:
            if not path.exists():
                raise InputError(f"no file or folder {path}: nothing is there, check the path")
            if path.is_dir():
                interest, stated = read_dataset(path), stated or read_topic_kind(path)
            else:
                interest = _read_file(path, columns)
    known = stated or guess_topic_kind(interest.topic_names)
    return Loaded(interest.with_kind(known), guessed=stated is None and known == MQTT)


def _read_file(path: Path, columns: Columns) -> Interest:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is not a file, and is read more than once: write its content to one")
    read = next((reader for ending, reader in READERS.items() if path.name.lower().endswith(ending)), None)
    if read is None and columns.delimiter is not None:
        read = _read_csv
    if read is None:
        raise InputError(
            f"{path} does not end in any of {', '.join(READERS)}: rename it, give the --delimiter of its "
            f"columns, or read it with {_ingest(path, columns)}"
        )
    with errors_name_file(path):
        if found.st_size == 0:
            raise InputError(
                f"{path} is empty: give it rows with the columns {columns.node!r} and {columns.topic!r}"
            )
        table = read(path, columns)
        for column in (columns.node, columns.topic):
            try:
                check_names(table.column(column), column)
            except InputError as error:
                raise InputError(
                    f"{path}: {error}, or set them aside with {_ingest(path, columns)}"
                ) from error
        if OPERATION in table.column_names and OPERATION not in (columns.node, columns.topic):
            try:
                check_operations(table.column(OPERATION))
            except InputError as error:
                raise InputError(
                    f"{path}: {error}: make a dataset of what holds in the end with {_ingest(path, columns)}"
                ) from error
        return Interest.from_pairs(table.column(columns.node), table.column(columns.topic))


def _ingest(path: Path, columns: Columns) -> str:
    """Return the command that reads a file and sets aside the rows that cannot be used."""
    return " ".join(["meshwright ingest", quote(str(path)), *columns.options, "--out DATASET"])


def _read_csv(path: Path, columns: Columns) -> pa.Table:
    delimiter = delimiter_of(path.name, columns.delimiter)
    try:
        names = csv_names(path, delimiter) if columns.header else []
        if columns.header:
            check_header(names, columns, delimiter)
        return read_csv(path, columns.among(names), delimiter=delimiter, header=columns.header)
    except pa.ArrowInvalid as error:
        ragged = _first_ragged_line(path, delimiter)
        if ragged is None:
            raise
        raise FormatError(
            f"{path}: {ragged}: correct it, or set such lines aside with {_ingest(path, columns)}"
        ) from error


def _first_ragged_line(path: Path, delimiter: str) -> str | None:
    """Describe the first line of a CSV file that has more or fewer columns than the first one."""
    open_text = gzip.open if path.name.lower().endswith(".gz") else open
    with (
        open_text(path, "rt", encoding="utf-8-sig", newline="") as file,
        suppress(csv.Error, UnicodeDecodeError, OSError),
    ):
        lines = csv.reader(file, delimiter=delimiter)
        wanted = len(next(lines, []))
        for line in lines:
            if line and len(line) != wanted:
                return f"line {lines.line_num} has {counted(len(line), 'column')}, not {wanted}"
    return None


def check_header(found: Sequence[str], columns: Columns, delimiter: str = ",") -> None:
    """Raise an InputError that names the option to add, if a CSV header lacks a column.

    >>> check_header(["Broker", "Topic"], Columns())
    Traceback (most recent call last):
    ...
    meshwright.errors.InputError: no column 'node'; the columns are 'Broker', 'Topic': add --node Broker \
--topic Topic
    """
    wanted = (columns.node, columns.topic)
    absent = [column for column in wanted if column not in found]
    if not absent:
        return
    start = f"no column {absent[0]!r}; the columns are {first_five(found)}"
    delimiter_option = other_delimiter(found, delimiter)
    if delimiter_option is not None:
        raise InputError(f"{start}: add {delimiter_option}")
    guesses = _guess_columns(found, columns)
    if guesses is not None:
        raise InputError(f"{start}: add {guesses}")
    raise InputError(
        f"{start}: name them with --node and --topic, or add --no-header if line 1 is already a subscription"
    )


NODE_NAMES = ("node", "broker", "client", "clientid", "client_id", "subscriber", "user", "source")
TOPIC_NAMES = ("topic", "filter", "subject", "channel", "subscription", "target")


def _guess_columns(found: Sequence[str], columns: Columns) -> str | None:
    """Return the options that name the columns, if the header has likely ones; letter case may differ."""
    lower = {name.strip().lower(): name for name in reversed(found)}
    options = []
    for option, asked, usual in (
        ("--node", columns.node, NODE_NAMES), ("--topic", columns.topic, TOPIC_NAMES)
    ):  # fmt: skip
        if asked in found:
            continue
        guess = next((lower[name] for name in (asked.lower(), *usual) if name in lower), None)
        if guess is None:
            return None
        options.append(f"{option} {guess}" if guess.isalnum() else f"{option} '{guess}'")
    return " ".join(options)


def _read_json_lines(path: Path, columns: Columns) -> pa.Table:
    from pyarrow import json

    node, topic = columns.node, columns.topic
    schema = pa.schema(dict.fromkeys((OPERATION, node, topic), pa.string()))
    strict = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = None if _has_null_record(path) else json.read_json(path, parse_options=strict)
    except pa.ArrowInvalid:
        # Integer names, or an error: read line by line, to name the line.
        table = None
    if table is None or any(table.column(column).null_count for column in (node, topic)):
        return read_json_line_by_line(path, node, topic)
    return table


NULL_RECORD = re.compile(rb"(?:\A|[}\n])\s*null")


def _has_null_record(path: Path) -> bool:
    """Return whether a file may have the record `null`, at which Arrow's reader crashes."""
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_size > 0 and bool(
            NULL_RECORD.search(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        )


def _read_parquet(path: Path, columns: Columns) -> pa.Table:
    return read_parquet(path, columns.among(parquet_names(path)))


READERS: dict[str, Reader] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".tsv": _read_csv,
    ".tsv.gz": _read_csv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}
