"""Names at the border: what may be one, how they are sorted, and what is said of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.names import (
    axis_names,
    first_misfit,
    name_array,
    name_column,
    position_of,
    sort_names,
    sorted_names,
)


def test_names_become_arrow_columns() -> None:
    """Integers keep their type, whether in a list or an array; texts are text; no names are null."""
    assert pa.types.is_int64(name_array([3, 1]).type)
    assert pa.types.is_int16(name_array(np.array([3, 1], dtype=np.int16)).type)
    assert name_array(["b", "a"]).to_pylist() == ["b", "a"]
    odd: list[Any] = ["b", None]
    assert name_array(iter(odd)).to_pylist() == odd
    assert pa.types.is_null(name_array([]).type)


@settings(max_examples=30)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True))
def test_texts_are_sorted_by_their_bytes(names: list[str]) -> None:
    """Sorted names come in the order of their UTF-8 bytes, and each knows its new position."""
    found, rank = sort_names(pa.array(names, pa.string()))
    assert found.to_pylist() == sorted(names, key=str.encode)
    assert [found[int(place)].as_py() for place in rank] == names


def test_names_of_an_axis() -> None:
    """Rows without names are numbered; otherwise each has one name of its own."""
    assert axis_names(None, 3, "node", "row").to_pylist() == [0, 1, 2]
    assert axis_names(["b", "a"], 2, "node", "row").to_pylist() == ["b", "a"]
    with pytest.raises(InputError, match="1 node names for 2 rows: give one for each row"):
        axis_names(["b"], 2, "node", "row")
    with pytest.raises(InputError, match="node names are not distinct"):
        axis_names(["b", "b"], 2, "node", "row")


def test_positions() -> None:
    """A name is found at its position; an unknown one, or one of another kind, is named."""
    assert position_of(pa.array(["a", "b"]), "b", "node") == 1
    of_numpy: Any = np.int64(2)
    assert position_of(pa.array([1, 2]), of_numpy, "node") == 1
    for name in ("c", 1):
        with pytest.raises(InputError, match=r"no node .* among the 2 nodes"):
            position_of(pa.array(["a", "b"]), name, "node")


@pytest.mark.parametrize("names", [pa.array([0, 1]), pa.array([1, 2], pa.int8()), pa.array(["1", "a"])])
@pytest.mark.parametrize(
    "name", [2**70, 300, -(2**63) - 1, 2.5, 1.0, True, None, [1], np.zeros((2, 2)), "\ud800", b"a"], ids=repr
)
def test_what_is_no_name_is_not_found(names: pa.Array, name: Any) -> None:
    """No value that cannot be one of the names stands for one, and the error is one line of ours."""
    with pytest.raises(InputError, match=r"^no node .* among the 2 nodes$") as caught:
        position_of(names, name, "node")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 2**63 + 5], "row 2 is 9223372036854775813, outside of the range of int64"),
        (np.array([1, 2**63 + 5], dtype=np.uint64), "row 2 is 9223372036854775813, outside"),
        (pa.array([1, 2**63 + 5], pa.uint64()), "row 2 is 9223372036854775813, outside"),
        (pa.chunked_array([pa.array(["a"]), pa.array(["b"])]), None),
        (np.array([1, 2]), None),
        (["a", "\ud800"], r"row 2 is '\ud800', which has half of a surrogate pair"),
    ],
)
def test_the_first_misfit_is_the_row_at_fault(values: Any, said: str | None) -> None:
    """Rows of Arrow and numpy are judged by their Python values; a row that fits is not blamed."""
    found = first_misfit(values)
    assert found is None if said is None else found is not None and found.startswith(said)
    if said is not None:
        with pytest.raises(InputError, match=r"^node names must be all strings .*: row 2 is "):
            name_column(values, "node")


@pytest.mark.parametrize(
    "names",
    [
        pa.array(["a", "b"], pa.string_view()),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["a", "b"], pa.large_string()),
        pa.array([1, 2], pa.uint64()),
        pa.array([1, 2], pa.int8()),
        pa.array([]),
        pa.array([1, 2**63 + 5], pa.uint64()),
        pa.array(["a", None]),
        pa.array([None]),
        pa.array([1.5]),
        pa.array([[1]]),
    ],
    ids=lambda names: f"{names.type} {len(names)}",
)
def test_sorted_names_are_names_like_others(names: pa.Array) -> None:
    """What a column of names may have, sorted names may have, and nothing else."""
    assert _described(sorted_names, names) == _described(name_column, names)


def _described(check: Callable[[Any, str], Any], names: pa.Array) -> str:
    """Return the type and the names that a check accepts, or its error."""
    try:
        accepted = check(names, "node")
    except InputError as error:
        return str(error)
    return f"{accepted.type}: {accepted.to_pylist()}"
