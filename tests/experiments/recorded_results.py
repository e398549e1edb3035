"""Results of the papers as they were once measured, and tables made from them in which claims fail.

`recorded/KEY.json` holds some rows of a quick run of each paper. To take them from another run:
`meshwright reproduce all --out FOLDER`, then `python tests/experiments/recorded_results.py FOLDER`.
`tests/golden/papers.json` states what claims, drawings and small cells make of them. After a deliberate
change, record these answers again and read the diff: `pytest tests/experiments/test_recorded.py --record`.
"""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from meshwright.experiments.checks import Claims
from meshwright.experiments.paper import Case, Figure, Paper, papers
from meshwright.experiments.results import Results, Row, plain

FOLDER = Path(__file__).parent / "recorded"
KEYS = {"percent", "m", "d", "round", "count", "middle", "exponent", "people"}
"""Numbers that say what was measured, not how it came out."""
FIGURES = {
    f"{paper.key}/{figure.key}": (paper, figure) for paper in papers().values() for figure in paper.figures
}
TIMES = re.compile("seconds|assigning|routing")
"""Columns that differ from run to run."""
OURS = re.compile("best|bound|descent|steiner")
"""What our own searches and proofs find: it may become better without a change of the papers."""
MOST_ROWS = 110
"""Rows of a cell that are recorded, evenly spaced."""
SMALL = {"nodes": 40, "users": 60, "wanted": 60, "rounds": 12, "every": 4, "publications": 30, "steps": 50}
"""Parameters of small cells, in place of those of a quick run."""
LEAST_USERS = 3000
"""Users of a made-up social network, of which some follow 2,000."""
SLOW = "icdcs16/fig9"
"""The figure whose cells have one size only, and take seconds."""


def measured(name: str) -> Results:
    """Return the recorded results that a figure draws."""
    paper, figure = FIGURES[name]
    table = json.loads((FOLDER / f"{paper.key}.json").read_text())[paper.source(figure).key]
    return Results([dict(zip(table["columns"], row, strict=True)) for row in table["rows"]])


def tables(name: str) -> dict[str, Results]:
    """Return the recorded results, and others in which claims fail.

    Mirrored, the largest number of a column is the smallest. Equal, all are as large: nothing is above
    anything. Shaken, each is up to a quarter more or less.
    """
    paper, figure = FIGURES[name]
    results = measured(name)
    fixed = KEYS | {"seed"} | set(paper.source(figure).quick[0].parameters)
    columns = {
        column: results.column(column)
        for column in results.columns
        if column not in fixed and not any(isinstance(value, str) for value in results.column(column))
    }

    def changed(change: Callable[[Any, str, int], Any]) -> Results:
        return Results(
            [
                {
                    column: change(value, column, place) if column in columns and value is not None else value
                    for column, value in row.items()
                }
                for place, row in enumerate(results.rows)
            ]
        )

    return {
        "measured": results,
        "mirrored": changed(lambda value, column, _: _mirrored(value, columns[column])),
        "equal": changed(lambda value, column, _: value if isinstance(value, bool) else max(columns[column])),
        "shaken": changed(lambda value, column, place: _shaken(value, 7 * place + 3 * len(column))),
    }


def _mirrored(value: Any, all_of: list[Any]) -> Any:
    return not value if isinstance(value, bool) else max(all_of) + min(all_of) - value


def _shaken(value: Any, number: int) -> Any:
    return value if isinstance(value, bool) else value * (0.75 + number % 11 / 20)


@dataclass
class Scores(Claims):
    """Keeps how every single comparison came out: 1 if it holds, 0 if not, ½ in part, ? undecided."""

    scores: dict[str, str] = field(default_factory=dict)

    def check(
        self, name: str, claim: str, *, paper: str, ours: object, held: Mapping[str, float], reason: str = ""
    ) -> None:
        """Add a check."""
        super().check(name, claim, paper=paper, ours=ours, held=held, reason=reason)
        signs = {0.0: "0", 0.5: "½", 1.0: "1"}
        self.scores[name] = "".join(
            "?" if math.isnan(score) else signs[float(score)] for score in held.values()
        )


def claims_of(name: str) -> dict[str, dict[str, str]]:
    """Return for every claim of a figure our value, and how its comparisons come out in every table."""
    paper, figure = FIGURES[name]
    answers: dict[str, dict[str, str]] = {}
    for table, results in tables(name).items():
        claims = Scores(paper.key, figure.key)
        try:
            with warnings.catch_warnings(action="ignore"):  # a line through points that are all the same
                figure.claims(results, claims)
        except (ArithmeticError, ValueError, IndexError) as error:  # no run gives such results
            answers.setdefault("error", {})[table] = type(error).__name__
        for check in claims.checks:
            claim = check.id.rpartition("/")[2]
            answer = answers.setdefault(claim, {"paper": check.paper_value, "ours": check.ours})
            answer[table] = f"{check.verdict} {claims.scores[claim]}"
    return answers


def drawing_of(name: str) -> list[dict[str, Any]]:
    """Return what a figure shows of the recorded results, panel by panel."""
    from matplotlib.figure import Figure as Sheet

    figure = FIGURES[name][1]
    axes: list[Any] = [Sheet().subplots() for _ in range(figure.panels)]
    figure.draw(measured(name), axes)
    return [
        {
            "title": panel.get_title(),
            "labels": [panel.get_xlabel(), panel.get_ylabel(), panel.get_xscale(), panel.get_yscale()],
            "lines": {str(number): _spell_line(line) for number, line in enumerate(panel.lines)},
            "bars": [_round(bar.get_height()) for bar in panel.patches],
        }
        for panel in axes
    ]


def _spell_line(line: Any) -> str:
    xs, ys = ([_round(float(value)) for value in values] for values in (line.get_xdata(), line.get_ydata()))
    points = f"{len(xs)} points to {xs[-1]}; {ys[0]} to {ys[-1]}, sum {_round(sum(ys))}"
    return f"{line.get_label()} {line.get_linestyle()}: {points}"


def grids_of(figure: Figure) -> str:
    """Return how many cells a figure has, a digest of their parameters, and its version."""
    counts = f"{len(figure.quick)} quick, {len(figure.full)} full"
    digest = zlib.crc32("\n".join(map(str, figure.quick + figure.full)).encode())
    return f"{counts}, digest {digest}, version {figure.version}"


def small_cells(figure: Figure) -> list[Case]:
    """Return two small cases for each kind of cell of a figure: its first and its last."""
    kinds: dict[str, list[Case]] = {}
    for case in figure.quick:
        words = {name: value for name, value in case.parameters.items() if isinstance(value, (str, bool))}
        numbers = {name: value for name, value in case.parameters.items() if name not in words}
        small = {name: min(value, SMALL.get(name, value)) for name, value in numbers.items()}
        if "network" in words and "users" in small:
            small["users"] = LEAST_USERS
        kinds.setdefault(str(words), []).append(Case({**words, **small}, 1))
    ends = [case for cases in kinds.values() for case in (cases[0], cases[-1])]
    return list({str(case): case for case in ends}.values())


def cells_of(name: str) -> list[str]:
    """Return what the small cells of a figure measure, but for times and what is ours."""
    cells = run_small_cells(name)
    return [f"{case}: {spell_rows(rows)}" for case, rows in cells if not OURS.search(str(case))]


@cache
def run_small_cells(name: str) -> list[tuple[Case, list[Row]]]:
    """Return the small cases of a figure, and their rows."""
    figure = FIGURES[name][1]
    if figure.cell is None or name == SLOW:
        return []
    return [(case, plain(figure.cell(case))) for case in small_cells(figure)]


def spell_rows(rows: list[Row]) -> str:
    """Spell the number of rows, and of each column its sum or its values."""
    made = Results([row for row in rows if not OURS.search(str(row.get("design", row.get("algorithm"))))])
    columns = [name for name in made.columns if not (TIMES.search(name) or OURS.search(name))]
    spelled = [f"{column} {_spell_column(made.column(column))}" for column in columns]
    return f"{len(made.rows)} of {len(rows)} rows, " + ", ".join(spelled)


def _spell_column(values: list[Any]) -> str:
    if any(isinstance(value, str) for value in values):
        return " ".join(dict.fromkeys(map(str, values)))
    return str(_round(sum(value * (1 + place % 7) for place, value in enumerate(values))))


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def record_rows(folder: Path) -> None:
    """Write some rows of a run of all papers."""
    import pyarrow.parquet as pq

    for paper in papers().values():
        rows_by_figure = {}
        for figure in paper.figures:
            if figure.cell is not None:
                table = pq.read_table(
                    folder / "results" / f"{paper.key}-{figure.key}.parquet", partitioning=None
                )
                rows_by_figure[figure.key] = _compact(paper, figure, table.to_pylist())
        lines = [
            f'"{key}": {{"columns": {json.dumps(columns)}, "rows": [\n'
            + ",\n".join(map(json.dumps, rows))
            + "]}"
            for key, (columns, rows) in rows_by_figure.items()
        ]
        (FOLDER / f"{paper.key}.json").write_text("{" + ",\n".join(lines) + "}\n")


def _compact(paper: Paper, figure: Figure, rows: list[Row]) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and some rows of a table: two seeds, and a limited number of rows for each cell."""
    columns = list(rows[0])
    cells: dict[str, list[Row]] = {}
    for row in rows:
        if row["seed"] <= 2:
            cells.setdefault(str([row[name] for name in (*figure.quick[0].parameters, "seed")]), []).append(
                row
            )
    kept = [row for cell in cells.values() for row in _thinned(cell)]
    return columns, [[_round(v) if isinstance(v, float) else v for v in row.values()] for row in kept]


def _thinned(rows: list[Row]) -> list[Row]:
    if "round" in rows[0]:  # claims look at the first, the middle and the last round
        return [row for row in rows if row["round"] % 50 == 0 or row["round"] < 5]
    step = -(-len(rows) // MOST_ROWS)
    return rows[::step]


if __name__ == "__main__":
    record_rows(Path(sys.argv[1]))
