"""A command that compiles kernels says so once, in the first run of its kind only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import meshwright as mw
from meshwright.content.synthetic import synthetic
from meshwright.jit.compiler import config
from meshwright.store.content.workloads import write_workload
from meshwright.workloads import zipf

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")

FIRST = "meshwright: compiling kernels, first run of this kind only (about 15 s)\n"
EVERY = (
    "meshwright: compiling kernels, as in every run: set NUMBA_CACHE_DIR to a folder that can be written\n"
)
QUICK = "soc {plan} {dataset} --degree 9 --cost 9 --measure diameter"
"""A command with little to compile."""
LONG = [
    "plan {dataset} --out {new} --threads 2",
    "verify {resilient} {dataset} --k 2",
    "soc {plan} {dataset} --degree 9 --cost 9",
    "chaos {plan} {dataset} --most 1 --samples 2",
    "churn {plan} {dataset} --rounds 5",
    "route {plan} {dataset}",
    "content assign {users} --algorithm packing",
]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write a small dataset, two plans for it, and users."""
    folder = tmp_path_factory.mktemp("compiling")
    interest = zipf(12, 6, size=3, seed=1)
    mw.write_dataset(interest, folder / "dataset")
    mw.write_plan(mw.design(interest, "gm"), folder / "plan")
    mw.write_plan(mw.design(interest, "resilient", k=2), folder / "resilient")
    write_workload(synthetic(6, 2, 2), folder / "users")
    return {name: folder / name for name in ("dataset", "plan", "resilient", "users", "new")}


def run(command: str, places: dict[str, Path], **environment: str) -> tuple[int, str]:
    """Run a command in a process of its own; return its exit code and what it wrote to stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "meshwright", *command.format(**places).split()],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    return done.returncode, done.stderr


def check_first_run(command: str, places: dict[str, Path], cache: Path) -> None:
    """Run a command twice with a cache that is empty at first."""
    assert run(command, places, NUMBA_CACHE_DIR=str(cache)) == (0, FIRST)
    assert run(command, places, NUMBA_CACHE_DIR=str(cache)) == (0, "")


def test_the_first_run_says_that_it_compiles(places: dict[str, Path], tmp_path: Path) -> None:
    """With a cold cache a command says once that it compiles; with a warm one it says nothing.

    The line says "of this kind": another kind of command finds its own kernels missing in the same cache.
    """
    check_first_run(QUICK, places, tmp_path)
    check_first_run("verify {resilient} {dataset} --k 2", places, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("command", LONG)
def test_every_other_command_announces_it_once(places: dict[str, Path], tmp_path: Path, command: str) -> None:
    """Each command announces compilation once, for one thread or two."""
    check_first_run(command, places, tmp_path)


def test_without_a_cache_every_run_says_what_helps(places: dict[str, Path], tmp_path: Path) -> None:
    """If neither the user's cache nor the temporary folder can be written, each run names the setting."""
    blocked = tmp_path / "file"
    blocked.write_text("no folder", encoding="utf-8")
    nowhere = {"NUMBA_CACHE_DIR": str(blocked / "below"), "TMPDIR": str(tmp_path / "shared")}
    # In the temporary folder, a file has the name of the folder that would be made there.
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / f"meshwright-{os.getuid()}").write_text("no folder", encoding="utf-8")
    for _ in range(2):
        assert run(QUICK, places, **nowhere) == (0, EVERY)
