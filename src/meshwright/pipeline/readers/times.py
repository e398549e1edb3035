"""Times: seconds since 1970, from ISO 8601 texts and from numbers; one definition for all formats.

| given | meaning |
| --- | --- |
| `2026-01-31`, `2026-01-31T12:00:00Z`, `2026-01-31 12:00:00.5+01:00` | ISO 8601; UTC without a zone |
| a number below 631,152,000,000 | seconds |
| from this number on, or from 1,000 or 1,000,000 times it | milliseconds, microseconds or nanoseconds |
| eight digits that are a date, such as `20260131` | ambiguous, so invalid |
| before 1970, or from 2100 on | invalid: a clock was wrong |
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

BAD_TIME = "time is neither ISO 8601 nor a number of seconds"
AMBIGUOUS_TIME = "time is a date or a number of seconds: write a date as 2026-01-31"
WRONG_CLOCK = "time is not from 1970 to 2099"
UNITS = (631152000e3, 631152000e6, 631152000e9)
"""Numbers from here on are in milliseconds, microseconds or nanoseconds: 1990 in that unit.

In the unit before, they would be after the year 21000: no time up to 9999 is read in the wrong unit.
"""
LARGEST = 1e20
END = 4102444800.0
"""The year 2100."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
ISO = r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?"
"""A zone needs a time of day: Python would read `2026-01-31+01:00` as one o'clock."""
_ISO = re.compile(ISO, re.ASCII)
CODES = ("", BAD_TIME, AMBIGUOUS_TIME, WRONG_CLOCK)
"""The reasons, by the codes of `parse_times`."""


def parse_time(text: str) -> float | None:
    """Return the seconds since 1970 that a text states, or None if it is not a time.

    >>> [parse_time(text) for text in ("2024-05-01T12:00:00Z", "1714564800", "1714564800000", "noon")]
    [1714564800.0, 1714564800.0, 1714564800.0, None]
    """
    value, code = _parse(text)
    return None if code else value


def _parse(text: str) -> tuple[float, int]:
    """Return the seconds that a text states, and 0 or the code of a reason."""
    text = text.strip()
    if NUMBER.fullmatch(text):
        seconds, codes = scale_numbers(np.array([float(text)]))
        return float(seconds[0]), int(codes[0])
    if not _ISO.fullmatch(text):
        return math.nan, 1
    try:
        read = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return math.nan, 1
    if text[11:13] == "24":  # some versions of Python read it as the next day
        return math.nan, 1
    value = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    return value, 0 if 0 <= value < END else 3


def scale_numbers(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return numbers of any unit in seconds, and for each 0 or the code of a reason."""
    seconds = numbers.copy()
    for at_least in UNITS:
        large = np.abs(numbers) >= at_least
        seconds[large] = numbers[large] / (1000.0 ** (UNITS.index(at_least) + 1))
    codes = np.zeros(len(numbers), dtype=np.int8)
    with np.errstate(invalid="ignore"):
        codes[~((seconds >= 0) & (seconds < END))] = 3
        date = (numbers >= 19000101) & (numbers <= 21991231) & (numbers == np.floor(numbers))
    if date.any():
        whole = np.where(date, numbers, 0).astype(np.int64)
        month, day = whole // 100 % 100, whole % 100
        codes[date & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)] = 2
    codes[~(np.abs(numbers) < LARGEST)] = 1
    return seconds, codes


def parse_times(column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return the seconds that texts, numbers or timestamps state, NaN for nulls and empty texts.

    Also return for each 0 or the code of a reason, as in `CODES`.
    """
    kind = column.type
    missing = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        # Casts to another unit would refuse the whole column if one time is too far away.
        days = pa.types.is_date32(kind)
        stored = column.cast(pa.int32() if days else pa.int64()).fill_null(0).to_numpy().astype(np.int64)
        unit = "ms" if pa.types.is_date64(kind) else "s" if days else kind.unit
        values = {
            "s": stored * (86400.0 if days else 1.0),
            "ms": stored / 1e3,
            "us": stored / 1e6,
            "ns": stored // 1000 / 1e6,
        }[unit]
        codes = np.where((values >= 0) & (values < END), 0, 3).astype(np.int8)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        given = column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy()
        values, codes = scale_numbers(given)
    else:
        values, codes, empty = _parse_texts(column)
        missing = missing | empty
    values = np.where(missing, np.nan, values)
    codes[missing] = 0
    return values, codes


def _parse_texts(
    column: pa.Array,
) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.bool_]]:
    """Return seconds, codes of reasons, and which texts are empty: all at once, or one by one if need be."""
    trimmed = pc.utf8_trim_whitespace(column.fill_null(""))
    empty = pc.equal(trimmed, "").to_numpy(zero_copy_only=False)
    if empty.all():
        return np.zeros(len(column)), np.zeros(len(column), dtype=np.int8), empty
    filled = (
        trimmed if not empty.any() else pc.if_else(pa.array(empty), trimmed[int(np.argmin(empty))], trimmed)
    )
    try:
        values, codes = scale_numbers(filled.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid:
        values, codes = _parse_iso_texts(filled)
    return values, codes, empty


def _parse_iso_texts(filled: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    zoned = pc.ends_with(filled, "Z")
    kinds = {pa.timestamp("ns"): pc.invert(zoned), pa.timestamp("ns", "UTC"): zoned}
    for kind, chosen in kinds.items():
        if not pc.all(chosen).as_py():
            continue
        if not pc.all(pc.match_substring_regex(filled, f"^{ISO}$")).as_py():
            break
        try:
            nanos = filled.cast(kind).cast(pa.int64()).to_numpy()
        except pa.ArrowInvalid:
            break
        values = (nanos // 1000) / 1e6
        return values, np.where((values >= 0) & (values < END), 0, 3).astype(np.int8)
    encoded = filled.dictionary_encode()
    parsed = [_parse(text) for text in encoded.dictionary.to_pylist()]
    of_each = encoded.indices.to_numpy()
    values = np.array([value for value, _ in parsed])[of_each]
    return values, np.array([code for _, code in parsed], dtype=np.int8)[of_each]
