"""Names at the border: what may be one, how they are sorted, and what is said of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.names import axis_names, name_array, position_of, sort_names


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
    for name in ("c", 1):
        with pytest.raises(InputError, match=r"no node .* among the 2 nodes"):
            position_of(pa.array(["a", "b"]), name, "node")
