"""Link costs from tables: Arrow streams, CSV and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from meshwright.errors import InputError, first_five, first_rows
from meshwright.interest import MOST_SUBSCRIPTIONS
from meshwright.store.columns import check_names, csv_names, parquet_names, read_csv, read_parquet, reading

if TYPE_CHECKING:
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.interest import Interest

PAIRS, PLACES = ("u", "v", "cost"), ("node", "x", "y")
"""The columns of both kinds of tables."""
ENDINGS = (".csv", ".csv.gz", ".parquet")


def load_costs(source: Any, interest: Interest, *, check_triangle: bool = False) -> LinkCosts:
    """Load what links cost: columns `u, v, cost` for pairs of nodes, or `node, x, y` for places.

    Parameters
    ----------
    source
        Anything with `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow), or a file ending in .csv, .csv.gz
        or .parquet.
    interest
        Whose nodes they are.
    check_triangle
        Refuse a table of pairs that breaks the triangle inequality; see `LinkCosts.from_pairs`.

    Raises
    ------
    InputError
        If something is missing, or `LinkCosts` refuses it.
    FormatError
        If a file is not what it seems to be.
    """
    if hasattr(source, "__arrow_c_stream__"):
        table = pa.table(source)
        return _costs(table.select(_chosen(table.column_names)), interest, check_triangle)
    if not isinstance(source, (str, Path)):
        raise InputError(f"no link costs can be made from {type(source).__name__}: give a table or a path")
    path = Path(source)
    if not path.is_file():
        raise InputError(f"no file {path}: nothing is there to read link costs from")
    if not path.name.lower().endswith(ENDINGS):
        raise InputError(f"{path} ends in none of {', '.join(ENDINGS)}: rename it")
    with reading(path):
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty: it needs the columns u, v, cost or node, x, y")
        if path.name.lower().endswith(".parquet"):
            table = read_parquet(path, _chosen(parquet_names(path)), MOST_SUBSCRIPTIONS)
        else:
            table = read_csv(path, _chosen(csv_names(path)))
        return _costs(table, interest, check_triangle)


def _chosen(names: Sequence[str]) -> tuple[str, str, str]:
    """Say by its columns which kind of table it is."""
    kinds = [kind for kind in (PAIRS, PLACES) if set(kind) <= set(names)]
    if len(kinds) != 1:
        which = "both" if kinds else "neither"
        raise InputError(
            f"the columns are {first_five(names)}: give u, v, cost for pairs of nodes, or node, x, y for "
            f"places, and not {which}"
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
    """Turn text into numbers, or say which rows are none."""
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowException:
        listed = list(enumerate(column.to_pylist(), start=1))
        bad = [(row, value) for row, value in listed if not _is_number(value)]
        told = ", ".join(f"{value!r} in row {row}" for row, value in bad[:5])
        raise InputError(
            f"{what} is {told or 'no number'} (from 1, the header not counted): give numbers"
        ) from None
    if numbers.null_count:
        rows = np.flatnonzero(numbers.is_null().to_numpy())
        raise InputError(
            f"no {what} in {first_rows(rows)} (from 1, the header not counted): "
            "fill every gap, or drop its row"
        )
    return numbers


def _is_number(value: Any) -> bool:
    try:
        pa.scalar(value).cast(pa.float64())
    except pa.ArrowException:
        return False
    return True
