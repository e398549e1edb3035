"""`meshwright reproduce`: the papers' evaluations, run again and compared with what they state."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, ShowProgress

if TYPE_CHECKING:
    from rich.table import Table

    from meshwright.actions.reproduce import Papers, Reproduction

EXAMPLES = (
    "meshwright reproduce list",
    "meshwright reproduce podc07/cuboid --out reproduction",
    "meshwright reproduce all --full --out reproduction",
)


def reproduce(
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY[/FIGURE]|all|list", help="A paper, one of its figures, all papers, or what there is."
        ),
    ],
    *,
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="The papers' sizes, or sizes that take minutes for all papers."),
    ] = False,
    graph: Annotated[
        list[str] | None,
        typer.Option(
            "--graph",
            metavar="NAME=PATH",
            help="A real social graph for icdcs16: columns node and topic. May be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder for results, figures and pages; a run resumes there."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", metavar="N", min=1, help="Cells to compute at a time; by default one per core."
        ),
    ] = None,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Run the evaluations of the papers again and compare each claim with our results.

    The folder gets the results as Parquet, the figures, and two pages with every claim: reproduction.html and
    reproduction.md. A stopped run continues where it was. The exit code is 0 whatever the verdicts are.
    """
    from meshwright.actions.reproduce import list_papers
    from meshwright.actions.reproduce import reproduce as run
    from meshwright.cli import output
    from meshwright.cli.progress_bar import CELLS, ProgressBar

    if key == "list":
        known = list_papers()
        output.answer_json(known.to_dict()) if json else output.answer(_list(known))
        return
    graphs = _named_graphs(graph or [])
    with ProgressBar(f"reproduce {key}", CELLS, forced=progress) as bar:
        made = run(key, out, full=full, graphs=graphs, jobs=jobs, progress=bar)
    if json:
        output.answer_json(made.to_dict())
    else:
        output.answer(_table(made), _summary(made), f"page: {made.page}")


def _named_graphs(given: list[str]) -> dict[str, str]:
    """Split NAME=PATH pairs."""
    from meshwright.errors import InputError

    graphs: dict[str, str] = {}
    for pair in given:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise InputError(f"--graph {pair!r}: give NAME=PATH, such as facebook=follows.csv")
        if name in graphs:
            raise InputError(f"--graph {name} is given twice: keep one of them")
        graphs[name] = path
    return graphs


def _list(known: "Papers") -> "Table":
    """Return the papers, their figures, and how many cells each has."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("key", "title"):
        table.add_column(name, overflow="fold")
    for name in ("quick cells", "full cells"):
        table.add_column(name, justify="right")
    for paper in known.papers:
        table.add_row(paper.key, f"{paper.title}. {paper.authors}")
        for figure in paper.figures:
            sizes = [len(paper.source(figure).cases(full=full)) for full in (False, True)]
            table.add_row(f"  {paper.key}/{figure.key}", figure.title, *(f"{size:,}" for size in sizes))
    return table


def _table(made: "Reproduction") -> "Table":
    """Return the checks as a table for the terminal."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("verdict", "check", "paper", "ours"):
        table.add_column(name, overflow="fold")
    for check in made.checks:
        table.add_row(check.verdict, check.id, check.paper_value, check.ours)
    return table


def _summary(made: "Reproduction") -> str:
    counts = made.counts
    return (
        f"{counts['claims']} claims: {counts['holds']} hold, {counts['partly']} partly, {counts['no']} do not"
        f"; {made.computed:,} of {made.provenance.cells:,} cells computed now"
    )
