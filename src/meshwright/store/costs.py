"""Link costs from tables: Arrow streams, CSV and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from meshwright.arrow import to_numpy
from meshwright.errors import InputError, first_five, first_rows
from meshwright.interest import Interest
from meshwright.store.row_files import check_names, check_rows_file, errors_name_file, read_columns

if TYPE_CHECKING:
    from meshwright.costs.link_costs import LinkCosts


PAIRS, PLACES = ("u", "v", "cost"), ("node", "x", "y")
"""The columns of the two kinds of tables."""


def load_costs(source: Any, interest: Interest | Any, *, check_triangle: bool = False) -> LinkCosts:
    """Load link costs: columns `u, v, cost` for pairs of nodes, or `node, x, y` for places.

    Parameters
    ----------
    source
        Anything with `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow), or a file ending in .csv, .csv.gz
        or .parquet.
    interest
        The interest whose nodes the table names, or whatever `Interest.of` takes.
    check_triangle
        Reject a table of pairs that breaks the triangle inequality; see `LinkCosts.from_pairs`.

    Raises
    ------
    InputError
        If something is missing, or `LinkCosts` rejects the costs.
    FormatError
        If the content of a file does not match its format.

    Examples
    --------
    >>> places = pa.table({"node": ["a", "b"], "x": [0, 3], "y": [0, 4]})
    >>> load_costs(places, {"a": {"x"}, "b": {"x"}})
    LinkCosts(places of 2 nodes)
    """
    interest = Interest.of(interest)
    if hasattr(source, "__arrow_c_stream__"):
        table = pa.table(source)
        return _costs(table.select(_columns_of(table.column_names)), interest, check_triangle)
    if not isinstance(source, (str, Path)):
        raise InputError(f"cannot make link costs from {type(source).__name__}: give a table or a path")
    path = Path(source)
    if not path.is_file():
        raise InputError(f"no file {path} with link costs: nothing is there, check the path")
    with errors_name_file(path):
        check_rows_file(path, "u, v, cost or node, x, y")
        return _costs(read_columns(path, _columns_of), interest, check_triangle)


def _columns_of(names: Sequence[str]) -> tuple[str, str, str]:
    """Return the columns of the kind of table that these names belong to."""
    kinds = [kind for kind in (PAIRS, PLACES) if set(kind) <= set(names)]
    if len(kinds) != 1:
        which = "both" if kinds else "neither"
        raise InputError(
            f"the columns are {first_five(names)}: give u, v, cost for pairs of nodes, or node, x, y for "
            f"places, not {which}"
        )
    return kinds[0]


def _costs(table: pa.Table, interest: Interest, check_triangle: bool) -> LinkCosts:
    from meshwright.costs.link_costs import LinkCosts

    names = table.column_names
    figures = [name for name in names if name in ("cost", "x", "y")]
    for name in names:
        if name not in figures:
            check_names(table.column(name), name)
    columns = [
        _numbers(table.column(name), name) if name in figures else table.column(name) for name in names
    ]
    if "cost" in names:
        return LinkCosts.from_pairs(interest, *columns, check_triangle=check_triangle)
    return LinkCosts.from_coordinates(interest, *columns)


def _numbers(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """Turn text into numbers, or name the rows that are not numbers."""
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowException:
        listed = list(enumerate(column.to_pylist(), start=1))
        bad = [(row, value) for row, value in listed if not _is_number(value)]
        where = ", ".join(f"{value!r} in row {row}" for row, value in bad[:5])
        raise InputError(
            f"{what} is {where or 'not a number'} (counted from 1, without the header): give numbers"
        ) from None
    if numbers.null_count:
        rows = np.flatnonzero(to_numpy(numbers.is_null()))
        raise InputError(
            f"no {what} in {first_rows(rows)} (counted from 1, without the header): "
            "fill the gaps, or drop these rows"
        )
    return numbers


def _is_number(value: Any) -> bool:
    try:
        pa.scalar(value).cast(pa.float64())
    except pa.ArrowException:
        return False
    return True
