"""Results: rows of a figure as they are read from Parquet, and the file of each finished cell.

Each finished cell is a Parquet file of its own, so that a killed run continues where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from meshwright.errors import FormatError, first_five
from meshwright.files.atomic import new_file
from meshwright.formatting import amount

if TYPE_CHECKING:
    import pyarrow as pa

    from meshwright.experiments.paper import Case, Figure, Paper


Row: TypeAlias = dict[str, Any]
"""One result: names of columns, and numbers, strings, booleans or None."""


class Spread(NamedTuple):
    """A figure over several seeds or cases: its mean and its range."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return mean and range of at least one value."""
        listed = [float(value) for value in values]
        return cls(statistics.fmean(listed), min(listed), max(listed))

    @classmethod
    def over(cls, curve: Mapping[Any, Sequence[float]]) -> Spread:
        """Return mean and range of all points of a curve."""
        return cls.of(value for values in curve.values() for value in values)

    def __str__(self) -> str:
        """Spell mean and range.

        >>> str(Spread.of([1.0, 2.0])), str(Spread.of([3]))
        ('1.5 (1 to 2)', '3')
        """
        if self.low == self.high:
            return amount(self.mean)
        return f"{amount(self.mean)} ({amount(self.low)} to {amount(self.high)})"


@dataclass(frozen=True)
class Results:
    """Rows with equal columns; drawings and claims select from them.

    >>> results = Results([{"nodes": n, "seed": s, "degree": n + s} for n in (10, 20) for s in (1, 2)])
    >>> results.by("nodes", "degree")
    {10: [11, 12], 20: [21, 22]}
    >>> str(results.where(nodes=20).spread("degree"))
    '21.5 (21 to 22)'
    >>> results.paired("degree", {"nodes": 20}, {"nodes": 10})
    [1.9090909090909092, 1.8333333333333333]
    """

    rows: Sequence[Row]

    def where(self, **equal: Any) -> Results:
        """Return the rows whose columns have these values; a tuple or list allows each of its values."""

        def fits(row: Row) -> bool:
            return all(
                row.get(name) in value if isinstance(value, (tuple, list)) else row.get(name) == value
                for name, value in equal.items()
            )

        return Results([row for row in self.rows if fits(row)])

    def values(self, column: str) -> list[Any]:
        """Return the distinct values of a column but None: numbers ascending, others as they occur."""
        found = list(dict.fromkeys(row[column] for row in self.rows if row.get(column) is not None))
        return sorted(found) if all(isinstance(value, (int, float)) for value in found) else found

    def column(self, name: str) -> list[Any]:
        """Return a column without its missing values."""
        return [row[name] for row in self.rows if row.get(name) is not None]

    def by(self, key: str, column: str) -> dict[Any, list[Any]]:
        """Return the values of a column by the values of another, in ascending order of these."""
        return {value: self.where(**{key: value}).column(column) for value in self.values(key)}

    def mean(self, column: str) -> float:
        """Return the mean of a column."""
        return statistics.fmean(self.column(column))

    def spread(self, column: str) -> Spread:
        """Return the mean and the range of a column."""
        return Spread.of(self.column(column))

    def paired(self, column: str, upper: dict[str, Any], lower: dict[str, Any]) -> list[float]:
        """Return the ratio of a column under two conditions, row by row in the order of the rows.

        The two selections must have equally many rows, such as two designs on the same cases and seeds.
        """
        ours, theirs = self.where(**upper).column(column), self.where(**lower).column(column)
        return [one / other for one, other in zip(ours, theirs, strict=True)]

    @cached_property
    def columns(self) -> list[str]:
        """The columns, in the order in which they occur."""
        return list(dict.fromkeys(name for row in self.rows for name in row))


def ratios(
    upper: Mapping[Any, Sequence[float]], lower: Mapping[Any, Sequence[float]]
) -> dict[Any, list[float]]:
    """Return the ratio of two curves where both have points, seed by seed.

    >>> ratios({1: [2.0, 3.0], 2: [4.0]}, {1: [1.0, 2.0]})
    {1: [2.0, 1.5]}
    """
    return {
        x: [one / other for one, other in zip(values, lower[x], strict=True)]
        for x, values in upper.items()
        if x in lower
    }


def to_arrow(rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table; columns that a row lacks are null."""
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


def plain(rows: Sequence[Row]) -> list[Row]:
    """Return rows with Python's own numbers in place of numpy's."""
    return [
        {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}
        for row in rows
    ]


RESULT = b"meshwright result"
"""The key of what a file's schema keeps about its cell."""


@dataclass(frozen=True)
class Cell:
    """A case of a figure, and the file that holds its results."""

    paper: Paper
    figure: Figure
    case: Case
    file: Path

    def __str__(self) -> str:
        """Name the cell for messages."""
        return f"{self.paper.key}/{self.figure.key} at {self.case}"


class Finished(NamedTuple):
    """The results of a cell: its rows, and how long it took."""

    rows: list[Row]
    seconds: float


def cells_of(
    paper: Paper, figure: Figure, folder: Path, *, full: bool, graphs: Mapping[str, str]
) -> list[Cell]:
    """Return the cells of a figure; `graphs` are the digests of graphs by name."""
    given = {name: graphs[name] for name in figure.graphs if name in graphs}
    return [
        Cell(
            paper,
            figure,
            case,
            folder / paper.key / figure.key / f"{_digest(paper, figure, case, given)}.parquet",
        )
        for case in figure.cases(full=full)
    ]


def _digest(paper: Paper, figure: Figure, case: Case, graphs: Mapping[str, str]) -> str:
    """Return a digest of all that a cell's results depend on."""
    return _hash([paper.key, figure.key, figure.version, dict(case.parameters), case.seed, dict(graphs)])


def _hash(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def write_cell(cell: Cell, rows: Sequence[Row], seconds: float) -> None:
    """Write the results of a cell: the file appears whole or not at all."""
    import pyarrow.parquet as pq

    table = to_arrow(plain(rows))
    described = {"cell": str(cell), "rows": _hash(table.to_pylist()), "seconds": round(seconds, 3)}
    table = table.replace_schema_metadata({RESULT: json.dumps(described, ensure_ascii=False)})
    cell.file.parent.mkdir(parents=True, exist_ok=True)
    with new_file(cell.file) as beside:
        pq.write_table(table, beside)


def read_cells(cells: Sequence[Cell]) -> dict[Path, Finished]:
    """Return the results of those cells that are finished, by their files.

    Raises
    ------
    FormatError
        If files are damaged.
    """
    found: dict[Path, Finished] = {}
    damaged: list[str] = []
    for cell in cells:
        if not cell.file.exists():
            continue
        finished = _read(cell.file)
        if finished is None:
            damaged.append(str(cell.file))
        else:
            found[cell.file] = finished
    if damaged:
        these = f"{damaged[0]} is" if len(damaged) == 1 else f"{first_five(damaged)} are"
        raise FormatError(
            f"{these} damaged: delete the file and run the same command again; only its cell is computed"
        )
    return found


def _read(file: Path) -> Finished | None:
    """Read the results of a cell; None if the file is not as it was written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file, partitioning=None)
        described = json.loads(table.schema.metadata[RESULT])
        rows = table.to_pylist()
        if table.num_columns == 0 or _hash(rows) != described["rows"]:
            return None
        return Finished(rows, float(described["seconds"]))
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        return None
