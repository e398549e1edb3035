"""Run the benchmarks: each task of each case in a fresh process, results into `benchmarks/RESULTS.md`.

`python -m benchmarks.run [--quick] [--only NAME]… [--task NAME]… [--out FILE] [--resume FILE]`, from the
folder above.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import FULL, QUICK, Case
from benchmarks.machine import machine
from benchmarks.results import Page, Records
from meshwright.errors import InputError
from meshwright.files.atomic import check_place, new_file

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"


@dataclass(frozen=True)
class Outcome:
    """What was measured, how many of the floors hold, and where the page is."""

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
    """Measure and write the page; progress goes to stderr.

    `resume` is the records file of a run that was cut short: what it holds is not measured again, and the
    page says so. `only` keeps the cases with one of these in their name, `tasks` keeps these tasks.
    RESULTS.md is written by a full run alone; a part writes to `out`, or beside its records in a temporary
    folder.
    """
    cases = [
        case for case in (QUICK if quick else FULL) if not only or any(part in case.name for part in only)
    ]
    if not cases:
        known = ", ".join(case.name for case in (QUICK if quick else FULL))
        raise InputError(f"no benchmark named like {', '.join(only or ())}: there are {known}")
    for place in (out, resume):
        if place is not None and (place.is_dir() or not place.parent.is_dir()):
            raise InputError(f"no file can be at {place}: make its folder, or name another")
    if out is not None:
        check_place(out)
    here = machine() + ("" if resume is None else " Parts of this were measured in earlier runs.")
    journal = Path(tempfile.mkdtemp(prefix="meshwright-bench-")) / "records.jsonl"
    _note(f"each result goes to {journal} as it comes")
    records: Records = {} if resume is None else _recorded(resume)
    for number, case in enumerate(cases, start=1):
        for task in case.tasks:
            if (case.name, task) in records or (tasks and task not in tasks):
                continue
            began = time.perf_counter()
            record = records[case.name, task] = _run(case, task)
            with journal.open("a") as file:
                file.write(json.dumps({"case": case.name, "task": task, **record}) + "\n")
            took = time.perf_counter() - began
            _note(f"[{number}/{len(cases)}] {case.name} {task}: {_format_record(record)} ({took:.0f} s)")
    page = Page(cases, records, here)
    target = out or (RESULTS if not quick and not only and not tasks else journal.with_name("RESULTS.md"))
    with new_file(target) as beside:
        beside.write_text(page.text, encoding="utf-8")
    results = [{"case": name, "task": task, **record} for (name, task), record in records.items()]
    return Outcome(here, results, page.held, page.asked, str(target))


def _run(case: Case, task: str) -> dict[str, Any]:
    """Measure in a process of its own; a failure is a record too."""
    # One thread in whatever library would like more; the engine's own threads are not touched by these.
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


def _recorded(journal: Path) -> Records:
    """Read the records of an earlier run."""
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
    _parser = argparse.ArgumentParser(description="Measure the engine on this machine.")
    _parser.add_argument("--quick", action="store_true", help="small cases only, under a minute")
    _parser.add_argument("--only", action="append", metavar="NAME", help="only cases with this in their name")
    _parser.add_argument("--task", action="append", metavar="NAME", help="only this task")
    _parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the page")
    _parser.add_argument("--resume", type=Path, metavar="FILE", help="records of a run that was cut short")
    _given = _parser.parse_args()
    _outcome = main(_given.quick, _given.only, _given.out, _given.resume, _given.task)
    print(f"{_outcome.held} of {_outcome.asked} floors hold; written to {_outcome.page}")
    sys.exit(0 if _outcome.passed else 1)
