"""Arrow columns without pandas: what goes in comes out, as with pyarrow's own conversions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from meshwright.arrays import stable_order
from meshwright.arrow import fill_null, from_numpy, from_strings, to_numpy

NUMBERS = st.sampled_from([np.bool_, np.int8, np.int32, np.int64, np.uint16, np.float64])


@given(hnp.arrays(NUMBERS, st.integers(0, 70)), st.data())
def test_numbers_arrive_as_with_pyarrow(array: np.ndarray, data: st.DataObject) -> None:
    """`from_numpy` equals `pa.array`, with nulls and for every other number."""
    nulls = data.draw(hnp.arrays(np.bool_, len(array)))
    assert from_numpy(array).equals(pa.array(array)) or np.isnan(array.astype(float)).any()
    assert from_numpy(array, nulls=nulls).null_count == nulls.sum()
    assert from_numpy(array[::2]).to_pylist() == pytest.approx(array[::2].tolist(), nan_ok=True)


@given(hnp.arrays(NUMBERS, st.integers(0, 70)), st.integers(0, 70), st.integers(0, 70))
def test_numbers_return_from_slices_and_chunks(array: np.ndarray, begin: int, cut: int) -> None:
    """`to_numpy` gives the same numbers for whole arrays, slices and any number of chunks."""
    column = from_numpy(array)
    for found, expected in (
        (to_numpy(column), array),
        (to_numpy(column.slice(begin)), array[begin:]),
        (to_numpy(pa.chunked_array([column.slice(0, cut), column.slice(cut)])), array),
        (to_numpy(pa.chunked_array([], column.type)), array[:0]),
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_strings_arrive_as_with_pyarrow(values: list[str]) -> None:
    """`from_strings` equals `pa.array`, for any text."""
    assert from_strings(values).equals(pa.array(values, pa.string()))


def test_strings_that_are_not_unicode_are_rejected() -> None:
    """A lone surrogate has no UTF-8 form."""
    with pytest.raises(UnicodeEncodeError):
        from_strings(["\ud800"])


def test_nulls_are_never_taken_for_numbers() -> None:
    """A column with nulls is an error until they are replaced."""
    column = from_numpy(np.array([1, 2]), nulls=np.array([True, False]))
    with pytest.raises(ValueError, match="1 nulls"):
        to_numpy(column)
    assert to_numpy(fill_null(column, 7)).tolist() == [7, 2]


@given(st.lists(st.integers(0, 2**17)))
def test_stable_order_is_that_of_argsort(ids: list[int]) -> None:
    """Radix sorting by halves orders as a stable sort does."""
    array = np.array(ids, dtype=np.int32)
    np.testing.assert_array_equal(stable_order(array, 2**17 + 1), np.argsort(array, kind="stable"))
