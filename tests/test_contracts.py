"""The import contracts guard what they say: each is broken once, in a copy, and `lint-imports` names it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "meshwright"
CONTRACTS = [
    contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
]


class Offence(NamedTuple):
    """A line that breaks a contract, in a file that must not have it."""

    contract: str
    file: str
    line: str
    named: str
    """What `lint-imports` says of it."""


LAYERS = "Lower rooms never import upper ones"
CHECKED = "Plans are checked by code other than that which made them"
CONTENT = "Content-based rooms do not know topic-based ones"
TOPICS = "Topic-based rooms do not know content-based ones"
PROCESSES = "Only brokers start processes, and the pipeline to find Java"
BROKERS = "Only targets and hosts know a broker product"
COMMANDS = "The command line decides nothing: it imports actions and what prints"
OFFENCES = [
    Offence(LAYERS, "errors.py", "import meshwright.arrays", "meshwright.errors -> meshwright.arrays"),
    Offence(LAYERS, "store/plans.py", "import meshwright.cli", "meshwright.store.plans -> meshwright.cli"),
    Offence(
        LAYERS,
        "bounds/prices.py",
        "import meshwright.verify",
        "meshwright.bounds.prices -> meshwright.verify",
    ),
    Offence(LAYERS, "attic.py", "", "- meshwright.attic (Since this contract is marked as 'exhaustive'"),
    Offence(
        "Measures and the engine are independent",
        "measure/routing_cost.py",
        "import meshwright.greedy.rules",
        "meshwright.measure.routing_cost -> meshwright.greedy.rules",
    ),
    Offence(
        CHECKED,
        "verify/tree_check.py",
        "import meshwright.routes",
        "meshwright.verify.tree_check -> meshwright.routes",
    ),
    Offence(
        CHECKED,
        "verify/claims.py",
        "if TYPE_CHECKING:\n    from meshwright.designs.plan import Plan",
        "meshwright.verify.claims -> meshwright.designs",
    ),
    Offence(  # by way of a room that verify may import
        CHECKED,
        "costs/cost_tables.py",
        "def lazy() -> None:\n    import meshwright.search",
        "meshwright.costs.cost_tables -> meshwright.search",
    ),
    Offence(CONTENT, "content/space.py", "import meshwright.interest", "space -> meshwright.interest"),
    Offence(TOPICS, "routes/trees.py", "import meshwright.content", "routes.trees -> meshwright.content"),
    Offence(
        COMMANDS, "cli/output.py", "import meshwright.store.trees", "cli.output -> meshwright.store.trees"
    ),
    Offence(
        BROKERS,
        "deploy/waves.py",
        "import meshwright.brokers.mosquitto",
        "meshwright.deploy.waves -> meshwright.brokers.mosquitto",
    ),
    Offence(
        "Only jit imports numba", "greedy/engine.py", "import numba", "meshwright.greedy.engine -> numba"
    ),
    Offence(
        "Only jit imports numba", "cli/trials.py", "import llvmlite", "meshwright.cli.trials -> llvmlite"
    ),
    Offence(
        "Only the pipeline imports pyspark",
        "store/tables.py",
        "import pyspark.sql",
        "store.tables -> pyspark",
    ),
    Offence(PROCESSES, "deploy/__init__.py", "import subprocess", "meshwright.deploy -> subprocess"),
    Offence(PROCESSES, "churn/live.py", "import multiprocessing", "meshwright.churn.live -> multiprocessing"),
]


def test_every_contract_is_broken_once() -> None:
    """A contract that nobody has seen fail may promise nothing."""
    assert sorted({offence.contract for offence in OFFENCES}) == sorted(CONTRACTS)


def test_the_command_line_may_import_five_rooms_only() -> None:
    """Its contract forbids every other room: a new one must be on the list."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (forbidden,) = (each["forbidden_modules"] for each in settings if each["name"] == COMMANDS)
    rooms = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    allowed = {"actions", "cli", "errors", "formatting", "progress", "report", "__init__", "__main__"}
    assert {room.removeprefix("meshwright.") for room in forbidden} == rooms - allowed


@pytest.fixture(scope="module", name="copy")
def make_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the package, to break it."""
    folder = tmp_path_factory.mktemp("contracts")
    shutil.copytree(PACKAGE, folder / "src" / "meshwright", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture(scope="module", name="unbroken")
def lint_unbroken(copy: Path) -> str:
    """Return what the linter says of the copy as it is."""
    return lint(copy)


def lint(folder: Path) -> str:
    """Run `lint-imports` there, and return what it says, spaces and line numbers aside."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--no-cache",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "200"},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode in (0, 1), done.stderr
    return " ".join(re.sub(r"\(l\.[^)]*\)", "", done.stdout).split())


@pytest.mark.slow
@pytest.mark.parametrize("offence", OFFENCES, ids=lambda offence: f"{offence.contract}: {offence.file}")
def test_a_broken_contract_is_named(copy: Path, unbroken: str, offence: Offence) -> None:
    """One line in one file breaks the contract, and the linter names it and the import."""
    file = copy / "src" / "meshwright" / offence.file
    before = file.read_text() if file.exists() else None
    assert offence.named not in unbroken
    try:
        file.write_text(f"{before or ''}\n{offence.line}\n")
        said = lint(copy)
    finally:
        file.unlink() if before is None else file.write_text(before)
    assert f"{offence.contract} BROKEN" in said
    assert offence.named in said


STARTERS = re.compile(
    r"\bos\.(?:system|popen|fork\w*|exec\w+|spawn\w+|posix_spawn\w*)\(|\bcreate_subprocess_\w+|\bpty\.spawn\("
)
"""Ways to start a process without `subprocess`, which an import contract does not see."""


def starts_processes(source: str) -> bool:
    """Say whether a source starts a process by other means than `subprocess`."""
    return STARTERS.search(source) is not None


def test_only_brokers_start_processes_by_other_means() -> None:
    """Nothing outside of the room of brokers forks, executes or spawns."""
    outside = [file for file in PACKAGE.rglob("*.py") if not file.is_relative_to(PACKAGE / "brokers")]
    assert len(outside) > 100
    assert [file for file in outside if starts_processes(file.read_text())] == []


@pytest.mark.parametrize(
    "line",
    [
        "os.system('mosquitto')",
        "os.execv(program, words)",
        "os.posix_spawn(program, words, {})",
        "os.spawnlp(os.P_NOWAIT, program)",
        "os.fork()",
        "await asyncio.create_subprocess_exec(program)",
    ],
)
def test_other_means_are_seen(line: str) -> None:
    """Each way to start a process is recognised."""
    assert starts_processes(line)
