"""Files of rows: their columns, delimiters, records, operations and names, stated once.

`load` and `compare` read such files here and refuse a bad row. `ingest` has readers of its own, which set bad
rows aside and run on executors; they find columns, delimiters and operations by the same rules.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrays import MOST_SUBSCRIPTIONS
from meshwright.arrow import fill_null, from_strings, is_text, to_numpy
from meshwright.errors import FormatError, InputError, first_five, first_rows
from meshwright.files.header import parse_json
from meshwright.files.urls import expand_gzip
from meshwright.formatting import counted
from meshwright.store.tables import decode_table, first_line

OPERATIONS = {"subscribe": False, "sub": False, "unsubscribe": True, "unsub": True}
"""The operations of events, in lower case, and whether each is an unsubscribe."""
ENDINGS = (".csv", ".csv.gz", ".parquet")
"""The extensions of small tables, such as costs and bridges."""
DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
"""Usual separators, as the option --delimiter takes them."""


def check_delimiter(delimiter: str | None) -> None:
    """Raise an InputError if a separator of CSV columns is not one character that may separate them."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InputError(f"delimiter {delimiter!r} is not one character: give one, or tab")


def delimiter_of(name: str, given: str | None = None) -> str:
    r"""Return the separator of a CSV file: as given, or by its name.

    >>> delimiter_of("a.csv"), delimiter_of("a.TSV.gz"), delimiter_of("a.csv", ";")
    (',', '\t', ';')
    """
    return given or ("\t" if re.search(r"\.tsv(\.gz|\.bz2)?$", name, re.IGNORECASE) else ",")


def find_column(
    found: Sequence[str], column: str, *, source: str = "", fix: str = "rename one of them"
) -> int:
    """Return the position of a column; `source` is where it is looked for, for the error.

    Raises
    ------
    InputError
        If it is missing or occurs more than once.
    """
    if column not in found:
        where = source and f" in {source}"
        raise InputError(f"no column {column!r}{where}; the columns are {first_five(found)}: {fix}")
    if found.count(column) > 1:
        raise InputError(f"{source and f'{source} has '}more than one column {column!r}: keep one of them")
    return found.index(column)


def other_delimiter(found: Sequence[str], delimiter: str = ",") -> str | None:
    """Return the option that names the likely separator of a header, if it was read as one column."""
    marks = (mark for mark in DELIMITERS if mark != delimiter and len(found) == 1 and mark in found[0])
    mark = next(marks, None)
    return None if mark is None else f"--delimiter {DELIMITERS[mark]}"


LONGEST_LINE = 1 << 20
"""The longest line in bytes that Arrow reads as a whole."""


class Record(dict[str, Any]):
    """A JSON object, and which of its keys it has twice: it is unclear which of their values holds."""

    repeated: frozenset[str] = frozenset()


def parse_record(line: str, *, integer: Callable[[str], Any] | None = None) -> Any:
    """Parse a line of JSON: an object is a `Record`. Raises a ValueError that says where it is wrong."""
    return parse_json(line, gather=_gather, integer=integer)


def parse_object(line: str, where: str) -> Record:
    """Parse a line of JSON that must be an object; errors name the line by `where`.

    Raises
    ------
    FormatError
        If it is not.
    """
    try:
        record = parse_record(line)
    except ValueError as error:
        raise FormatError(f"{where} is not JSON: {error}; correct that line") from error
    if not isinstance(record, Record):
        raise FormatError(f"{where} is not a JSON object: give one object {{…}} per line")
    return record


def _gather(pairs: list[tuple[str, Any]]) -> Record:
    made = Record(pairs)
    if len(made) < len(pairs):
        made.repeated = frozenset(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return made


def is_encodable(name: str) -> bool:
    """Return whether a name can be encoded as UTF-8: JSON allows half a surrogate pair."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def check_rows_file(path: Path, columns: str) -> None:
    """Raise an InputError if a file does not end as small tables do, or is empty."""
    if not path.name.lower().endswith(ENDINGS):
        raise InputError(f"{path} does not end in any of {', '.join(ENDINGS)}: rename it")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty: give it rows with the columns {columns}")


def read_columns(path: Path, choose: Callable[[list[str]], Sequence[str]]) -> pa.Table:
    """Read columns of a CSV or Parquet file, chosen among those that it has."""
    if path.name.lower().endswith(".parquet"):
        return read_parquet(path, choose(parquet_names(path)))
    return read_csv(path, choose(csv_names(path)))


@contextmanager
def errors_name_file(path: Path) -> Iterator[None]:
    """Turn errors while reading into one line that names the file."""
    try:
        yield
    except (UnicodeDecodeError, pa.ArrowException, OSError) as error:
        text, too_long = first_line(error), long_line(path)
        if too_long is not None:
            raise FormatError(f"{path} cannot be read: {too_long}") from error
        if isinstance(error, UnicodeDecodeError) or "UTF8" in text or "UTF-8" in text:
            raise FormatError(f"{path} is not UTF-8 text: save it as UTF-8") from error
        if isinstance(error, OSError) and error.strerror:
            raise FormatError(f"{path} cannot be read: {error.strerror}; check it") from error
        ragged = re.search(r"Expected (\d+) columns, got (\d+)", text)
        if ragged is not None:
            raise FormatError(
                f"{path} cannot be read: a line has {counted(int(ragged[2]), 'column')}, not {ragged[1]}; "
                "correct it"
            ) from error
        raise FormatError(
            f"{path} cannot be read: it is damaged, or not what its name says; write it again"
        ) from error
    except (InputError, FormatError) as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error


def long_line(path: Path) -> str | None:
    """Say which line of a file of lines is too long, if one is; Arrow only says that it cannot go on."""
    if path.name.lower().endswith(".parquet") or not path.is_file():
        return None
    lines = size = 0
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            while part := file.readline(LONGEST_LINE):
                size += len(part)
                if part.endswith(b"\n"):
                    lines, size = lines + 1, 0
                elif size > LONGEST_LINE:
                    return f"line {lines + 1} is longer than {LONGEST_LINE:,} bytes; correct it"
    except (OSError, EOFError, zlib.error):
        return None
    return None


def _csv_source(path: Path) -> Any:
    """Return what Arrow reads a CSV file from: compressed files expand only so far.

    They are expanded here and now. Arrow would read on in a thread of its own after an error, and crash if
    Python ends meanwhile.
    """
    return pa.BufferReader(expand_gzip(path)) if path.name.lower().endswith(".gz") else path


def csv_names(path: Path, delimiter: str = ",") -> list[str]:
    """Return the column names of a CSV file: its first line."""
    from pyarrow import csv

    parse = csv.ParseOptions(newlines_in_values=True, delimiter=delimiter)
    with csv.open_csv(_csv_source(path), parse_options=parse) as head:
        names: list[str] = head.schema.names
    return names


def read_csv(path: Path, columns: Sequence[str], *, delimiter: str = ",", header: bool = True) -> pa.Table:
    """Read columns of a CSV file as strings: 007 stays 007, and "NULL" is a name.

    Without a header, the first columns of the file get these names.
    """
    from pyarrow import csv

    found = csv_names(path, delimiter)
    if header:
        for column in columns:
            find_column(found, column)
    elif len(found) < len(columns):
        raise InputError(
            f"line 1 has {counted(len(found), 'column')}, not {len(columns)}: choose the right --delimiter"
        )
    names = [*columns, *(f"column {place}" for place in range(len(columns), len(found)))]
    convert = csv.ConvertOptions(
        include_columns=list(dict.fromkeys(columns)),
        column_types=dict.fromkeys(columns, pa.string()),
        strings_can_be_null=False,
    )
    return csv.read_csv(
        _csv_source(path),
        read_options=csv.ReadOptions() if header else csv.ReadOptions(column_names=names),
        parse_options=csv.ParseOptions(newlines_in_values=True, delimiter=delimiter),
        convert_options=convert,
    )


def parquet_names(path: Path) -> list[str]:
    """Return the column names of a Parquet file."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as parquet:
        names: list[str] = parquet.schema_arrow.names
    return names


def read_parquet(path: Path, columns: Sequence[str]) -> pa.Table:
    """Read columns of a Parquet file; integers become strings, as in other formats."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as parquet:
        for column in columns:
            find_column(parquet.schema_arrow.names, column)
        if parquet.metadata.num_rows > MOST_SUBSCRIPTIONS:
            raise InputError(
                f"{parquet.metadata.num_rows} rows are more than {MOST_SUBSCRIPTIONS} (2³¹ − 1): "
                "sample the data, or split it by topic"
            )
    table = decode_table(path, columns)
    return pa.table({name: _as_strings(table.column(name)) for name in columns})


def _as_strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn integers into strings, so that the order of names does not depend on the file format."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_integer(column.type) else column


def check_names(column: pa.ChunkedArray, what: str) -> None:
    """Raise an InputError if some names of a column are blank."""
    blank = column.is_null()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        blank = pc.or_kleene(blank, pc.equal(pc.utf8_trim_whitespace(column), from_strings([""])[0]))
    rows = np.flatnonzero(to_numpy(fill_null(blank, True)))
    if len(rows):
        raise InputError(
            f"no {what} name in {first_rows(rows)} (counted from 1, without the header): "
            "fill the gaps, or drop these rows"
        )


def check_operations(column: pa.ChunkedArray) -> None:
    """Raise an InputError if a row is an event other than a subscribe; an empty operation is a subscribe."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    other = column.is_valid()
    if is_text(column.type):
        subscribes = ["", *(name for name, leaves in OPERATIONS.items() if not leaves)]
        words = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        other = pc.and_(other, pc.invert(pc.is_in(words, from_strings(subscribes))))
    rows = np.flatnonzero(to_numpy(other))
    if len(rows):
        raise InputError(
            f"row {rows[0] + 1} (counted from 1, without the header) has the operation "
            f"{column[int(rows[0])].as_py()!r}, and only subscribes are read here"
        )
