"""Fast start: rooms and commands import only what they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from small_datasets import planned, small_dataset
from terminal import meshwright

HEAVY = ("numba", "scipy", "pandas", "pyspark", "matplotlib")
LOADED = f"print(*[name for name in {HEAVY} if name in sys.modules])"


def loaded_after(code: str) -> list[str]:
    """Return the heavy packages that a fresh interpreter has loaded after some code."""
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{LOADED}"], capture_output=True, text=True, check=True
    )
    return run.stdout.splitlines()[-1].split()


def loaded_by(*words: object) -> list[str]:
    """Return the heavy packages that a command has loaded when it ends well."""
    arguments = [str(word) for word in words]
    return loaded_after(f"from meshwright.cli.main import execute\nassert execute({arguments!r}) == 0")


@pytest.mark.parametrize("room", ["store", "deploy", "routes", "cli.main", "verify", "designs", "report"])
def test_importing_a_room_loads_nothing_heavy(room: str) -> None:
    """A room imports kernels, solvers and data frames when a function first needs them."""
    assert loaded_after(f"import meshwright.{room}") == []


@pytest.mark.parametrize("package", ["actions", "cli", "store"])
def test_importing_all_of_a_room_loads_nothing_heavy(package: str) -> None:
    """No module of these rooms imports kernels, solvers, data frames or Spark by itself."""
    code = (
        "import importlib, pkgutil\n"
        f"import meshwright.{package} as room\n"
        "modules = [found.name for found in pkgutil.walk_packages(room.__path__, room.__name__ + '.')]\n"
        "assert len(modules) > 10\n"
        "[importlib.import_module(name) for name in modules]"
    )
    assert loaded_after(code) == []


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a routed plan in `plan` and its export in `federation`."""
    folder = tmp_path_factory.mktemp("start")
    plan = planned(small_dataset(folder))
    assert meshwright("route", plan, folder / "dataset").code == 0
    assert meshwright("export", plan, "--to", "mosquitto", "--out", folder / "federation").code == 0
    return folder


def test_commands_on_stored_plans_run_without_a_compiler(federation: Path) -> None:
    """`export`, `diff` and `apply --dry-run` only read and write files."""
    plan, exported = federation / "plan", federation / "federation"
    assert loaded_by("export", plan, "--to", "mosquitto", "--out", federation / "again") == []
    assert loaded_by("diff", plan, plan) == []
    assert loaded_by("apply", plan, exported, "--dry-run") == []


def test_every_help_runs_without_a_compiler() -> None:
    """Help texts of all commands together load nothing heavy."""
    code = (
        "from meshwright.cli.main import COMMANDS, execute\n"
        "for words in [[], *([name] for name in COMMANDS), ['content', 'assign']]:\n"
        "    assert execute([*words, '--help']) == 0"
    )
    assert loaded_after(code) == []


def test_planning_a_file_does_not_load_pandas(tmp_path: Path) -> None:
    """Pandas is installed here, but a plan of a CSV file needs numba alone, which brings scipy's version."""
    source = tmp_path / "three.csv"
    source.write_text("node,topic\na,x\nb,x\nc,x\n")
    assert set(loaded_by("plan", source, "--out", tmp_path / "plan")) == {"numba", "scipy"}
