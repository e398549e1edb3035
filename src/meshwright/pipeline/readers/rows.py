"""The rows that every reader returns: the fields of records, checked, and the records that cannot be used.

Positions are places in a stretch of a file, from 0. A row without a place is not a record: it states which
filter the end of a session drops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.arrow import from_numpy
from meshwright.files.urls import is_url, split_options
from meshwright.pipeline.readers.fields import (
    BAD_SEQUENCE,
    NO_OPERATION,
    UNKNOWN_OPERATION,
    Names,
    read_names,
    read_operations,
    read_sequences,
)
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.sources import Stretch
from meshwright.pipeline.readers.times import CODES, parse_times

LONGEST_RECORD = 1000
"""The quarantine keeps this many characters of a record."""
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What a partition is named whose rows have no value."""
OPTIONAL_ROLES = ("time", "operation", "sequence")


@dataclass
class Bad:
    """Records that cannot be used, each with its place, its text and the reason."""

    places: list[int] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def add(self, place: int, record: bytes | str, reason: str) -> None:
        """Add a record."""
        self.places.append(place)
        self.records.append(shorten(record))
        self.reasons.append(reason)


@dataclass(frozen=True, eq=False)
class Rows:
    """Good rows in the order of their places, and the bad ones."""

    stretch: Stretch
    lines: int
    """The number of lines that these rows come from; 0 if places are those in the file."""
    places: NDArray[np.int64]
    """By row: its place in the stretch."""
    node: pa.DictionaryArray
    topic: pa.DictionaryArray
    time: NDArray[np.float64] | None
    """Seconds since 1970; NaN if a row does not state it. None if no row does."""
    sequence: NDArray[np.int64] | None
    """Rows without one come before those with one."""
    leaves: NDArray[np.int8] | None
    """1 for an unsubscribe, 0 for a subscribe, -1 for a row without an operation. None if no row has one."""
    bad: Bad
    read: int
    """The number of records: good and bad ones."""
    stated: Mapping[str, int]
    """By optional role: how many good rows state it."""
    cleaned: Counter[str]
    """How many rows were cleaned in which way."""


NO_SEQUENCE = -(2**63)


def shorten(record: bytes | str) -> str:
    """Return the text of a record, cut to `LONGEST_RECORD` characters."""
    if isinstance(record, bytes):
        text = record[: 4 * LONGEST_RECORD + 4].decode("utf-8", "backslashreplace")
    else:
        text = record.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST_RECORD else f"{text[:LONGEST_RECORD]}…"


def column_roles(reading: Reading) -> list[tuple[str, str, bool]]:
    """Return the roles of columns, each with the name of its column and whether that column must exist."""
    found = [("node", reading.node, True), ("topic", reading.topic, True)]
    for what in OPTIONAL_ROLES:
        if reading.publications and what == "operation":
            continue
        default = "size" if reading.publications and what == "sequence" else what
        asked: str | None = getattr(reading, what)
        found.append((what, asked or default, asked is not None))
    return found


def partition_columns(path: str) -> dict[str, str | None]:
    """Return the columns that the folders of a path or URL state, as Hive and Spark name them.

    >>> partition_columns("/lake/topic=rain%2Fnow/zone=__HIVE_DEFAULT_PARTITION__/part-0.parquet")
    {'topic': 'rain/now', 'zone': None}
    >>> partition_columns("s3://lake/topic=rain%252Fnow/part-0.parquet")
    {'topic': 'rain/now'}
    """
    readable = unquote(split_options(path)[0]) if is_url(path) else path
    stated = [part.partition("=") for part in readable.split("/")[:-1]]
    return {
        unquote(name): None if value == NO_VALUE else unquote(value)
        for name, equals, value in stated
        if name and equals
    }


def partition_roles(path: str, reading: Reading) -> dict[str, str | None]:
    """Return the values of the roles whose columns are partitions: stated by the folders of a file."""
    columns = partition_columns(path)
    return {what: columns[column] for what, column, _ in column_roles(reading) if column in columns}


def _with_stated(columns: Mapping[str, pa.Array], stretch: Stretch, count: int) -> Mapping[str, pa.Array]:
    """Return the fields by role, with what the folders of the file state where they have no value."""
    found = dict(columns)
    for what, value in stretch.stated.items():
        given = found.get(what)
        if given is not None and given.null_count and value is not None:
            plain = given.dictionary_decode() if pa.types.is_dictionary(given.type) else given
            found[what] = pc.fill_null(plain.cast(pa.string()), value)
        elif given is None:
            found[what] = pa.repeat(pa.scalar(value, pa.string()), count)
    return found


def make_rows(
    stretch: Stretch,
    lines: int,
    places: NDArray[np.int64],
    columns: Mapping[str, pa.Array],
    record_of: Callable[[int], bytes | str],
    bad: Bad,
    *,
    exact: bool = False,
    further: Iterable[tuple[NDArray[np.bool_], str]] = (),
) -> Rows:
    """Check the fields of records, and return rows.

    Parameters
    ----------
    stretch, lines
        Where the records come from.
    places
        The place of each record.
    columns
        The fields by role.
    record_of
        Returns the text of a record, given its number among these.
    bad
        Records that could not even be split into fields; the others that are bad are added.
    exact
        Whether names are exact, as brokers log them, and must not be cleaned.
    further
        Further reasons, with the records that they apply to.
    """
    count = len(places)
    columns = _with_stated(columns, stretch, count) if stretch.stated else columns
    wrong = np.zeros(count, dtype=bool)
    found: list[tuple[NDArray[np.bool_], str]] = []
    time = sequence = leaves = None
    cleaned: Counter[str] = Counter()
    if "time" in columns:
        time, codes = parse_times(columns["time"])
        found += [
            (codes == code, reason) for code, reason in enumerate(CODES) if code and (codes == code).any()
        ]
    if "operation" in columns:
        leaves, unknown = read_operations(columns["operation"])
        found.append((unknown, UNKNOWN_OPERATION))
    if "sequence" in columns:
        given = read_sequences(columns["sequence"])
        sequence = np.where(given.stated, given.values, NO_SEQUENCE)
        found.append((given.wrong, BAD_SEQUENCE))
    names = {what: read_names(columns[what], what, exact=exact) for what in ("node", "topic")}
    found += [*further, *(each for read in names.values() for each in _name_reasons(read))]
    reasons = np.full(count, -1, dtype=np.int32)
    for number, (which, _) in enumerate(found):
        if which.any():
            reasons[which & ~wrong] = number
            wrong |= which
    good = ~wrong
    for row in np.flatnonzero(wrong).tolist():
        bad.add(int(places[row]), record_of(row), found[reasons[row]][1])
    time, sequence, leaves = (_chosen(values, good) for values in (time, sequence, leaves))
    stated = {
        "time": 0 if time is None else int(np.count_nonzero(~np.isnan(time))),
        "operation": 0 if leaves is None else int(np.count_nonzero(leaves >= 0)),
        "sequence": 0 if sequence is None else int(np.count_nonzero(sequence != NO_SEQUENCE)),
    }
    for read in names.values():
        cleaned.update(read.cleaned)
    if leaves is not None and stated["operation"] < len(leaves) and not exact:
        empty = _count_empty(columns["operation"], good)
        cleaned.update({NO_OPERATION: empty} if empty else {})
    return Rows(
        stretch,
        lines,
        places if good.all() else places[good],
        _encoded(names["node"], good),
        _encoded(names["topic"], good),
        time if stated["time"] else None,
        sequence if stated["sequence"] else None,
        leaves if stated["operation"] else None,
        bad,
        int(good.sum()) + len(bad.places),
        stated,
        cleaned,
    )


def refuse_rows(rows: Rows, which: NDArray[np.bool_], reason: str) -> Rows:
    """Return the rows without some good ones, which become bad; their records are their topics."""
    if not which.any():
        return rows
    bad = Bad(list(rows.bad.places), list(rows.bad.records), list(rows.bad.reasons))
    for row in np.flatnonzero(which).tolist():
        bad.add(int(rows.places[row]), str(rows.topic[row].as_py()), reason)
    return replace(keep_rows(rows, ~which), bad=bad)


def keep_rows(rows: Rows, keep: NDArray[np.bool_]) -> Rows:
    """Return some of the good rows, and all bad ones."""
    chosen = from_numpy(keep)
    return replace(
        rows,
        places=rows.places[keep],
        node=rows.node.filter(chosen),
        topic=rows.topic.filter(chosen),
        time=_chosen(rows.time, keep),
        sequence=_chosen(rows.sequence, keep),
        leaves=_chosen(rows.leaves, keep),
    )


def _chosen(values: NDArray[Any] | None, keep: NDArray[np.bool_]) -> NDArray[Any] | None:
    return values if values is None or keep.all() else values[keep]


def _name_reasons(read: Names) -> Iterable[tuple[NDArray[np.bool_], str]]:
    """Yield the rows whose names have each reason."""
    for reason in dict.fromkeys(filter(None, read.reasons)):
        has = np.array([each == reason for each in read.reasons], dtype=bool)
        yield has[read.codes], reason


def _encoded(read: Names, good: NDArray[np.bool_]) -> pa.DictionaryArray:
    codes = read.codes if good.all() else read.codes[good]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), read.names)


def _count_empty(operations: pa.Array, good: NDArray[np.bool_]) -> int:
    """Return how many good rows have an operation without a letter; a missing one is not empty."""
    blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(operations), ""), False)
    return int(np.count_nonzero(blank.to_numpy(zero_copy_only=False) & good))
