"""Bridges that exist today, from a table or another plan, to compare a plan with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import fill_null, to_numpy
from meshwright.errors import InputError
from meshwright.files.header import PLAN
from meshwright.files.urls import local_path
from meshwright.names import name_column
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.store.plans import read_plan
from meshwright.store.row_files import check_rows_file, errors_name_file, read_columns

if TYPE_CHECKING:
    from meshwright.interest import Interest


class Bridges(NamedTuple):
    """Bridges between the brokers of an interest."""

    overlay: Overlay
    """Each pair of brokers once, in the order of the table."""
    unknown: int
    """The number of bridges that were left out, because a broker is not in the interest."""


def load_bridges(source: Any, interest: Interest) -> Bridges:
    """Load the bridges of today: columns `u, v` with the names of two brokers each.

    Parameters
    ----------
    source
        A file ending in .csv, .csv.gz or .parquet, the folder or URL of a plan, anything with
        `__arrow_c_stream__`, or pairs of names.
    interest
        The interest whose brokers are named.

    Raises
    ------
    InputError
        If nothing is there, or it cannot be read as bridges.
    FormatError
        If the content of a file does not match its format.

    Examples
    --------
    >>> import meshwright as mw
    >>> found = load_bridges([("a", "b"), ("b", "a"), ("a", "z")], mw.Interest.of({"a": {"x"}, "b": {"x"}}))
    >>> found.overlay.edges, found.unknown
    ([('a', 'b')], 1)
    """
    names = interest.node_names.cast(pa.string())
    columns = [name_column(column, "broker").cast(pa.string()) for column in _ends(source)]
    u, v = (to_numpy(fill_null(pc.index_in(column, names), -1)).astype(np.int64) for column in columns)
    known = (u >= 0) & (v >= 0)
    low, high = np.minimum(u, v)[known], np.maximum(u, v)[known]
    _, first = np.unique(low * max(interest.num_nodes, 1) + high, return_index=True)
    first = np.sort(first[low[first] < high[first]])
    low, high = low[first].astype(np.int32), high[first].astype(np.int32)
    from meshwright.measure import contributions

    overlay = unchecked_overlay(interest, low, high, contributions(interest, low, high))
    return Bridges(overlay, int((~known).sum()))


def _ends(source: Any) -> tuple[Any, Any]:
    """Return the two columns of names."""
    if isinstance(source, (str, Path)):
        local = local_path(source)
        table = read_plan(source).edges if local is None else _read(Path(local))
    elif hasattr(source, "__arrow_c_stream__"):
        table = pa.table(source)
    else:
        try:
            pairs = [(str(u), str(v)) for u, v in source]
        except (TypeError, ValueError):
            raise InputError(
                f"cannot read bridges from {type(source).__name__}: give pairs of brokers, a table with "
                "columns u and v, or a path"
            ) from None
        return [u for u, _ in pairs], [v for _, v in pairs]
    absent = [name for name in ("u", "v") if name not in table.column_names]
    if absent:
        raise InputError(f"the bridges have no column {absent[0]!r}: give the columns u and v")
    return table.column("u"), table.column("v")


def _read(path: Path) -> pa.Table:
    if (path / PLAN.file).is_file():
        return read_plan(path).edges
    if not path.is_file():
        raise InputError(f"no bridges {path}: give a file with columns u and v, or a plan's folder")
    with errors_name_file(path):
        check_rows_file(path, "u and v")
        return read_columns(path, lambda _: ("u", "v"))
