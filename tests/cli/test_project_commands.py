"""Commands in a project: without arguments they read its file, options override it, arguments ignore it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from meshwright.actions.project import PROJECT_COMMANDS, arguments_for
from meshwright.cli import project
from meshwright.cli.main import build_app
from meshwright.store.project_file import read_project
from terminal import meshwright

ROWS = "node,topic\na,x\nb,x\nb,y\nc,y\nc,x\n"
WHOLE = """\
[subscriptions]
source = "subscriptions.csv"
node = "node"
delimiter = ","
topic_kind = "plain"
[publications]
traffic = "traffic"
[design]
algorithm = "low"
k = 2
[routes]
objective = "stable"
today = "today"
[target]
version = "2.1"
profile = "durable"
inventory = "brokers.csv"
secret = "secret.txt"
insecure = true
allow_relays = true
[outputs]
report = "plan.html"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with subscriptions and a new project."""
    monkeypatch.chdir(tmp_path)
    Path("subscriptions.csv").write_text(ROWS)
    Path("brokers.csv").write_text(
        "broker,host,port\na,127.0.0.1,18830\nb,127.0.0.1,18831\nc,127.0.0.1,18832\n"
    )
    assert meshwright("init").code == 0
    return tmp_path


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the help of init and status shows can be typed."""
    monkeypatch.chdir(tmp_path)
    for example in (*project.INIT_EXAMPLES, *project.STATUS_EXAMPLES):
        assert meshwright(*shlex.split(example)[1:]).code == 0, example


def test_what_a_project_gives_are_parameters(tmp_path: Path) -> None:
    """Every value that a project gives a command has the name of one of its arguments or options."""
    (tmp_path / "meshwright.toml").write_text(WHOLE)
    given = read_project(tmp_path / "meshwright.toml")
    program: Any = get_command(build_app())
    for name in PROJECT_COMMANDS:
        command = program.commands[name]
        known = {each.name for each in command.params}
        needed = {each.name for each in command.params if each.required}
        assert set(arguments_for(name, given)) <= known
        assert needed <= set(arguments_for(name, given))


@pytest.mark.usefixtures("folder")
def test_the_main_commands_need_no_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the project's folder and from one below it, each step finds its files; plan chooses trees."""
    for command in ("plan", "verify", "export", "diff", "route", "report"):
        answer = meshwright(command)
        assert answer.code == 0, (command, answer.err)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert meshwright("verify").out.startswith("verified")
    assert meshwright("apply", "--dry-run").out.splitlines()[0] == "nothing changes"
    assert json.loads((tmp_path / "plan" / "plan.json").read_text())["algorithm"] == "low"
    assert (tmp_path / "plan" / "report.html").is_file()


@pytest.mark.usefixtures("folder")
def test_options_override_the_project() -> None:
    """What the command line says counts; the rest still comes from the file."""
    answer = meshwright("plan", "--algorithm", "gm", "--out", "other", "--json")
    assert (answer.json["algorithm"], answer.json["routes"]["objective"]) == ("gm", "hops")
    made = json.loads(Path("other/plan.json").read_text())
    assert (made["algorithm"], made["routes"]["objective"]) == ("gm", "hops")
    assert not Path("plan").exists()


@pytest.mark.usefixtures("folder")
def test_a_new_plan_names_what_it_lacks() -> None:
    """Trees come with the plan of a project, so only the page of the old plan is missed."""
    assert meshwright("plan").err == ""
    assert meshwright("plan").err == ""
    assert meshwright("report").code == 0
    note = "meshwright: the plan that was in plan had a page, and this one does not: use meshwright report\n"
    assert meshwright("plan").err == note
    answer = meshwright("plan", "subscriptions.csv", "--out", "plan", "--force")
    assert "had trees, and this one does not: use meshwright route" in answer.err


@pytest.mark.usefixtures("folder")
def test_arguments_ignore_the_project() -> None:
    """Where a dataset, file or plan is named, the project says nothing: not even a wrong one."""
    Path("meshwright.toml").write_text("wrong = 1\n")
    assert "missing option '--out'" in meshwright("plan", "subscriptions.csv").complaint
    assert meshwright("plan", "subscriptions.csv", "--out", "mine", "--json").json["algorithm"] == "gm"
    assert "routes" not in json.loads(Path("mine/plan.json").read_text())
    assert "unknown field 'wrong'" in meshwright("plan").complaint
    assert meshwright("plan", "--help").code == 0


def test_without_a_project_arguments_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no file, a command asks for its arguments, as ever."""
    monkeypatch.chdir(tmp_path)
    for command in PROJECT_COMMANDS:
        assert "missing" in meshwright(command).complaint


@pytest.mark.usefixtures("folder")
def test_a_change_is_shown_as_markdown() -> None:
    """`plan --out plan && diff` prints the change as Markdown; names cannot break out of the table."""
    assert meshwright("plan", "--out", "plan").code == 0
    assert meshwright("export").code == 0
    assert "nothing changes" in meshwright("diff").out
    Path("subscriptions.csv").write_text(ROWS + "d|d,x\nd|d,y\n")
    assert meshwright("plan", "--out", "plan").code == 0
    shown = meshwright("diff").out.splitlines()
    assert shown[0] == "### Brokers: federation → plan"
    assert shown[2:4] == ["| wave | broker | action | without | with |", "| --- | --- | --- | --- | --- |"]
    assert len(shown[4].replace("\\|", "").split("|")) == 7
    assert "start" in shown[4]
    assert meshwright("diff", "--no-markdown").out.startswith("wave 1:")
    assert meshwright("diff", "federation", "plan").out.startswith("wave 1:")
    assert meshwright("diff", "federation", "plan", "--markdown").out.splitlines() == shown
    assert meshwright("diff", "--json").json["waves"]


@pytest.mark.usefixtures("folder")
def test_a_topic_without_a_tree_ends_plan_with_one() -> None:
    """Where a limit leaves brokers of a topic apart, and no relay helps, the exit code is that of route."""
    file = Path("meshwright.toml")
    file.write_text(file.read_text().replace('algorithm = "low"', 'algorithm = "gpm"\nmax_degree = 0'))
    assert meshwright("plan").code == 1
    assert Path("plan/plan.json").is_file()


@pytest.mark.usefixtures("folder")
def test_the_pages_commands_run() -> None:
    """The commands of docs/project-file.md lead from a file of subscriptions to the files of brokers."""
    text = (Path(__file__).parents[2] / "docs" / "project-file.md").read_text(encoding="utf-8")
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)
    assert block is not None
    Path("meshwright.toml").unlink()
    for line in block[1].splitlines():
        answer = meshwright(*shlex.split(line)[1:])
        assert answer.code == 0, (line, answer.err)
    assert answer.out.endswith("everything is up to date\n")
    Path("subscriptions.csv").write_text(ROWS + "d,x\n")
    shown = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    assert meshwright("status").out == shown[1]
