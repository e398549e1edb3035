"""Cells: each finished one is a Parquet file of its own, so that a killed run continues where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from meshwright.errors import FormatError, first_five
from meshwright.experiments.results import Row, plain, to_arrow
from meshwright.files.atomic import new_file

if TYPE_CHECKING:
    from meshwright.experiments.paper import Case, Figure, Paper

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
