r"""Operations and sequences of records, and the names in them: one definition for all formats.

Names are checked and cleaned once for each distinct name:

| a name | what happens |
| --- | --- |
| with blanks around it, or not in Unicode's form NFC | is cleaned, and counted |
| missing, blank, `NULL`, `null`, `NaN`, `nan`, `None`, `<NA>` or `\N` | cannot be used |
| with control characters (C0 and C1), or invisible ones (zero width, direction) | cannot be used |
| longer than 65,535 bytes, or not UTF-8 | cannot be used |
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.fingerprint import name_buffers
from meshwright.store.row_files import OPERATIONS

LONGEST_NAME = 65_535
"""The longest name in bytes, as in MQTT."""
MISSING = "no {} name"
BLANK = "blank {} name"
PLACEHOLDER = "{} name stands for a missing value"
TOO_LONG = f"{{}} name longer than {LONGEST_NAME} bytes"
CONTROL = "control character in {} name"
INVISIBLE = "invisible character in {} name"
NOT_UTF8 = "not UTF-8"
BAD_SEQUENCE = "sequence is not an integer"
UNKNOWN_OPERATION = "unknown operation"
INVALID_FILTER = "invalid MQTT filter"
PLACEHOLDERS = ("NULL", "Null", "null", "NaN", "nan", "None", "<NA>", "\\N")
CONTROLS = "[\\x00-\\x1f\\x7f\u0080-\u009f]"
HIDDEN = (
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\uffa0\ufff9-\ufffb]"
    "|(^|[ -~\u200c\u200d])[\u200c\u200d]"
)
"""Characters that nobody sees; joiners only where they join nothing, as Indic scripts and emoji need them."""
TRIMMED = "blanks around a name removed"
COMPOSED = "name put into Unicode's form NFC"
NO_OPERATION = "empty operation read as a subscribe"
_INTEGER = re.compile(r"(-?)0*(\d{1,19})", re.ASCII)
"""At most 19 digits, as integers of 64 bits have: Python refuses to convert thousands."""


class Names(NamedTuple):
    """The names of rows, cleaned and encoded, and the reasons of those that cannot be used."""

    codes: NDArray[np.int32]
    """By row: the position of its name in `names`."""
    names: pa.Array
    """The names; unusable ones are empty texts."""
    reasons: list[str | None]
    """By name: why it cannot be used."""
    cleaned: Counter[str]
    """How many rows were cleaned in which way."""


def read_names(column: pa.Array, what: str, *, exact: bool = False) -> Names:
    """Encode, clean and check a column of names; `exact`: only check that each can be a name at all."""
    if pa.types.is_dictionary(column.type):
        encoded = column
    else:
        encoded = column.dictionary_encode(null_encoding="encode")
    names = encoded.dictionary.cast(pa.string())
    codes = encoded.indices.fill_null(-1).to_numpy().astype(np.int32)
    if (codes < 0).any():
        names = pa.concat_arrays([names, pa.nulls(1, pa.string())])
        codes = np.where(codes < 0, np.int32(len(names) - 1), codes)
    cleaned: Counter[str] = Counter()
    if is_plain(names):
        return Names(codes, names, [None] * len(names), cleaned)
    if not exact:
        names = _clean(names, codes, cleaned)
    reasons = name_reasons(names, what, exact=exact).to_pylist()
    names = pc.if_else(pa.array([reason is None for reason in reasons]), names, "")
    # Cleaning may have made names equal, and unusable ones are: merging the blocks takes care of that.
    return Names(codes, names, reasons, cleaned)


def is_plain(names: pa.Array) -> bool:
    """Return whether all names are short printable ASCII without blanks around: the usual case, quickly.

    >>> [is_plain(pa.array(names)) for names in (["a", "b c"], ["a", "b "], [" a", "b"], ["a", "é"])]
    [True, False, False, False]
    """
    if names.null_count or not len(names):
        return False
    offsets, content = name_buffers(names)
    letters = np.frombuffer(content, np.uint8)
    sizes = np.diff(offsets)
    if sizes.min() == 0 or sizes.max() > LONGEST_NAME or (letters < 0x20).any() or (letters > 0x7E).any():
        return False
    if (letters[offsets[:-1]] == 0x20).any() or (letters[offsets[1:] - 1] == 0x20).any():
        return False
    return not pc.any(pc.is_in(names, pa.array(PLACEHOLDERS))).as_py()


def _clean(names: pa.Array, codes: NDArray[np.int32], cleaned: Counter[str]) -> pa.Array:
    """Remove blanks around names and compose characters; count the rows that this changes."""
    # A control character is refused, also at the end of a name, where some count as blanks.
    clean_enough = pc.invert(pc.match_substring_regex(names, CONTROLS))
    for clean, what in (
        (pc.utf8_trim_whitespace, TRIMMED),
        (lambda given: pc.utf8_normalize(given, form="NFC"), COMPOSED),
    ):
        after = clean(names)
        changed = pc.and_(pc.not_equal(after, names), pc.not_equal(after, ""))
        changed = pc.fill_null(pc.and_(changed, clean_enough), False)
        if pc.any(changed).as_py():
            cleaned[what] += int(changed.to_numpy(zero_copy_only=False)[codes].sum())
            names = pc.if_else(changed, after, names)
    return names


def name_reasons(names: pa.Array, what: str, *, exact: bool = False) -> pa.Array:
    """Return the reason why each name cannot be used, or null for a good name."""
    reasons = pa.nulls(len(names), pa.string())
    checks = [
        (pc.match_substring_regex(names, HIDDEN), INVISIBLE),
        (pc.match_substring_regex(names, CONTROLS), CONTROL),
        (pc.greater(pc.binary_length(names), LONGEST_NAME), TOO_LONG),
        (pc.is_in(names, pa.array(PLACEHOLDERS)), PLACEHOLDER),
        (pc.equal(pc.utf8_trim_whitespace(names), ""), BLANK),
        (pc.is_null(names), MISSING),
    ]
    for bad, reason in checks:
        if exact and reason in (PLACEHOLDER, INVISIBLE):
            continue
        reasons = pc.if_else(pc.fill_null(bad, False), pa.scalar(reason.format(what)), reasons)
    return reasons


@lru_cache(1 << 16)
def why_unusable(name: str | None, what: str) -> str | None:
    """Return why an exact name, as a broker logs it, cannot be used, or None; see `name_reasons`."""
    reason: str | None = name_reasons(pa.array([name], pa.string()), what, exact=True)[0].as_py()
    return reason


def read_operations(column: pa.Array) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return 1 for unsubscribes, 0 for subscribes and -1 for no operation, and which ones are unknown."""
    encoded = column.dictionary_encode(null_encoding="encode")
    known = []
    for word in encoded.dictionary.to_pylist():
        bare = "" if word is None else word.strip().lower()
        known.append(-1 if not bare else int(OPERATIONS.get(bare, 2)))
    found = (
        np.array(known, dtype=np.int8)[encoded.indices.to_numpy()] if len(column) else np.zeros(0, np.int8)
    )
    return np.where(found == 2, np.int8(-1), found), found == 2


class Sequences(NamedTuple):
    """Integers, which of them are stated, and which are invalid."""

    values: NDArray[np.int64]
    stated: NDArray[np.bool_]
    wrong: NDArray[np.bool_]


def read_sequences(column: pa.Array) -> Sequences:
    """Return the sequences of records."""
    missing = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_integer(column.type):
        wrong = np.zeros(len(column), dtype=bool)
        if pa.types.is_uint64(column.type):
            wrong = pc.fill_null(pc.greater(column, pa.scalar(2**63 - 1, pa.uint64())), False).to_numpy(
                zero_copy_only=False
            )
        values = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy()
        return Sequences(values, ~missing & ~wrong, wrong)
    trimmed = pc.utf8_trim_whitespace(column.fill_null(""))
    missing = missing | pc.equal(trimmed, "").to_numpy(zero_copy_only=False)
    filled = pc.if_else(pa.array(missing), "0", trimmed)
    if not pc.any(pc.match_substring_regex(filled, "[^-0-9]")).as_py():
        try:
            values = filled.cast(pa.int64()).to_numpy()
            return Sequences(values, ~missing, np.zeros(len(column), dtype=bool))
        except pa.ArrowInvalid:
            pass
    found = map(_INTEGER.fullmatch, filled.to_pylist())
    read = [2**63 if digits is None else int(digits[1] + digits[2]) for digits in found]
    wrong = np.array([not -(2**63) <= number < 2**63 for number in read], dtype=bool)
    values = np.array([0 if bad else number for number, bad in zip(read, wrong, strict=True)], dtype=np.int64)
    return Sequences(values, ~missing & ~wrong, wrong)
