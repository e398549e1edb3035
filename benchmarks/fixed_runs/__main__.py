"""Compare the digests of fixed runs with the recorded ones.

    python -m benchmarks.fixed_runs                    # run all, compare with tests/golden/fixed_runs.json
    python -m benchmarks.fixed_runs --only 'churn/*'   # only runs whose names match
    python -m benchmarks.fixed_runs --keep DIR         # also write the data of each run, to diff it
    python -m benchmarks.fixed_runs --record           # record their digests instead

The exit code is 1 if a digest differs. `data.py` says what counts for a digest. The runs use the `meshwright`
on the Python path. To record the digests of other code, put its sources there:

    PYTHONPATH=/path/to/checkout/src python -m benchmarks.fixed_runs --record

The first run takes longer if kernels must be compiled. All files are in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.fixed_runs import commands, content_and_spark, overlays
from benchmarks.fixed_runs.data import DIGITS, as_text, digest
from benchmarks.fixed_runs.inputs import RUNS
from benchmarks.golden import Golden

MODULES = overlays, commands, content_and_spark
"""The modules that register their runs in `RUNS`."""
TERMINAL_COLUMNS = "120"


def run_all(names: Sequence[str], *, keep: Path | None = None, times: bool = False) -> dict[str, str]:
    """Run these in a temporary folder; return the digest of each, or the error that stopped it."""
    before, digests = Path.cwd(), {}
    with tempfile.TemporaryDirectory(prefix="meshwright-fixed-") as folder:
        os.chdir(folder)
        os.environ["COLUMNS"] = TERMINAL_COLUMNS
        try:
            for number, name in enumerate(names, start=1):
                began = time.perf_counter()
                try:
                    text = as_text(RUNS[name]())
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


def record(digests: Mapping[str, str], golden: Golden, within: str = "*") -> int:
    """Record these digests if every run has one; return the exit code."""
    failed = {name: found for name, found in digests.items() if len(found) != DIGITS}
    for name, found in failed.items():
        print(f"{name}: {found}")
    if failed:
        print(f"{len(failed)} of {len(digests)} runs failed: nothing recorded")
        return 1
    golden.record(digests, within)
    print(f"{len(digests)} runs recorded")
    return 0


def compare(digests: Mapping[str, str], golden: Golden, within: str = "*") -> int:
    """Print each run that differs, is new or is missing, and the totals; return the exit code."""
    differing = golden.differences(digests, within)
    for line in differing:
        print(line)
    missing = sum(fnmatchcase(name, within) and name not in digests for name in golden.answers)
    count = len(digests) + missing
    print(f"{count} runs, {count - len(differing)} identical")
    return int(bool(differing) or not count)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fixed_runs")
    parser.add_argument("--record", action="store_true", help="record the digests instead of comparing them")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="only matching names: 'churn/*'")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="write the data of each run here, as JSON")
    parser.add_argument("--times", action="store_true", help="print the time of each run to stderr")
    given = parser.parse_args(arguments)
    names = [name for name in RUNS if fnmatchcase(name, given.only)]
    digests = run_all(names, keep=given.keep, times=given.times)
    return (record if given.record else compare)(digests, Golden("fixed_runs"), given.only)


if __name__ == "__main__":
    sys.exit(main())
