"""What must hold of folders that are written whole or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from meshwright import Interest
from meshwright.errors import OutputError
from meshwright.files.folders import new_folder
from meshwright.files.header import DATASET, PLAN, write_header
from meshwright.store import read_dataset, write_dataset

OLD = Interest.from_dict({"a": {"x"}, "b": {"x"}})
NEW = Interest.from_dict({"a": {"x"}, "b": {"x", "y"}, "c": {"y"}})

KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from meshwright import Interest
from meshwright.files import folders
from meshwright.store import datasets

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

write = datasets.write_table
def write_then_die(table, file):
    write(table, file)
    if file.parent.name == sys.argv[2]:
        die()

datasets.write_table = write_then_die
if sys.argv[2] == "renaming":
    datasets.write_table, folders._take_place = write, die
datasets.write_dataset(Interest.from_dict({"n": {"t"}}), sys.argv[1])
"""


def inside(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("moment", ["topics", "quarantine", "renaming"])
@pytest.mark.parametrize("existing", [True, False])
def test_killed_writer_leaves_the_old_or_nothing(tmp_path: Path, moment: str, existing: bool) -> None:
    """A writer killed half-way leaves the old dataset, or none, and the next one cleans up after it."""
    target = tmp_path / "data"
    if existing:
        write_dataset(OLD, target)
    command = [sys.executable, "-c", KILLED_WRITER, str(target), moment]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert len(inside(tmp_path)) == 1 + existing, "the killed writer got as far as its own folder"
    if existing:
        assert read_dataset(target).fingerprint == OLD.fingerprint
    else:
        assert not target.exists()
    write_dataset(NEW, target)
    assert inside(tmp_path) == ["data"]
    assert read_dataset(target).fingerprint == NEW.fingerprint


def test_interrupted_writer_leaves_no_trace(tmp_path: Path) -> None:
    """Ctrl-C in the middle removes what was written so far and keeps what was there."""
    target = tmp_path / "data"
    write_dataset(OLD, target)

    def interrupted() -> None:
        with new_folder(target, DATASET) as folder:
            (folder / "half").write_text("written")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert inside(tmp_path) == ["data"]
    assert read_dataset(target).fingerprint == OLD.fingerprint


def test_failed_rename_brings_the_old_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the new folder cannot take its place, the old one is there again."""
    target = tmp_path / "data"
    write_dataset(OLD, target)
    rename = Path.rename
    calls: list[Path] = []

    def refuse_second(self: Path, to: Path) -> Path:
        calls.append(to)
        if len(calls) == 2:  # the first moves the old one aside
            raise OSError(28, "No space left on device")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", refuse_second)
    with pytest.raises(OutputError, match="No space left on device"):
        write_dataset(NEW, target)
    assert read_dataset(target).fingerprint == OLD.fingerprint
    assert inside(tmp_path) == ["data"]


def test_writer_at_work_is_left_alone(tmp_path: Path) -> None:
    """A second writer does not clean away the folder that the first is filling."""
    target = tmp_path / "data"
    with new_folder(target, DATASET) as first:
        write_dataset(NEW, target)
        assert first.is_dir()
        write_header(first, DATASET, {"first": True})
    assert inside(target) == ["manifest.json"]
    assert inside(tmp_path) == ["data"]


def test_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where folders cannot be locked, writing works, and nothing is cleaned that might be in use."""

    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    (tmp_path / ".data.writing-0").mkdir()
    write_dataset(NEW, tmp_path / "data")
    assert inside(tmp_path) == [".data.writing-0", "data"]


def test_other_things_are_not_replaced(tmp_path: Path) -> None:
    """A folder with other content, a plan, or a file in the way is kept, and named."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years of work")
    plan = tmp_path / "plan"
    with new_folder(plan, PLAN) as folder:
        write_header(folder, PLAN, {})
    file = tmp_path / "file"
    file.write_text("")
    for target, reason in ((precious, "something other"), (plan, "something other"), (file, "is a file")):
        with pytest.raises(OutputError, match=rf"{target}.*{reason}"):
            write_dataset(NEW, target)
    assert inside(precious) == ["thesis.tex"]
    assert inside(tmp_path) == ["file", "plan", "precious"]


def test_empty_folder_and_missing_parents_are_fine(tmp_path: Path) -> None:
    """An empty folder is filled, and parents are made."""
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "empty", tmp_path / "a" / "b" / "c"):
        write_dataset(NEW, target)
        assert read_dataset(target).fingerprint == NEW.fingerprint


@pytest.mark.parametrize("place", ["file/data", "/proc/nowhere/data"])
def test_unwritable_place_is_one_line(tmp_path: Path, place: str) -> None:
    """Where nothing can be written, the error is one line that names the place."""
    (tmp_path / "file").write_text("")
    target = tmp_path / place
    with pytest.raises(OutputError, match=rf"cannot write {target}: .*choose another path") as caught:
        write_dataset(NEW, target)
    assert "\n" not in str(caught.value)


def test_link_keeps_pointing(tmp_path: Path) -> None:
    """Writing through a symbolic link replaces what it points to, not the link."""
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for interest in (OLD, NEW):
        write_dataset(interest, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert read_dataset(tmp_path / "real").fingerprint == NEW.fingerprint
