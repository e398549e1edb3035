"""Contents of files as typed records: each is declared once, as a `msgspec.Struct`, and checked when read.

An error is one phrase that says which field is wrong, what it holds, and what it should hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from meshwright.errors import InputError
from meshwright.formatting import hide_secrets

Record = TypeVar("Record", bound=msgspec.Struct)

LARGEST = 2**63
"""Every figure in a file is below this; NaN and infinity are not."""
Figure: TypeAlias = Annotated[float, Meta(ge=0, lt=LARGEST)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
END = r"(?![\s\S])"
"""The end of a text, in patterns of Python and JSON schemas; `$` also stands before a last line end."""
Digest: TypeAlias = Annotated[
    str, Meta(pattern=f"^[0-9a-f]{{64}}{END}", description="a SHA-256 digest in hexadecimal")
]
CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
"""What no line may hold, as part of a character class: controls, further line ends, half a surrogate pair."""
HAS_CONTROL = re.compile(f"[{CONTROL}]")
Line: TypeAlias = Annotated[
    str, Meta(pattern=rf"^[^{CONTROL}]*{END}", description="a text without control characters")
]
Filter: TypeAlias = Annotated[
    str, Meta(pattern=rf"^[^\s{CONTROL}]+{END}", description="a topic without spaces or control characters")
]
_PART = rf"(?!\.\.?(?:/|{END}))[^/{CONTROL}]+"
InnerPath: TypeAlias = Annotated[
    str, Meta(pattern=rf"^{_PART}(?:/{_PART})*{END}", description="a file inside the folder")
]

WORDS = {
    int: "a whole number", float: "a number", str: "a text", bool: "true or false", list: "a list",
    tuple: "a list", type(None): "null",
}  # fmt: skip
"""What errors call the types of fields; all others are objects."""
FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*?)`")
PLACE = re.compile(r" - at `(?:(?P<key>key)` in `)?\$(?P<steps>.*)`$")
STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
ANY = "..."
"""How msgspec writes the key of a mapping."""


def parse_record(content: object, of: type[Record], *, lax: bool = False) -> Record:
    """Return the record that a decoded file holds; `lax` also takes numbers that are written as text.

    Raises
    ------
    ValueError
        If a field is missing, unknown or wrong; the message is a phrase for the end of a line.
    """
    try:
        return msgspec.convert(content, of, strict=not lax)
    except msgspec.ValidationError as error:
        raise ValueError(_explain(str(error), content, of, lax)) from error


def check_fields(record: msgspec.Struct) -> None:
    """Check the fields of a record that was built in Python, which checks nothing by itself.

    Raises
    ------
    InputError
        If one holds what its type does not allow.
    """
    for name, kind in _types_of(type(record)).items():
        value = getattr(record, name)
        if not _fits(value, kind, lax=False):
            raise InputError(f"{name} is {_short(value)}, not {_wanted(kind)}: correct it")


@cache
def _types_of(of: type) -> dict[str, Any]:
    """Return the type of each field of a record or data class."""
    return get_type_hints(of, include_extras=True)


def _explain(message: str, content: Any, of: Any, lax: bool) -> str:
    """Say in our words what is wrong with which field."""
    place = PLACE.search(message)
    name, value, kind = "", content, of
    for field, index in STEP.findall("" if place is None else place["steps"]):
        inner = _inner(kind)
        if index == ANY and isinstance(value, dict):
            kind = get_args(inner)[1]
            key, value = next(one for one in value.items() if not _fits(one[1], kind, lax))
            name += f"[{_short(key)}]"
        elif index:
            parts = get_args(inner)
            fixed = get_origin(inner) is tuple and parts[-1] is not Ellipsis
            kind, value = parts[int(index) if fixed else 0], value[int(index)]
            name += f"[{index}]"
        else:
            kind, value = _types_of(inner)[field], value[field]
            name += f".{field}" if name else field
    if place is not None and place["key"]:
        kind = get_args(_inner(kind))[0]
        key = next(each for each in value if not _fits(each, kind, lax))
        return f"{name or 'it'} names {_short(key)}, not {_wanted(kind)}"
    wrong = FIELD.match(message)
    if wrong is None:
        return f"{name or 'it'} is {_short(value)}, not {_wanted(kind)}"
    where, field = name or "it", wrong.group(2)
    if wrong.group(1).startswith("missing"):
        return f"{where} has no field {_short(field)}"
    likely = get_close_matches(field, _types_of(_inner(kind)), 1)
    meant = f": did you mean {likely[0]!r}?" if likely else ""
    return f"{where} has an unknown field {_short(field)}{meant}"


def _inner(kind: Any) -> Any:
    """Return the record or container among the choices of a type."""
    if get_origin(kind) is Annotated:
        return _inner(get_args(kind)[0])
    if isinstance(kind, type) or get_origin(kind) in (dict, Mapping, list, tuple):
        return kind
    return next((_inner(each) for each in get_args(kind) if _inner(each) is not None), None)


def _fits(value: object, kind: Any, lax: bool) -> bool:
    try:
        msgspec.convert(value, kind, strict=not lax)
    except msgspec.ValidationError:
        return False
    return True


def _wanted(kind: Any) -> str:
    """Say what a field of this type holds."""
    if get_origin(kind) is Annotated:
        of, *more = get_args(kind)
        limits = next((each for each in more if isinstance(each, Meta)), Meta())
        if limits.pattern is not None:
            return limits.description or "of the right form"
        least = "" if limits.ge is None else f" of {limits.ge} or more"
        return _wanted(of) + (f" from {limits.ge} to {limits.le}" if limits.le is not None else least)
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_wanted(each) for each in get_args(kind))
    return WORDS.get(get_origin(kind) or kind, "an object")


def _short(value: object) -> str:
    text = hide_secrets(repr(value))
    return text if len(text) <= 60 else f"{text[:57]}…"
