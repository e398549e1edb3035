"""Who waits for a compiler is told so: by every command, before every kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import meshwright as mw
from meshwright.content.model.synthetic import synthetic
from meshwright.jit.compiler import config
from meshwright.store.workloads import write_workload
from meshwright.workloads import zipf

PROGRAM = Path(__file__).parents[1] / "compiling_program.py"
COMMANDS = [
    "verify {plan} {dataset} --k 2",
    "soc {plan} {dataset} --degree 9 --cost 9",
    "soc {plan} {dataset} --degree 9 --cost 9 --measure diameter",
    "chaos {plan} {dataset} --most 1 --samples 2",
    "churn {plan} {dataset} --rounds 5",
    "route {plan} {dataset}",
    "verify {resilient} {dataset}",
    "advise {dataset} --steps 2",
    "content assign {users} --algorithm packing",
    "content assign {users} --algorithm steiner-literal",
    "content assign {users} --algorithm descent",
]


def run(command: list[str], cache: Path | None = None) -> tuple[str, str]:
    """Run a command in a process of its own, kernels kept in a folder if told; return what it printed."""
    elsewhere = {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **elsewhere},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write a small dataset and two plans for it."""
    folder = tmp_path_factory.mktemp("compiling")
    interest = zipf(12, 6, size=3, seed=1)
    mw.write_dataset(interest, folder / "dataset")
    mw.write_plan(mw.design(interest, "gm"), folder / "plan")
    mw.write_plan(mw.design(interest, "resilient", k=2), folder / "resilient")
    write_workload(synthetic(6, 2, 2), folder / "users")
    return {name: folder / name for name in ("dataset", "plan", "resilient", "users")}


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_kernel_is_taken_up_in_silence(places: dict[str, Path], command: str) -> None:
    """Were nothing kept, every kernel that a command compiles would be compiled after a word of it."""
    words = command.format(**places).split()
    out, err = run([str(PROGRAM), *words])
    told = json.loads(out.splitlines()[-1])
    assert told["silent"] == []
    assert err.count("meshwright: compiling kernels, first run only\n") >= 1


@pytest.mark.slow
@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
@pytest.mark.parametrize("command", COMMANDS[:4])
def test_compiling_is_told_in_the_first_run_only(
    places: dict[str, Path], tmp_path: Path, command: str
) -> None:
    """With an empty cache the first run says once that it compiles; the second has nothing to say."""
    words = ["-m", "meshwright", *command.format(**places).split()]
    (first, told), (second, nothing) = run(words, tmp_path), run(words, tmp_path)
    assert told == "meshwright: compiling kernels, first run only\n"
    assert nothing == ""
    assert first == second
