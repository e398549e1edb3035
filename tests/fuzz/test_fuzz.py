"""Whatever is wrong with a file, every command ends with 0, 1 or 2, and nothing wrong is called verified.

Commands run in one worker process. What `verify`, `export` and `apply` accept is computed again from the
files, by `fuzz.oracle`. `FUZZ_SEED` and `FUZZ_CASES` choose other mutations, and more of them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz.corpus import PLANS, READERS, Command, Worker, make_corpus
from fuzz.mutations import mend, mutate
from fuzz.oracle import Plan

FAST, MANY = 100, 2000
SEED = int(os.environ.get("FUZZ_SEED", "1"))
COMPILING = {"churn", "chaos", "content", "soc"}
"""Commands that need kernels of their own, left to the slow test."""
JOURNAL = {"set_aside": {"a": "b"}, "writes": [[".update/0", "federation.json"]], "removals": {"a": "0"}}
"""What an interrupted change may leave."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "corpus"
    make_corpus(folder)
    return folder


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


@pytest.fixture(scope="module")
def checked_worker() -> Iterator[Worker]:
    """Return a worker whose kernels check the bounds of every index."""
    made = Worker(checked=True)
    yield made
    made.close()


def run_cases(corpus: Path, worker: Worker, folder: Path, cases: int, *, fast: bool) -> list[str]:
    """Damage a file for each case and run a command that reads it; return what went wrong."""
    failures = []
    for case in range(cases):
        rng = random.Random(f"{SEED} {case}")
        here = folder / f"case-{case}"
        shutil.copytree(corpus, here)
        target = here / rng.choice([*READERS, *PLANS])
        done = damage(here, target, rng)
        mended = rng.random() < 0.5
        if mended and target.is_dir():
            mend(target, done[0])
        commands = [one for one in READERS[target.name] if not (fast and one[0] in COMPILING)]
        words = rng.choice(commands or [("verify", "plan", "dataset")])
        code, said = worker.run(here, words)
        wrong = judge(here, corpus, words, code, said)
        if wrong:
            what = f"{done[0].relative_to(here)}: {done[1]}{', mended' if mended else ''}"
            failures.append(f"case {case} ({what}), {' '.join(words)}: {wrong}")
        shutil.rmtree(here)
    return failures


def damage(here: Path, target: Path, rng: random.Random) -> tuple[Path, str]:
    """Damage one file of a target, sometimes two; return the last one, and what was done."""
    if (target / "federation.json").exists() and rng.random() < 0.2:
        journal = target / ".update" / "journal.json"
        journal.parent.mkdir()
        journal.write_text(json.dumps(JOURNAL))
        return journal, mutate(journal, rng)
    files = sorted(file for file in target.rglob("*") if file.is_file()) if target.is_dir() else [target]
    said = ""
    for _ in range(rng.choice([1, 1, 1, 2])):
        file = rng.choice([one for one in files if one.exists()] or files)
        if file.exists():
            said += f" {mutate(file, rng)}"
    return file, said.strip()


def judge(here: Path, corpus: Path, words: Command, code: int, said: str) -> str:
    """Say what is wrong with an answer; nothing if it is right."""
    if code not in (0, 1, 2):
        return f"code {code}: {said}"
    if code == 2 and not (said.startswith("meshwright: error: ") and "\n" not in said.strip()):
        return f"not one line: {said}"
    plan = next((one for one in words if one in PLANS), None)
    if code or plan is None or words[0] not in ("verify", "export", "apply"):
        return ""
    try:
        if words[0] == "verify":
            faults = Plan(here / plan, here / words[2]).faults
        else:
            faults = Plan(here / plan, corpus / PLANS[plan], bounds=False).deliveries
    except (KeyError, ValueError, TypeError, OSError) as error:
        faults = [f"{type(error).__name__} {error}"]
    return f"accepted, but {faults}" if faults else ""


def test_damaged_files_are_refused(corpus: Path, worker: Worker, tmp_path: Path) -> None:
    """A hundred mutations over all files: no crash, no bug, nothing wrong that is verified."""
    assert run_cases(corpus, worker, tmp_path, FAST, fast=True) == []


@pytest.mark.slow
def test_damaged_files_are_refused_at_length(corpus: Path, checked_worker: Worker, tmp_path: Path) -> None:
    """Two thousand mutations and all commands, with bounds checks in kernels."""
    cases = int(os.environ.get("FUZZ_CASES", MANY))
    assert run_cases(corpus, checked_worker, tmp_path, cases, fast=False) == []
