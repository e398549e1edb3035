"""Columns of nodes and of numbers, as they are handed over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.errors import InputError, first_five, first_rows

if TYPE_CHECKING:
    from meshwright.interest import Ids, Interest
    from meshwright.weighted.kernels.state import Floats


def node_ids(interest: Interest, names: Iterable[Any], what: str) -> Ids:
    """Return the ids of nodes by their names, as these are spelled; all must be known."""
    try:
        column = names if isinstance(names, (pa.Array, pa.ChunkedArray)) else pa.array(list(names))
        column = column.cast(pa.string())
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        raise InputError(
            f"{what} must be node names, all strings or all integers: {str(error).splitlines()[0]}"
        ) from error
    if column.null_count:
        rows = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
        raise InputError(f"no {what} in {first_rows(rows)} (from 1): fill every gap, or drop its row")
    ids = pc.index_in(column, interest.node_names.cast(pa.string()))
    if ids.null_count:
        unknown = column.filter(ids.is_null()).unique().to_pylist()
        raise InputError(
            f"link costs name nodes {first_five(unknown)} that the interest does not know: "
            "correct or drop their rows"
        )
    return np.asarray(ids.to_numpy(zero_copy_only=False), dtype=np.int32)


def numbers(values: Iterable[Any], what: str, rows: int) -> Floats:
    """Return a column of so many numbers."""
    try:
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            column = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        else:
            column = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise InputError(f"{what} must be all numbers: {str(error).splitlines()[0]}") from error
    if column.shape != (rows,):
        raise InputError(f"{what} has {len(column)} rows and not {rows}: give a number for each row")
    return np.asarray(column, dtype=np.float64)
