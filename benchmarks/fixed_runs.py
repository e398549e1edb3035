"""Fixed runs: digests of what Meshwright makes, so that a change of the code can be shown to change nothing.

    python -m benchmarks.fixed_runs                    # run all, compare with fixed_runs.json
    python -m benchmarks.fixed_runs --only 'churn/*'   # those whose names match
    python -m benchmarks.fixed_runs --record           # run all, write fixed_runs.json

Each run ends in plain data: edges, trees, plans, files, figures. Times, paths and versions are left out,
floats are rounded to 12 digits, and the rest is hashed. A run that differs is printed in a line, and the exit
code is 1; `--keep DIR` leaves the data of each run, to be compared with that of the code before. Everything
else is in a temporary folder. Kernels that are not yet compiled make the first time longer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import meshwright as mw
from benchmarks import fixed_commands, fixed_data, fixed_overlays
from benchmarks.fixed_inputs import RUNS

ROOMS = fixed_overlays, fixed_commands, fixed_data
"""The modules that put their runs into `RUNS`."""
RECORDED = Path(__file__).with_suffix(".json")
DIGITS = 12
LENGTH = 16
"""How much of a sha256 is kept."""
WIDTH = "120"
"""How wide tables in words are."""
HERE = "HERE"
"""What stands for the temporary folder."""


def is_left_out(name: str) -> bool:
    """Say whether a figure, field or column of that name tells how long something took.

    >>> is_left_out("seconds"), is_left_out("median_join_seconds"), is_left_out("edges")
    (True, True, False)
    """
    return name == "seconds" or name.endswith("_seconds")


def plain(value: Any) -> Any:
    """Return the value as JSON can hold it, without what differs from run to run.

    >>> plain({"b": (1, 0.1 + 0.2), "a": np.array([1.0, np.nan]), "seconds": 3.5})
    {'b': [1, 0.3], 'a': [1.0, 'nan']}
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, (str, Path)):
        return str(value).replace(str(Path.cwd()), HERE)
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, Mapping):
        return {str(key): plain(held) for key, held in value.items() if not is_left_out(str(key))}
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist())
    if isinstance(value, pa.Table):
        return {f"{field.name}: {field.type}": plain(value.column(field.name)) for field in kept(value)}
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return plain(value.to_pylist())
    if isinstance(value, mw.Interest):
        return value.fingerprint
    if isinstance(value, mw.Overlay):
        return plain(value.to_arrow())
    if is_dataclass(value):
        return plain({field.name: getattr(value, field.name) for field in fields(value)})
    if isinstance(value, (set, frozenset)):
        return sorted(plain(held) for held in value)
    if isinstance(value, Iterable):
        return [plain(held) for held in value]
    raise TypeError(f"a run ends in {type(value).__name__}, which has no plain form")


def rounded(value: float) -> float | str:
    """Return the float with 12 significant digits; JSON has no infinity, and zero no sign."""
    return float(f"{value:.{DIGITS}g}") + 0.0 if math.isfinite(value) else str(value)


def kept(table: pa.Table) -> list[pa.Field]:
    """Return the columns of a table that do not tell times."""
    return [field for field in table.schema if not is_left_out(field.name)]


def text_of(value: Any) -> str:
    """Return what a run ends in as text; the order of names does not count, that of rows does."""
    return json.dumps(plain(value), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)


def digest(text: str) -> str:
    """Return the digest of a text, shortened."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:LENGTH]


def found(names: Sequence[str], *, keep: Path | None = None, times: bool = False) -> dict[str, str]:
    """Run what is named, and return the digest of each, or what went wrong in it."""
    before, digests = Path.cwd(), {}
    with tempfile.TemporaryDirectory(prefix="meshwright-fixed-") as folder:
        os.chdir(folder)
        os.environ["COLUMNS"] = WIDTH
        try:
            for number, name in enumerate(names, start=1):
                began = time.perf_counter()
                try:
                    text = text_of(RUNS[name]())
                    digests[name] = digest(text)
                    if keep is not None:
                        file = before / keep / f"{name}.json"
                        file.parent.mkdir(parents=True, exist_ok=True)
                        file.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
                except Exception as error:
                    digests[name] = f"{type(error).__name__}: {' '.join(str(error).split())}"
                if times:
                    took = time.perf_counter() - began
                    print(f"{number}/{len(names)} {name}: {took:.1f} s", file=sys.stderr, flush=True)
        finally:
            os.chdir(before)
    return digests


def record(digests: Mapping[str, str]) -> int:
    """Write the digests, if every run has one, and return the exit code."""
    failed = {name: found for name, found in digests.items() if len(found) != LENGTH}
    for name, found in failed.items():
        print(f"{name}: {found}")
    if failed:
        print(f"{len(failed)} of {len(digests)} runs failed: nothing is recorded")
        return 1
    RECORDED.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(digests)} runs recorded in {RECORDED.name}")
    return 0


def compare(digests: Mapping[str, str], recorded: Mapping[str, str]) -> int:
    """Tell each run that differs, is new or is gone, then how many are identical; return the exit code."""
    names = sorted({*digests, *recorded})
    differing = [name for name in names if digests.get(name) != recorded.get(name)]
    for name in differing:
        print(f"{name}: recorded {recorded.get(name, 'nothing')}, found {digests.get(name, 'no such run')}")
    print(f"{len(names)} runs, {len(names) - len(differing)} identical")
    return int(bool(differing) or not names)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for, and return the exit code."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks.fixed_runs")
    asked.add_argument("--record", action="store_true", help="write the digests instead of comparing them")
    asked.add_argument("--only", metavar="PATTERN", default="*", help="runs whose names match: 'churn/*'")
    asked.add_argument("--keep", metavar="DIR", type=Path, help="leave what each run ends in here, as JSON")
    asked.add_argument("--times", action="store_true", help="tell on stderr how long each run takes")
    given = asked.parse_args(arguments)
    if given.record and given.only != "*":
        asked.error("--record is for all runs: leave --only out")
    names = [name for name in RUNS if fnmatchcase(name, given.only)]
    digests = found(names, keep=given.keep, times=given.times)
    if given.record:
        return record(digests)
    recorded: dict[str, str] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return compare(digests, {name: of for name, of in recorded.items() if fnmatchcase(name, given.only)})


if __name__ == "__main__":
    sys.exit(main())
