"""Run the benchmarks: each task of each case in its own process, results into `benchmarks/RESULTS.md`.

Run this in the checkout:

    python -m benchmarks.run [--quick] [--only NAME]… [--task NAME]… [--out FILE] [--resume FILE]
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases_and_floors import FULL, QUICK, Case
from benchmarks.page import Page, Records
from benchmarks.worker import BENCHMARKS
from meshwright.errors import InputError
from meshwright.files.atomic import check_place, new_file

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"


@dataclass(frozen=True)
class Outcome:
    """The measurements, how many floors hold, and where the page is."""

    machine: str
    results: list[dict[str, Any]]
    held: int
    asked: int
    page: str

    @property
    def passed(self) -> bool:
        """Whether every floor holds and every task ran."""
        return self.held == self.asked and not any("error" in result for result in self.results)


def main(
    quick: bool = False,
    only: Sequence[str] | None = None,
    out: Path | None = None,
    resume: Path | None = None,
    tasks: Sequence[str] | None = None,
) -> Outcome:
    """Measure, and write the page. Progress goes to stderr.

    `only` keeps the cases with one of these texts in their name; `tasks` keeps these tasks. `resume` is the
    records file of an interrupted run: its tasks do not run again, and the page says so. Only a full run
    writes RESULTS.md; a partial run writes to `out`, or next to its records in a temporary folder.
    """
    cases = [
        case for case in (QUICK if quick else FULL) if not only or any(part in case.name for part in only)
    ]
    if not cases:
        known = ", ".join(case.name for case in (QUICK if quick else FULL))
        raise InputError(f"no benchmark has {' or '.join(only or ())} in its name: choose from {known}")
    for place in (out, resume):
        if place is not None and (place.is_dir() or not place.parent.is_dir()):
            raise InputError(f"cannot use {place} as a file: create its folder, or give another path")
    if out is not None:
        check_place(out)
    here = describe_machine() + ("" if resume is None else " An earlier run measured some of the tasks.")
    journal = Path(tempfile.mkdtemp(prefix="meshwright-bench-")) / "records.jsonl"
    _note(f"records go to {journal}")
    records: Records = {} if resume is None else _read_records(resume)
    for number, case in enumerate(cases, start=1):
        for task in case.tasks:
            if (case.name, task) in records or (tasks and task not in tasks):
                continue
            began = time.perf_counter()
            record = records[case.name, task] = _run_task(case, task)
            with journal.open("a") as file:
                file.write(json.dumps({"case": case.name, "task": task, **record}) + "\n")
            took = time.perf_counter() - began
            _note(f"[{number}/{len(cases)}] {case.name} {task}: {_format_record(record)} ({took:.0f} s)")
    page = build_page(cases, records)
    target = out or (RESULTS if not quick and not only and not tasks else journal.with_name("RESULTS.md"))
    with new_file(target) as beside:
        beside.write_text(page.text(here), encoding="utf-8")
    results = [{"case": name, "task": task, **record} for (name, task), record in records.items()]
    return Outcome(here, results, page.held, page.asked, str(target))


def build_page(cases: Sequence[Case], records: Records) -> Page:
    """Return the page with the tables of all benchmarks."""
    page = Page(cases, records)
    for benchmark in BENCHMARKS:
        benchmark.add_tables(page)
    return page


def describe_machine() -> str:
    """Return the processor, memory, load, versions and date, and how seconds are measured."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
        memory = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
        load = f"load {os.getloadavg()[0]:.1f} at the start"
    except (OSError, StopIteration):  # not Linux, or a processor without a model name
        model, memory, load = platform.processor() or platform.machine(), "memory unknown", "load unknown"
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "numba", "scipy")]
    today = datetime.datetime.now(datetime.UTC).date()
    return (
        f"{model}, {os.cpu_count()} cores, {memory}, {platform.system()}, {load}. Python "
        f"{platform.python_version()}, {', '.join(versions)}. {today}.\nSeconds are CPU seconds of one "
        "thread with warm kernels, unless a table says otherwise: best of three runs for the engine and of "
        "two for its competitors, more for very short runs, fewer beyond 20 s."
    )


def _run_task(case: Case, task: str) -> dict[str, Any]:
    """Run a task in its own process. A failure gives a record, too."""
    # Limit the libraries to one thread. These variables do not affect the engine's own threads.
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker", case.name, task],
        cwd=ROOT,
        env={**os.environ, **single, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"error": f"exit code {done.returncode}: {last}"}
    record: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return record


def _read_records(journal: Path) -> Records:
    """Read the records of an interrupted run."""
    records: Records = {}
    for line in journal.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        records[record.pop("case"), record.pop("task")] = record
    return records


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _format_record(record: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in record.items()
    )


if __name__ == "__main__":
    _parser = argparse.ArgumentParser(description="Measure speed and memory on this machine.")
    _parser.add_argument("--quick", action="store_true", help="small cases only, under a minute")
    _parser.add_argument(
        "--only", action="append", metavar="NAME", help="only cases with this in their name; may be repeated"
    )
    _parser.add_argument("--task", action="append", metavar="NAME", help="only this task; may be repeated")
    _parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the page")
    _parser.add_argument("--resume", type=Path, metavar="FILE", help="records of an interrupted run")
    _given = _parser.parse_args()
    _outcome = main(_given.quick, _given.only, _given.out, _given.resume, _given.task)
    print(f"{_outcome.held} of {_outcome.asked} floors hold; written to {_outcome.page}")
    sys.exit(0 if _outcome.passed else 1)
