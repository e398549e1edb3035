"""Reproduce papers: run the missing cells, then draw, check and write the pages from what is in the files.

Cells are computed one after the other in this process, or several at a time in processes of their own.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import meshwright as mw
from meshwright.errors import InputError, MeshwrightError
from meshwright.experiments.checks import Check, Claims, tally
from meshwright.experiments.pages import (
    Provenance,
    Section,
    describe_command,
    describe_graph,
    describe_machine,
    write_pages,
)
from meshwright.experiments.paper import Case, Selected, check_graphs, select
from meshwright.experiments.plots import draw
from meshwright.experiments.results import (
    Cell,
    Finished,
    Results,
    Row,
    cells_of,
    read_cells,
    to_arrow,
    write_cell,
)
from meshwright.files.atomic import check_free, check_place, new_file, writing
from meshwright.files.header import Kind, write_header
from meshwright.progress import Progress
from meshwright.report.sheet import check_matplotlib

REPRODUCTION = Kind("reproduction", "reproduction.json", 1)


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction found: its checks, and the pages that show them."""

    checks: tuple[Check, ...]
    out: Path
    page: Path
    """`reproduction.html`: every figure next to its checks."""
    computed: int
    """Cells that this run computed; the others were there already."""
    provenance: Provenance

    @property
    def counts(self) -> dict[str, int]:
        """How many claims there are, and how many have each verdict."""
        return {"claims": len(self.checks), **tally(self.checks)}

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and all checks as a JSON document."""
        return {**self.counts, "checks": [asdict(check) for check in self.checks]}


def reproduce(
    key: str,
    out: str | Path,
    *,
    full: bool = False,
    graphs: Mapping[str, Any] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Reproduction:
    """Run the experiments of papers again and compare the results with what the papers state.

    Parameters
    ----------
    key
        `all`, a paper such as `podc07`, or one of its figures such as `podc07/fig2`.
    out
        The folder for cells, results, figures and pages. Finished cells in it are not computed again.
    full
        Use the papers' sizes; by default, sizes that take seconds.
    graphs
        Real social graphs by name, for figures that use them: whatever `load_interest` takes.
    jobs
        How many cells to compute at a time. More than one runs them in processes of their own, so a script
        that calls this needs the usual `if __name__ == "__main__":`.
    progress
        Called with the number of finished cells, the share of the work done, and the figure at work.

    Raises
    ------
    InputError
        If there is no such paper, figure or graph, a graph cannot be used, or `jobs` is below 1.
    FormatError
        If a results file in the folder is damaged.
    OutputError
        If the folder cannot be written, or holds something else.
    MissingDependencyError
        If matplotlib is not installed.
    """
    out = Path(out)
    chosen = select(key)
    if jobs < 1:
        raise InputError(f"jobs is {jobs}: give at least 1")
    check_matplotlib()
    check_free(out, REPRODUCTION)
    check_place(out)
    loaded = load_graphs(graphs or {})
    digests = {name: graph.fingerprint for name, graph in loaded.items()}
    cells = _cells(chosen, out / "cells", full, digests)
    finished = read_cells(cells)
    missing = [cell for cell in cells if cell.file not in finished]
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        write_header(out, REPRODUCTION, {})
    _run(cells, missing, finished, loaded, jobs, progress)
    sections = [_section(one, cells, finished, out) for one in chosen]
    checks = tuple(check for section in sections for check in section.checks)
    provenance = Provenance(
        describe_command(key, full=full, graphs=loaded, out=out),
        describe_machine(),
        version("meshwright"),
        datetime.now(UTC).date().isoformat(),
        sum(one.seconds for one in finished.values()),
        len(cells),
        max((cell.case.seed for cell in cells), default=0),
        tuple(describe_graph(name, graph) for name, graph in sorted(loaded.items())),
    )
    page = write_pages(out, sections, provenance)
    made = Reproduction(checks, out, page, len(missing), provenance)
    with writing(out):
        write_header(out, REPRODUCTION, {**asdict(provenance), **made.to_dict()})
    return made


def load_graphs(graphs: Mapping[str, Any]) -> dict[str, mw.Interest]:
    """Load graphs by name, before any cell runs; errors name the graph."""
    from meshwright.store.interest_files import load_interest

    check_graphs(list(graphs))
    loaded = {}
    for name, source in graphs.items():
        try:
            loaded[name] = load_interest(source)
        except MeshwrightError as error:
            # A graph has no options for its columns, which the error may suggest.
            said = re.sub(
                r": (add|name them with) --.*", ": rename its columns to node and topic", str(error)
            )
            raise InputError(f"--graph {name}: {said}") from error
    return loaded


def _cells(chosen: Sequence[Selected], folder: Path, full: bool, digests: Mapping[str, str]) -> list[Cell]:
    """Return the cells of the chosen figures; those that share a table have them once."""
    sources = [(one.paper, one.paper.source(one.figure)) for one in chosen]
    distinct = {(paper.key, figure.key): (paper, figure) for paper, figure in sources}.values()
    return [
        cell
        for paper, figure in distinct
        for cell in cells_of(paper, figure, folder, full=full, graphs=digests)
    ]


def _run(
    cells: Sequence[Cell],
    missing: Sequence[Cell],
    finished: dict[Path, Finished],
    graphs: Mapping[str, mw.Interest],
    jobs: int,
    progress: Progress | None,
) -> None:
    """Compute the missing cells, write each as it is finished, and add them to the finished ones."""
    weight = {cell.file: cell.figure.weight(cell.case) for cell in missing}
    total, done = sum(weight.values()), 0.0

    def report(number: int) -> None:
        if progress is not None and number < len(missing):
            cell = missing[number]
            progress(len(finished), done / total, f"{cell.paper.key}/{cell.figure.key}")

    report(0)
    for number, (cell, rows, seconds) in enumerate(compute(missing, graphs, jobs), start=1):
        write_cell(cell, rows, seconds)
        finished |= read_cells([cell])
        done += weight[cell.file]
        report(number)
    if progress is not None:
        progress(len(cells), 1.0, "drawing")


def _section(
    chosen: Selected, cells: Sequence[Cell], finished: Mapping[Path, Finished], out: Path
) -> Section:
    """Write the table of a figure, then draw and check it from that file."""
    import pyarrow.parquet as pq

    paper, figure = chosen
    source = paper.source(figure)
    own = [cell for cell in cells if cell.paper is paper and cell.figure is source]
    rows = [_joined(cell, row) for cell in own for row in finished[cell.file].rows]
    name = f"{paper.key}-{figure.key}"
    file = out / "results" / f"{name}.parquet"
    with writing(out):
        for folder in ("results", "figures"):
            (out / folder).mkdir(exist_ok=True)
    with new_file(file) as beside:
        pq.write_table(to_arrow(rows), beside)
    results = Results(pq.read_table(file, partitioning=None).to_pylist())
    drawings = draw(figure, results, out / "figures", name)
    claims = Claims(paper.key, figure.key)
    figure.claims(results, claims)
    cases = tuple(cell.case for cell in own)
    return Section(paper, figure, cases, tuple(drawings), tuple(claims.checks))


def _joined(cell: Cell, row: Row) -> Row:
    """Return a row with the parameters and the seed of its cell in front."""
    given = {**cell.case.parameters, "seed": cell.case.seed}
    both = given.keys() & row.keys()
    if both:
        raise ValueError(f"{cell}: a result has the name of a parameter: {sorted(both)}")
    return {**given, **row}


LITTLE = 20.0
"""Seconds of work below which starting processes costs more than it saves."""
Computed: TypeAlias = tuple["Cell", list[Row], float]
"""A cell, its rows, and the CPU seconds that it took."""


def compute(missing: Sequence[Cell], graphs: Mapping[str, mw.Interest], jobs: int) -> Iterator[Computed]:
    """Compute cells and yield each as soon as it is finished, at most `jobs` at a time.

    One job, or little work, stays in this process. If the caller stops early, or a cell raises, the cells at
    work are ended.
    """
    work = sum(cell.figure.weight(cell.case) for cell in missing)
    if jobs == 1 or work < LITTLE:
        for cell in missing:
            yield cell, *measured(*_task(cell, graphs))
        return
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        running = {pool.submit(measured, *_task(cell, graphs)): cell for cell in missing}
        for future in as_completed(running):
            yield running[future], *future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()


def measured(compute_rows: Callable[[Case], list[Row]], case: Case) -> tuple[list[Row], float]:
    """Compute a cell; return its rows and its CPU seconds."""
    began = time.process_time()
    rows = compute_rows(case)
    return rows, time.process_time() - began


def _task(cell: Cell, graphs: Mapping[str, mw.Interest]) -> tuple[Callable[[Case], list[Row]], Case]:
    """Return what computes a cell, and its case with only those graphs that its figure uses."""
    assert cell.figure.cell is not None
    used = {name: graph for name, graph in graphs.items() if name in cell.figure.graphs}
    return cell.figure.cell, replace(cell.case, graphs=used)


def _begin() -> None:
    """Begin a process: Ctrl-C is the parent's business, and a killed parent leaves no child behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
