"""Commands to try Meshwright, and to measure it: `demo`, `doctor`, `reproduce` and `bench`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli import output
from meshwright.cli.main import Json
from meshwright.cli.options import Seed
from meshwright.cli.output import CELLS, Answer, ProgressBar
from meshwright.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from meshwright.actions.doctor import Finding
    from meshwright.actions.reproduce import Papers, Reproduction


DEMO_EXAMPLES = ("meshwright demo --out out/demo",)


def demo(
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="Folder for logs, dataset, plan, configuration and report."
        ),
    ] = Path("meshwright-demo"),
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="Number of brokers.")] = 2000,
    topics: Annotated[int, typer.Option("--topics", metavar="N", help="Number of topics.")] = 500,
    seed: Seed = 1,
    json: Json = False,
) -> Answer:
    """Tell the whole story on a synthetic federation, from dirty logs to running brokers and a report.

    Each step prints one line with its figure. If Mosquitto is installed, 12 of the brokers are planned alone,
    started, and every message among them is counted. The last line names the page to open in a browser.
    """
    from meshwright.actions.demo import demonstrate

    with ProgressBar() as bar:

        def say(step: str, figure: str) -> None:
            bar.stop()
            if not json:
                output.answer(f"{step:<14} {figure}")
                sys.stdout.flush()

        made = demonstrate(out, nodes=nodes, topics=topics, seed=seed, say=say, progress=bar)
    return Answer(made, "", f"Open {made.report}")


DOCTOR_EXAMPLES = ("meshwright doctor", "meshwright doctor --spark")


def doctor(
    *,
    spark: Annotated[
        bool, typer.Option("--spark", help="Start Spark too, and run one job: takes half a minute.")
    ] = False,
) -> Answer:
    """Check what this machine has: Python, Java, Spark, Mosquitto, a browser, and places to write.

    Each line says what was found, or the command that gets it. The exit code is 1 if something is missing
    that every design needs.
    """
    from meshwright.actions.doctor import check_machine

    made = check_machine(spark=spark)
    width = max(len(one.name) for one in made.findings)
    return Answer(made, *(_line(one, width) for one in made.findings))


def _line(one: Finding, width: int) -> str:
    if one.found:
        return f"{one.name:<{width}}  {one.found}"
    return f"{one.name:<{width}}  missing; needed for {one.needed_for}: {one.help}"


REPRODUCE_EXAMPLES = (
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
) -> Answer:
    """Run the evaluations of the papers again and compare each claim with our results.

    The folder gets the results as Parquet, the figures, and two pages with every claim: reproduction.html and
    reproduction.md. A stopped run continues where it was. The exit code is 0 whatever the verdicts are.
    """
    from meshwright.actions.reproduce import list_papers
    from meshwright.actions.reproduce import reproduce as run

    if key == "list":
        known = list_papers()
        return Answer(known, _list(known))
    graphs = _named_graphs(graph or [])
    with ProgressBar(f"reproduce {key}", CELLS) as bar:
        made = run(key, out, full=full, graphs=graphs, jobs=jobs, progress=bar)
    return Answer(made, _verdict_table(made), _summary(made), f"page: {made.page}")


def _named_graphs(given: list[str]) -> dict[str, str]:
    """Split NAME=PATH pairs."""
    graphs: dict[str, str] = {}
    for pair in given:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise InputError(f"--graph {pair!r}: give NAME=PATH, such as facebook=follows.csv")
        if name in graphs:
            raise InputError(f"--graph {name} is given twice: keep one of them")
        graphs[name] = path
    return graphs


def _list(known: Papers) -> Table:
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


def _verdict_table(made: Reproduction) -> Table:
    """Return the checks as a table for the terminal."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("verdict", "check", "paper", "ours"):
        table.add_column(name, overflow="fold")
    for check in made.checks:
        table.add_row(check.verdict, check.id, check.paper_value, check.ours)
    return table


def _summary(made: Reproduction) -> str:
    counts = made.counts
    return (
        f"{counts['claims']} claims: {counts['holds']} hold, {counts['partly']} partly, {counts['no']} do not"
        f"; {made.computed:,} of {made.provenance.cells:,} cells computed now"
    )


BENCH_EXAMPLES = ("meshwright bench", "meshwright bench --quick --out results.md")


def bench(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Small cases only: under a minute.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only cases with this in their name; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the page here, not to benchmarks/RESULTS.md."),
    ] = None,
) -> Answer:
    """Measure speed and memory on this machine, and write a page of results.

    The exit code is 1 if a measured ratio misses its floor.
    """
    from meshwright.actions.bench import bench as run

    made = run(quick=quick, only=only, out=out)
    return Answer(made, f"{made.held} of {made.asked} floors hold; written to {made.page}")
