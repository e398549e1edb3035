"""Help: at once, for every command, with an example."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from meshwright.cli.main import build_app
from meshwright.designs.registry import DESIGNS
from meshwright.workloads import WORKLOADS
from terminal import meshwright

PROGRAM: Any = get_command(build_app())
HEAVY = ("numba", "scipy", "pyspark", "numpy", "pyarrow", "matplotlib", "pandas", "llvmlite")
COMMANDS = {
    **PROGRAM.commands,
    **{f"content {name}": command for name, command in PROGRAM.commands["content"].commands.items()},
}


def test_help_imports_nothing_heavy() -> None:
    """Asking for the help of any command, or for the version, leaves numba, scipy and the like unimported."""
    calls = [[], ["--version"], ["--help"], *([*name.split(), "--help"] for name in COMMANDS)]
    look = (
        "import sys; from meshwright.cli.main import execute; "
        f"codes = {{execute(call) for call in {calls}}}; "
        f"sys.stderr.write(','.join(m for m in {HEAVY} if m in sys.modules)); sys.exit(max(codes))"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, check=False, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.lower().count("usage: meshwright") == len(calls) - 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    """Each command's help shows an example of that command, and says what each option means."""
    answer = meshwright(*name.split(), "--help")
    assert answer.code == 0
    assert f"  meshwright {name}" in answer.out
    assert all(given.help for given in COMMANDS[name].params)


MOST_OPTIONS = 20
"""The most options of a command, beside those that are made from the parameters of designs and --help."""


@pytest.mark.parametrize("name", ["plan", "compare", "advise"])
def test_a_command_has_few_options(name: str) -> None:
    """Nobody reads a page of options: those of designs have a section of their own."""
    own = [given for given in COMMANDS[name].params if given.param_type_name == "option"]
    assert len([given.name for given in own if given.rich_help_panel is None]) <= MOST_OPTIONS


def test_commands_are_the_promised_ones() -> None:
    """The commands are those that the documentation names."""
    assert set(PROGRAM.commands) == {
        "advise",
        "apply",
        "bench",
        "certify",
        "chaos",
        "churn",
        "compare",
        "content",
        "demo",
        "diff",
        "doctor",
        "export",
        "federation",
        "follow",
        "ingest",
        "init",
        "lint",
        "plan",
        "profile",
        "report",
        "reproduce",
        "route",
        "sample",
        "soc",
        "status",
        "traffic",
        "verify",
        "workload",
    }


def test_help_has_groups_with_the_main_journey_first() -> None:
    """Every command is in a group of the help, once; the first group leads from logs to brokers."""
    answer = meshwright("-h").out
    listed = re.findall(r"^  ([a-z]+)  ", answer, re.MULTILINE)
    assert sorted(listed) == sorted(PROGRAM.commands)
    assert listed[:5] == ["ingest", "plan", "verify", "route", "export"]


@pytest.mark.parametrize("words", [[], ["plan"], ["content", "assign"]])
def test_short_help(words: list[str]) -> None:
    """`-h` is `--help`."""
    assert meshwright(*words, "-h") == meshwright(*words, "--help")


def test_completion_is_on_offer() -> None:
    """Shells can be taught to complete commands."""
    assert "--install-completion" in meshwright("--help").out


def test_did_you_mean(tmp_path: Path) -> None:
    """A misspelt command or algorithm names the nearest one."""
    assert "no such command 'plann': did you mean 'plan'?" in meshwright("plann").err
    (tmp_path / "rows.csv").write_text("node,topic\na,x\nb,x\n")
    answer = meshwright("plan", tmp_path / "rows.csv", "--algorithm", "minmx", "--out", tmp_path / "plan")
    assert (answer.code, "did you mean 'minmax'?" in answer.err) == (2, True)


def test_version() -> None:
    """`--version` prints the installed version."""
    answer = meshwright("--version")
    assert (answer.code, answer.out) == (0, f"meshwright {version('meshwright')}\n")


def test_no_words_is_help() -> None:
    """The bare command shows the help, which is not an error."""
    assert meshwright() == meshwright("--help")
    assert meshwright().code == 0


def test_help_names_every_choice() -> None:
    """The help of `plan` names every design, that of `workload` every workload."""
    algorithm = next(given for given in PROGRAM.commands["plan"].params if given.name == "algorithm")
    assert re.findall(r"\w+", algorithm.help.replace(" or ", ", ")) == list(DESIGNS)
    assert PROGRAM.commands["workload"].params[0].metavar == "|".join((*WORKLOADS, "social", "hard"))
