"""Compute cells: one after the other in this process, or several at a time in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from meshwright.experiments.results import Row

if TYPE_CHECKING:
    from meshwright.experiments.paper import Case
    from meshwright.experiments.results import Cell
    from meshwright.interest import Interest

LITTLE = 20.0
"""Seconds of work below which starting processes costs more than it saves."""
Computed: TypeAlias = tuple["Cell", list[Row], float]
"""A cell, its rows, and the CPU seconds that it took."""


def compute(missing: Sequence[Cell], graphs: Mapping[str, Interest], jobs: int) -> Iterator[Computed]:
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


def _task(cell: Cell, graphs: Mapping[str, Interest]) -> tuple[Callable[[Case], list[Row]], Case]:
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
