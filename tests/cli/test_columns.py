"""Every command that reads a file of subscriptions takes the options that say where its columns are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from meshwright.cli.main import build_app
from meshwright.store.interest_files import Columns
from terminal import meshwright

ROWS = "a;x\nb;x\nb;y\nc;y\nc;z\na;z\nd;x\nd;z\n"
NAMED = ("--delimiter", ";", "--node", "Broker", "--topic", "Filter")
PLAIN = ("--delimiter", ";", "--no-header")
COMMANDS: dict[str, tuple[str, ...]] = {
    "plan": ("plan", "FILE", "--out", "OUT"),
    "verify": ("verify", "PLAN", "FILE"),
    "certify": ("certify", "PLAN", "FILE", "--seconds", "0.1"),
    "route": ("route", "PLAN", "FILE"),
    "report": ("report", "PLAN", "FILE"),
    "advise": ("advise", "FILE", "--steps", "5"),
    "compare": ("compare", "FILE", "--algorithms", "gm,ring"),
    "soc": ("soc", "FILE", "--links", "100", "--seconds", "1"),
    "soc of a plan": ("soc", "PLAN", "FILE", "--degree", "9", "--cost", "9"),
    "churn": ("churn", "PLAN", "FILE", "--rounds", "3"),
    "chaos": ("chaos", "PLAN", "FILE", "--samples", "2"),
    "profile": ("profile", "FILE"),
    "sample": ("sample", "FILE", "--nodes", "2", "--out", "OUT"),
    "ingest": ("ingest", "FILE", "--out", "OUT"),
}
"""A run of each command; words in capital letters stand for paths."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a file with a header, the same without, and a plan of both."""
    made = tmp_path_factory.mktemp("columns")
    (made / "named.csv").write_text("Broker;Filter\n" + ROWS, encoding="utf-8")
    (made / "plain.csv").write_text(ROWS, encoding="utf-8")
    assert meshwright("plan", made / "named.csv", *NAMED, "--out", made / "plan").code == 0
    return made


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_file_with_other_columns(words: tuple[str, ...], folder: Path, tmp_path: Path) -> None:
    """Each command reads a file with another separator, and other names of columns or none."""
    for name, options in (("named.csv", NAMED), ("plain.csv", PLAIN)):
        paths = {"FILE": folder / name, "PLAN": folder / "plan", "OUT": tmp_path / name}
        answer = meshwright(*(paths.get(word, word) for word in words), *options)
        assert answer.code == 0, answer.err


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_the_error_names_options_that_the_command_has(
    words: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    """A command that cannot find the columns of a file recommends options that it takes."""
    paths = {"FILE": folder / "named.csv", "PLAN": folder / "plan", "OUT": tmp_path / "out"}
    given = [paths.get(word, word) for word in words]
    assert "--delimiter ';'" in meshwright(*given).complaint
    assert " --node" in meshwright(*given, "--delimiter", ";").complaint


def _commands(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        yield from _commands(command) if hasattr(command, "commands") else [command]


def test_no_command_is_left_out() -> None:
    """The commands above are all that take a dataset or a file as an argument."""
    taking = set()
    for command in _commands(get_command(build_app())):
        metavars = {parameter.metavar for parameter in command.params}
        if metavars & {"DATASET|FILE", "SUBSCRIPTIONS"} - {None}:
            taking.add(command.name)
            options = {name for parameter in command.params for name in parameter.opts}
            assert {"--node", "--topic", "--delimiter", "--no-header"} <= options, command.name
    assert taking | {"ingest"} == {words[0] for words in COMMANDS.values()}


def test_columns_are_spelled_as_options() -> None:
    """What a message recommends can be pasted into a shell."""
    assert Columns().options == []
    assert Columns("Broker", "the topic", "\t", header=False).options == [
        "--node Broker",
        "--topic 'the topic'",
        "--delimiter tab",
        "--no-header",
    ]
    assert Columns(delimiter=" ").options == ["--delimiter ' '"]


def test_the_page_that_a_route_removes_can_be_made_again(folder: Path, tmp_path: Path) -> None:
    """The command that `route` recommends has the options of the file."""
    file, plan = folder / "named.csv", tmp_path / "plan"
    assert meshwright("plan", file, *NAMED, "--out", plan).code == 0
    assert meshwright("report", plan, file, *NAMED).code == 0
    answer = meshwright("route", plan, file, *NAMED)
    assert f"meshwright report {plan} {file} --node Broker --topic Filter --delimiter ';'" in answer.out
