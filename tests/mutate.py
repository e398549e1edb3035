"""`python tests/mutate.py PATHS…` changes the code, one place at a time, and lists what no test sees.

A changed place is a mutant. It is killed if a test fails, or hangs; a survivor shows what is not tested. The
checkout is never touched: mutants are written into a copy in the temporary folder, which stays there, with
its compiled kernels, for the next run. The tests of a file are those of its room, and its own examples.
Compiled functions are left out, unless `--compiled` asks for them.

Much faster is to run only the tests that reach the changed line, in whichever room they are:
`pytest --cov=meshwright --cov-context=test --cov-report=`, then `mutate.py --reached .coverage PATHS…`.
What runs at import gets the likeliest tests of its room. The file knows nothing of tests that start a
process: try survivors again with all tests of their room.
"""

from __future__ import annotations

import argparse
import ast
import fcntl
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from mutations import Mutant, Mutations

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/meshwright")
NOT_COPIED = (".*", "__pycache__", "*.egg-info", "build", "dist", "out", "htmlcov")
NO_TESTS = 5  # pytest's exit code if it finds none
NO_END = "no end"
MOST_TESTS = 80  # for a mutant, of all that reach it
MOST_FILES = 4  # of tests, for a mutant that runs at import
MEMORY = 8 << 30  # bytes of data for each process: a mutant may ask for any amount


@dataclass(frozen=True)
class Outcome:
    """What the tests made of a mutant: `killed`, `survived` or `ignored`, and by what or why."""

    mutant: Mutant
    result: str
    by: str = ""
    seconds: float = 0.0


def suite_of(file: str, chosen: Sequence[Path] = ()) -> list[str]:
    """Return the test files for a source file, the likeliest to fail first."""
    path = Path(file)
    dotted = ".".join(path.with_suffix("").parts[1:])
    everything = sorted((ROOT / "tests").rglob("test_*.py"))
    room = path.relative_to(PACKAGE).parts[0] if path.is_relative_to(PACKAGE) else path.stem
    if chosen:
        tests = [
            test for place in chosen for test in ([place] if place.is_file() else place.rglob("test_*.py"))
        ]
    elif (ROOT / "tests" / room).is_dir():
        tests = [test for test in everything if test.is_relative_to(ROOT / "tests" / room)]
    else:
        tests = [test for test in everything if test.name == f"test_{path.name}"]
        tests = tests or [test for test in everything if re.search(rf"\b{dotted}\b", test.read_text())]
        tests = tests or [test for test in everything if test.parent == ROOT / "tests"]

    def rank(test: Path) -> tuple[bool, bool, bool, Path]:
        other = test.name != f"test_{path.name}"
        return other, path.stem not in test.stem, not re.search(rf"\b{dotted}\b", test.read_text()), test

    return [test.relative_to(ROOT).as_posix() for test in sorted(set(tests), key=rank)]


class Reach:
    """Knows from a file of coverage, with a context for each test, which tests reach a line."""

    def __init__(self, file: Path) -> None:
        from coverage import CoverageData

        if not file.is_file():
            sys.exit(f"mutate: no file {file}: pytest --cov=meshwright --cov-context=test makes one")
        self.data = CoverageData(str(file))
        self.data.read()
        self.lines: dict[str, dict[int, list[str]]] = {}

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return tests that reach the statement of a mutant, those of its own room first."""
        path = ROOT / mutant.file
        if mutant.file not in self.lines:
            self.lines[mutant.file] = self.data.contexts_by_lineno(str(path))
        first, last = statement_at(path.read_bytes(), mutant.line)
        contexts = {c for n in range(first, last + 1) for c in self.lines[mutant.file].get(n, ())}
        # A context is `test@group|phase`; what runs outside any test has no name.
        found = {re.sub(r"@\w+$", "", context.rpartition("|")[0]) for context in contexts} - {""}
        likely = suite_of(mutant.file)
        if not found and "" in contexts:  # it runs when its module is imported, for whichever test
            return likely[:MOST_FILES]
        places = {test: place for place, test in enumerate(likely)}

        def rank(test: str) -> tuple[int, bool, str]:
            file = test.partition("::")[0]
            return places.get(file, len(likely)), "/cli/" in file or "/pipeline/" in file, test

        return sorted(found, key=rank)[:MOST_TESTS]


def statement_at(source: bytes, line: int) -> tuple[int, int]:
    """Return the first and last line of the innermost statement at a line, without the statements in it."""
    first, last = line, line
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            inner = getattr(node, "body", [])
            end = inner[0].lineno - 1 if inner else node.end_lineno or line
            if line <= max(end, node.lineno):
                first, last = node.lineno, max(end, node.lineno)
    return first, last


class Copy:
    """A copy of the tree in which mutants are tested, one after the other, always at the same path.

    Kernels are compiled for a path and a time of their source, and stay compiled as long as both do.
    """

    def __init__(self) -> None:
        base = Path(tempfile.gettempdir()) / f"meshwright-mutants-{os.getuid()}"
        self.place = next(place for number in count() if self._take(place := base / str(number)))
        self.tree = self.place / "tree"
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.copytree(ROOT, self.tree, ignore=shutil.ignore_patterns(*NOT_COPIED))
        self.runs = 0
        self.passes: dict[str, bool] = {}  # tests that were tried without a mutant

    def _take(self, place: Path) -> bool:
        """Lock a place until this process ends, unless another run works there."""
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(place / "lock", os.O_CREAT | os.O_WRONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        return True

    def try_out(self, mutant: Mutant, tests: Sequence[str], limit: float) -> Outcome:
        """Run the tests on a mutant."""
        file = self.tree / mutant.file
        source, was = file.read_bytes(), file.stat()
        self.runs += 1
        try:
            file.write_bytes(mutant.applied(source))
            # Bytecode is known by the second and size of its source: no two mutants share them.
            os.utime(file, (was.st_atime, int(was.st_mtime) + self.runs))
            code, said, seconds = self.run(tests, limit)
            if code == 0:
                code, said, more = self.run([mutant.file], limit)  # the examples in its docstrings
                code, seconds = 0 if code == NO_TESTS else code, seconds + more
        finally:
            file.write_bytes(source)
            os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", said, re.MULTILINE)
        by = f"{NO_END} after {limit:.0f} s" if code is None else failed[1] if failed else f"exit code {code}"
        return (
            Outcome(mutant, "killed", by, seconds) if code != 0 else Outcome(mutant, "survived", "", seconds)
        )

    def try_reached(self, mutant: Mutant, tests: Sequence[str], limit: float) -> Outcome:
        """Run the tests that reach a mutant; believe only tests that pass without it."""
        while tests := [test for test in tests if self.passes.get(test, True)]:
            outcome = self.try_out(mutant, tests, limit)
            if outcome.by.startswith(NO_END) and self.run(tests, limit)[0] is None:
                tests = tests[: len(tests) // 2]  # they take that long without the mutant too
                continue
            given = next((test for test in tests if f"{outcome.by}::".startswith(f"{test}::")), None)
            if given is None or self.passes.get(outcome.by):
                return outcome
            code, _, _ = self.run([outcome.by], limit)
            self.passes[outcome.by] = self.passes[given] = code == 0
            if code == 0:
                return outcome
        return Outcome(mutant, "survived", "no test reaches it")

    def run(self, tests: Sequence[str], limit: float | None) -> tuple[int | None, str, float]:
        """Run tests here; return the exit code, or None after the limit, what was said and the seconds."""
        temporary = self.place / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        paths = os.pathsep.join([str(self.tree / "src"), str(self.tree)])
        caches = {"NUMBA_CACHE_DIR": str(self.place / "kernels"), "TMPDIR": str(temporary)}
        words = ["-m", "pytest", "-x", "-q", "-rfE", "--tb=short", "-p", "no:cacheprovider", "-m", "not slow"]
        began = time.monotonic()
        with (self.place / "said").open("w+") as said:
            tested = subprocess.Popen(
                [sys.executable, *words, *tests],
                cwd=self.tree,
                env=os.environ | caches | {"PYTHONPATH": paths},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code: int | None = tested.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(tested.pid, signal.SIGKILL)  # and what it may have started
                tested.wait()
            said.seek(0)
            return code, said.read(), time.monotonic() - began


def ignored_rows(file: Path | None) -> list[tuple[str, str, str]]:
    """Read rows of `file: fragment of the line, or of before -> after: reason`."""
    rows = []
    for row in file.read_text().splitlines() if file else []:
        if row.strip() and not row.startswith("#"):
            name, _, rest = row.partition(": ")
            fragment, _, reason = rest.rpartition(": ")
            if not fragment:
                sys.exit(f"mutate: not `file: fragment: reason`: {row}")
            rows.append((name.strip(), " ".join(fragment.split()), reason.strip()))
    return rows


def why_ignored(mutant: Mutant, rows: list[tuple[str, str, str]]) -> str | None:
    """Return the reason for which a mutant is ignored, or None."""
    text = f"{mutant.before} -> {mutant.after}"
    return next((why for name, part, why in rows if name == mutant.file and part in text), None)


def mutants_of(
    places: Sequence[Path], skip: Sequence[str], *, keys: bool = False, compiled: bool = False
) -> list[Mutant]:
    """Return every mutant of the files at some places, but for those below or named after what to skip."""
    found = []
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            file = path.resolve().relative_to(ROOT)
            if not {*file.parts, file.stem}.intersection(skip):
                source = path.read_bytes()
                found += Mutations(source, file.as_posix(), keys=keys, compiled=compiled).mutants()
    return found


def baseline(copy: Copy, suites: Sequence[tuple[str, ...]], limit: float) -> list[float]:
    """Run the tests on unchanged code; return how long a mutant may take, three times as long at least."""
    limits = []
    for suite in suites:
        for _ in range(2):  # the first run may have compiled kernels
            code, said, seconds = copy.run(suite, None)
            if code != 0:
                sys.exit(f"{said[-3000:]}\nmutate: the tests fail without a mutation: {' '.join(suite)}")
            if seconds < limit / 3:
                break
        limits.append(max(limit, 3 * seconds))
    return limits


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("paths", nargs="+", type=Path, help="files and folders to change")
    parser.add_argument("--tests", nargs="+", type=Path, default=[], help="instead of those of the room")
    parser.add_argument(
        "--reached",
        type=Path,
        metavar="FILE",
        help="run what reaches a line, by this file of coverage",
    )
    parser.add_argument("--sample", type=int, metavar="N", help="number of mutants to try, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same mutants")
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out folders and modules of this name",
    )
    parser.add_argument("--keys", action="store_true", help="change texts that are keys or columns too")
    parser.add_argument("--compiled", action="store_true", help="change compiled functions too")
    parser.add_argument("--limit", type=float, default=120, metavar="S", help="seconds for a mutant's tests")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at a time, each in its own copy")
    parser.add_argument("--ignore", type=Path, metavar="FILE", help="rows of `file: line fragment: reason`")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what became of every mutant")
    parser.add_argument("--list", action="store_true", help="print the mutants without trying them")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Try out mutants, and print those that survive."""
    options = arguments(words)
    # Shells make background jobs ignore Ctrl-C, and tests that send it would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    mutants = mutants_of(options.paths, options.skip, keys=options.keys, compiled=options.compiled)
    if not mutants:
        sys.exit("mutate: nothing to change there; --compiled changes compiled functions too")
    rows = ignored_rows(options.ignore)
    for row in rows:
        if row[0] in {mutant.file for mutant in mutants} and not any(why_ignored(m, [row]) for m in mutants):
            print(f"mutate: nothing to ignore for {row[0]}: {row[1]}", file=sys.stderr)
    if options.sample is not None and options.sample < len(mutants):
        places = sorted(random.Random(options.seed).sample(range(len(mutants)), options.sample))
        mutants = [mutants[place] for place in places]
    reasons = {mutant: why for mutant in mutants if (why := why_ignored(mutant, rows)) is not None}
    tried = [mutant for mutant in mutants if mutant not in reasons]
    if options.list:
        print(*tried, sep="\n")
        return

    reach = Reach(options.reached) if options.reached else None
    chosen = [path.resolve() for path in options.tests]
    tests = {mutant: reach.tests_of(mutant) if reach else suite_of(mutant.file, chosen) for mutant in tried}
    if untested := sorted({mutant.file for mutant in tried if not reach and not tests[mutant]}):
        sys.exit(f"mutate: no tests for {', '.join(untested)}: say which with --tests")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    copies: SimpleQueue[Copy] = SimpleQueue()
    free = [Copy() for _ in range(options.jobs)]
    outcomes = [Outcome(mutant, "ignored", why) for mutant, why in reasons.items()]
    with ThreadPoolExecutor(options.jobs) as pool:
        limits = dict.fromkeys(tried, options.limit)
        if not reach:
            print(f"{len(tried)} mutants; first the tests as they are", file=sys.stderr, flush=True)
            suites = sorted({tuple(sorted(files)) for files in tests.values()})
            allowed = [
                max(each)
                for each in zip(*pool.map(lambda c: baseline(c, suites, options.limit), free), strict=True)
            ]
            at = dict(zip(suites, allowed, strict=True))
            limits = {mutant: at[tuple(sorted(tests[mutant]))] for mutant in tried}
        for copy in free:
            copies.put(copy)

        def outcome(mutant: Mutant) -> Outcome:
            copy = copies.get()
            try:
                if reach:
                    return copy.try_reached(mutant, tests[mutant], limits[mutant])
                return copy.try_out(mutant, tests[mutant], limits[mutant])
            finally:
                copies.put(copy)

        for done, result in enumerate(pool.map(outcome, tried), 1):
            outcomes.append(result)
            if result.result == "survived":
                print(f"survived  {result.mutant}" + (f"  ({result.by})" if result.by else ""), flush=True)
            end = "\r" if sys.stderr.isatty() else "\n"
            print(f"{done} of {len(tried)}", end=end, file=sys.stderr, flush=True)
    summarise(outcomes, options.json)


def summarise(outcomes: list[Outcome], file: Path | None) -> None:
    """Print the ignored mutants and the counts; write everything as JSON if asked to."""
    for outcome in outcomes:
        if outcome.result == "ignored":
            print(f"ignored   {outcome.mutant}  ({outcome.by})")
    counts = {name: sum(o.result == name for o in outcomes) for name in ("killed", "survived", "ignored")}
    tried = counts["killed"] + counts["survived"]
    share = f"{counts['killed'] / max(tried, 1):.0%}"
    hung = sum(outcome.by.startswith(NO_END) for outcome in outcomes)
    print(
        f"killed {counts['killed']} of {tried} ({share}), {counts['survived']} survived"
        + (f", {counts['ignored']} ignored" if counts["ignored"] else "")
        + (f"; {hung} of the killed did not end" if hung else "")
    )
    if file is not None:
        rows = [asdict(o.mutant) | {"result": o.result, "by": o.by, "seconds": o.seconds} for o in outcomes]
        file.write_text(json.dumps(counts | {"mutants": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
