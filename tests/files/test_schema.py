"""What a file states is checked against its record; an error says which field is wrong, and how."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest
from msgspec import Struct

from meshwright.files.schema import Count, Digest, Figure, InnerPath, Line, parse_record


class Part(Struct, forbid_unknown_fields=True):
    """A part of a record."""

    size: Figure
    kind: Literal["round", "flat"] = "flat"


class Whole(Struct, forbid_unknown_fields=True):
    """A record with every kind of field."""

    name: str
    seed: int = 0
    most: Count | None = None
    parts: list[Part] = []
    by_name: dict[str, Part] = {}
    digests: dict[str, Digest] = {}
    files: dict[InnerPath, int] = {}
    lines: list[Line] = []
    pair: tuple[str, InnerPath] = ("", "")


RIGHT: dict[str, Any] = {"name": "a", "parts": [{"size": 1}], "by_name": {"x": {"size": 0.5}}}


def test_a_right_record_is_read() -> None:
    """Fields have the types of the record; those that are missing have their defaults."""
    read = parse_record(RIGHT, Whole)
    assert (read.name, read.seed, read.parts[0].size, read.by_name["x"].kind) == ("a", 0, 1.0, "flat")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 3}, "name is 3, not a text"),
        ({"name": "x" * 90, "seed": "y" * 90}, f"seed is 'yyy{'y' * 53}…, not a whole number"),
        ({"seed": True}, "seed is True, not a whole number"),
        ({"seed": 1.5}, "seed is 1.5, not a whole number"),
        ({"most": -1}, "most is -1, not a whole number of 0 or more or null"),
        ({"sede": 1}, "it has an unknown field 'sede': did you mean 'seed'?"),
        ({"zzzzz": 1}, "it has an unknown field 'zzzzz'"),
        ({"parts": {}}, "parts is {}, not a list"),
        ({"parts": [{"size": 1}, {}]}, "parts[1] has no field 'size'"),
        ({"parts": [{"size": 1, "sise": 2}]}, "parts[0] has an unknown field 'sise': did you mean 'size'?"),
        ({"parts": [{"size": float("nan")}]}, "parts[0].size is nan, not a number of 0 or more"),
        ({"parts": [{"size": 2.0**70}]}, f"parts[0].size is {2.0**70!r}, not a number of 0 or more"),
        ({"by_name": {"x": {"size": 1}, "y": 2}}, "by_name['y'] is 2, not an object"),
        (
            {"by_name": {"x": {"size": 1, "kind": "odd"}}},
            "by_name['x'].kind is 'odd', not 'round' or 'flat'",
        ),
        (
            {"digests": {"a": "f" * 64, "b": "short"}},
            "digests['b'] is 'short', not a SHA-256 digest in hexadecimal",
        ),
        ({"files": {"a/b": 1, "a/../b": 2}}, "files names 'a/../b', not a file inside the folder"),
        ({"files": {"a\nb": 1}}, r"files names 'a\nb', not a file inside the folder"),
        ({"lines": ["x", "a\x85b"]}, r"lines[1] is 'a\x85b', not a text without control characters"),
        ({"pair": ["x", "/x"]}, "pair[1] is '/x', not a file inside the folder"),
    ],
)
def test_what_is_wrong_is_one_phrase(change: dict[str, Any], said: str) -> None:
    """The phrase names the field, what it holds, and what it should hold."""
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        parse_record({**RIGHT, **change}, Whole)


def test_missing_and_other_contents() -> None:
    """A missing field is named; what is no object at all is said to be none."""
    with pytest.raises(ValueError, match=r"^it has no field 'name'$"):
        parse_record({}, Whole)
    with pytest.raises(ValueError, match=r"^it is \[\], not an object$"):
        parse_record([], Whole)


def test_numbers_as_text() -> None:
    """Tables of text hold numbers, too."""
    assert parse_record({"name": "a", "seed": "7"}, Whole, lax=True).seed == 7
    with pytest.raises(ValueError, match=r"^seed is 'x', not a whole number$"):
        parse_record({"name": "a", "seed": "x"}, Whole, lax=True)
