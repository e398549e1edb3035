"""Tables of addresses: a kernel sees the arrays themselves."""

from __future__ import annotations

import numpy as np
import pytest

from meshwright.jit.primitives import address_table


def test_a_table_has_addresses_and_shapes() -> None:
    """Each row is an address, the rows and the columns of an array, or 1."""
    flat, wide = np.zeros(5, dtype=np.int32), np.zeros((3, 4), dtype=np.uint64)
    assert address_table([flat, wide]).tolist() == [[flat.ctypes.data, 5, 1], [wide.ctypes.data, 3, 4]]


@pytest.mark.parametrize(
    "array", [np.zeros((4, 4))[:, :2], np.zeros(8)[::2], np.zeros((2, 2, 2)), np.zeros(())]
)
def test_other_layouts_are_rejected(array: np.ndarray) -> None:
    """A kernel reads arrays from their first byte on in C order, so no other array gets into a table."""
    with pytest.raises(TypeError, match="not in C order"):
        address_table([array])
