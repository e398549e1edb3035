"""A project: its file explains itself, and `status` finds exactly what is out of date."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from meshwright.actions.init import TEMPLATE, init
from meshwright.actions.status import Status, status
from meshwright.errors import InputError, OutputError
from meshwright.store.project_file import ProjectTables, read_project
from terminal import meshwright

ROWS = "node,topic\na,x\nb,x\nb,y\nc,y\nc,x\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with a project whose parts are all made."""
    monkeypatch.chdir(tmp_path)
    Path("subscriptions.csv").write_text(ROWS)
    init()
    for command in ("plan", "export"):
        assert meshwright(command).code == 0
    return tmp_path


def states(found: Status) -> list[str]:
    return [step.state for step in found.steps]


def change(old: str, new: str) -> None:
    """Change a line of the project file."""
    file = Path("meshwright.toml")
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_the_new_file_has_every_key_and_its_default(tmp_path: Path) -> None:
    """The file that init writes is read without a change; as comments it names every table and key."""
    begun = init("rows.csv", folder=tmp_path, inventory="brokers.csv")
    tables = read_project(begun.file).tables
    assert tables.subscriptions.source == "rows.csv"
    assert tables.target.inventory == "brokers.csv"
    for table in msgspec.structs.fields(ProjectTables):
        part = TEMPLATE.partition(f"[{table.name}]\n")[2].partition("\n[")[0]
        keys = {"inventory", *re.findall(r"^(?:# )?(\w+) = ", part, re.MULTILINE)}
        parameters = set(tables.design.__struct_fields__) if table.name == "design" else set()
        known = {field.encode_name for field in msgspec.structs.fields(type(getattr(tables, table.name)))}
        assert known - keys <= parameters, table.name
        assert keys - known <= {"inventory"}, table.name


def test_init_replaces_nothing_unasked(tmp_path: Path) -> None:
    """A project file that is there stays, unless --force is given."""
    init("one.csv", folder=tmp_path)
    with pytest.raises(OutputError, match="is there already"):
        init("two.csv", folder=tmp_path)
    assert read_project(tmp_path / "meshwright.toml").tables.subscriptions.source == "one.csv"
    init('"quoted".csv', folder=tmp_path, force=True)
    assert read_project(tmp_path / "meshwright.toml").tables.subscriptions.source == '"quoted".csv'


def test_status_follows_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From an empty folder, the command that status names leads on until everything is up to date."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="meshwright init"):
        status()
    init()
    assert states(status()) == ["missing", *["not checked"] * 3]
    Path("subscriptions.csv").write_text(ROWS)
    commands = []
    while (following := status().next) is not None:
        commands.append(following)
        assert meshwright(*following.split()[1:]).code == 0
        assert len(commands) < 5
    assert commands == ["meshwright plan", "meshwright export"]
    assert states(status()) == ["up to date"] * 4


def test_each_change_makes_its_step_out_of_date(folder: Path) -> None:
    """Data, design, trees and files are each compared, and the named command brings them up to date."""
    assert folder
    edits: list[tuple[int, Callable[[], object], str]] = [
        (1, lambda: Path("subscriptions.csv").write_text(ROWS + "d,x\n"), "other subscriptions"),
        (1, lambda: change('algorithm = "low"', 'algorithm = "gm"'), "made with low, not gm"),
        (1, lambda: change("# max_degree = 20", "max_degree = 9"), "max_degree = None, not 9"),
        (1, lambda: change("max_degree = 9", "# no limit"), "max_degree = 9, not None"),
        (1, lambda: change("certify = false", "certify = true"), "no proof"),
        (2, lambda: change('objective = "hops"', 'objective = "load"'), "made by hops, not load"),
        (3, lambda: change('# profile = "plain"  ', 'profile = "durable"  '), "wave"),
    ]
    for place, edit, why in edits:
        edit()
        found = status()
        assert states(found)[: place + 1] == [*["up to date"] * place, "out of date"], why
        assert why in found.steps[place].why
        assert found.next is not None
        for _ in range(4):
            following = status().next
            if following is None:
                break
            assert meshwright(*following.split()[1:]).code == 0, following
        assert states(status()) == ["up to date"] * 4, why


def test_files_changed_by_hand_are_found(folder: Path) -> None:
    """A file of a broker that somebody edited is out of date, and diff lists what was changed."""
    file = next((folder / "federation" / "a").glob("*.conf"))
    file.write_text(file.read_text() + "connection other\naddress 127.0.0.1:1\ntopic # both 0\n")
    found = status()
    assert states(found)[3] == "out of date"
    assert found.next == "meshwright diff --drift"
    assert meshwright("diff", "--drift").code == 1


def test_changed_logs_are_ingested_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With logs, plan makes the dataset first, and makes it again only when a log is newer."""
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    Path("logs/one.csv").write_text(ROWS)
    Path("meshwright.toml").write_text('[subscriptions]\nlogs = ["logs/*.csv"]\n[design]\nalgorithm = "gm"\n')
    assert states(status())[0] == "missing"
    assert "ingested the logs" in meshwright("plan").err
    assert states(status())[:3] == ["up to date"] * 3
    made = Path("dataset/manifest.json").stat().st_mtime_ns
    assert "ingested" not in meshwright("plan").err
    assert Path("dataset/manifest.json").stat().st_mtime_ns == made
    Path("logs/two.csv").write_text("node,topic\nd,x\n")
    os.utime("logs/two.csv", ns=(made + 10**9, made + 10**9))
    assert states(status())[0] == "out of date"
    assert "ingested the logs" in meshwright("plan").err
    assert meshwright("verify").code == 0
