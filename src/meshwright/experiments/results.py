"""Results: the rows of all cells of a figure, as they are read from Parquet, and figures of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from meshwright.formatting import amount

if TYPE_CHECKING:
    import pyarrow as pa

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

    def paired(
        self,
        column: str,
        upper: dict[str, Any],
        lower: dict[str, Any],
        combine: Callable[[float, float], float] = lambda one, other: one / other,
    ) -> list[float]:
        """Return the ratio of a column under two conditions, row by row in the order of the rows.

        The two selections must have equally many rows, such as two designs on the same cases and seeds.
        """
        ours, theirs = self.where(**upper).column(column), self.where(**lower).column(column)
        return [combine(one, other) for one, other in zip(ours, theirs, strict=True)]

    @cached_property
    def columns(self) -> list[str]:
        """The columns, in the order in which they occur."""
        return list(dict.fromkeys(name for row in self.rows for name in row))


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
