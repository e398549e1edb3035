"""The cost of starting: short commands next to importing their libraries, and the first compilation."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.csv

from benchmarks.cases_and_floors import COMPILATION, STARTUP, Case
from benchmarks.page import FLOOR, Page, figure
from benchmarks.resources import process_cpu_seconds

IMPORT = "import numpy, pyarrow, numba"
SETUP = (
    "plan rows.csv --out today",
    "route today rows.csv",
    "plan rows.csv --algorithm ring --out tomorrow",
    "route tomorrow rows.csv",
)
"""Commands that make what the measured commands read, and compile the kernels."""
COMMANDS = {
    "plan": "plan rows.csv --out plan",
    "export": "export today --to mosquitto --out federation",
    "diff": "diff today tomorrow",
    "help": "--help",
}
COMPILATIONS = 2
"""First plans, each with an empty cache; the faster one counts."""


def compare_commands(case: Case) -> dict[str, Any]:
    """Return the median CPU seconds of each command and of the import, with warm caches.

    Each run is a process of its own. Commands and the import take turns, so that a machine that slows down
    slows them alike. The first round warms the caches and does not count.
    """
    spent: dict[str, list[float]] = {"import": [], **{name: [] for name in COMMANDS}}
    with tempfile.TemporaryDirectory(prefix="meshwright-startup-") as folder:
        place = Path(folder)
        _write_rows(case, place)
        for line in SETUP:
            _command_seconds(line, place)
        for _ in range(1 + case.rounds):
            spent["import"].append(process_cpu_seconds([sys.executable, "-c", IMPORT], cwd=place))
            for name, line in COMMANDS.items():
                spent[name].append(_command_seconds(line, place))
    return {name: statistics.median(seconds[1:]) for name, seconds in spent.items()}


def measure_compilation(case: Case) -> dict[str, Any]:
    """Return the least CPU seconds of a GM plan that starts with an empty kernel cache."""
    spent = []
    for _ in range(min(COMPILATIONS, case.rounds)):
        with tempfile.TemporaryDirectory(prefix="meshwright-compilation-") as folder:
            place = Path(folder)
            _write_rows(case, place)
            spent.append(_command_seconds(COMMANDS["plan"], place, NUMBA_CACHE_DIR=str(place / "cache")))
    return {"seconds": min(spent)}


def _write_rows(case: Case, place: Path) -> None:
    pyarrow.csv.write_csv(case.workload().to_arrow(), place / "rows.csv")


def _command_seconds(line: str, place: Path, **variables: str) -> float:
    """Run a command of Meshwright in a folder and return its CPU seconds."""
    words = [sys.executable, "-m", "meshwright", *line.split()]
    environment = {**os.environ, **variables}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users keep byte code, so a warm command has it
    return process_cpu_seconds(words, cwd=place, env=environment)


TASKS = {STARTUP: compare_commands, COMPILATION: measure_compilation}


def add_tables(page: Page) -> None:
    """Add the tables on warm commands and on the first compilation."""
    rows = []
    for case, record in page.measured(STARTUP):
        for name, line in COMMANDS.items():
            ratio = record[name] / record["import"]
            cells = [case.name, f"`{line}`", figure(record["import"]), figure(record[name]), figure(ratio)]
            rows.append([*cells, *page.floor(ratio, "≤", case.command_over_import)])
    page.table(
        "Start-up",
        f'CPU seconds of warm commands on a three-row CSV, over `python -c "{IMPORT}"`: medians of '
        "alternating runs, each in a process of its own.",
        ["case", "command", "import s", "command s", "command / import", *FLOOR],
        rows,
    )
    page.table(
        "First compilation",
        "CPU seconds of `meshwright plan` (GM) on a three-row CSV with an empty kernel cache, best of two.",
        ["case", "seconds", *FLOOR],
        [
            [case.name, figure(it["seconds"]), *page.floor(it["seconds"], "≤", case.compilation_seconds)]
            for case, it in page.measured(COMPILATION)
        ],
    )
