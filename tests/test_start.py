"""Start-up: what importing a room or running a light command loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from routed_plans import write_routed_plan

HEAVY = ("numba", "scipy", "pandas", "pyspark")
ASK = "import sys; print(' '.join(name for name in sys.argv[1].split() if sys.modules.get(name)))"
RUN = """
import sys
from meshwright.__main__ import run
heavy, sys.argv = sys.argv[1].split(), ["meshwright", *sys.argv[2:]]
try:
    run()
finally:
    print("loaded:", *(name for name in heavy if sys.modules.get(name)), file=sys.stderr)
"""


@pytest.mark.parametrize("room", ["store", "store.plans", "deploy", "routes", "cli", "cli.main"])
def test_importing_a_room_loads_nothing_heavy(room: str) -> None:
    """Importing these rooms loads neither numba, scipy, pandas nor pyspark."""
    done = subprocess.run(
        [sys.executable, "-c", f"import meshwright.{room}; {ASK}", " ".join(HEAVY)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize("command", ["--help", "plan --help", "export --help", "ingest --help"])
def test_help_loads_nothing_heavy(command: str) -> None:
    """Help texts are printed without numba, scipy, pandas or pyspark."""
    assert loaded(*command.split()) == set()


def test_configuration_needs_no_compiler(tmp_path: Path) -> None:
    """`export`, `diff` and `apply --dry-run` run without numba, scipy and pandas."""
    plan, folder = write_routed_plan(tmp_path), tmp_path / "federation"
    assert loaded("export", plan, "--to", "mosquitto", "--out", folder) == set()
    assert loaded("diff", folder, plan) == set()
    assert loaded("apply", plan, folder, "--dry-run") == set()


def test_a_plan_needs_neither_pandas_nor_spark(tmp_path: Path) -> None:
    """`plan` of a small file loads numba for its kernels, and nothing else that is heavy but scipy."""
    source = tmp_path / "three.csv"
    source.write_text("node,topic\na,x\nb,x\nc,x\n")
    assert loaded("plan", source, "--out", tmp_path / "plan") <= {"numba", "scipy"}


def loaded(*words: str | Path) -> set[str]:
    """Run a command in a process of its own, and return which heavy packages it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, " ".join(HEAVY), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.strip().splitlines()[-1].removeprefix("loaded:").split())
