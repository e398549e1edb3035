"""Folders survive accidents: after a kill or a power cut at any system call, the old or new one opens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from accidents import killed_everywhere
from meshwright.errors import LockedError, OutputError
from meshwright.files import exchange
from meshwright.files.atomic import new_file, new_folder, one_writer
from meshwright.files.exchange import flush_tree
from meshwright.files.header import PLAN, read_header, write_header


def write(target: Path, text: str) -> None:
    """Write a plan of two files, which state the same."""
    with new_folder(target, PLAN) as folder:
        (folder / "edges.parquet").write_text(text)
        write_header(folder, PLAN, {"text": text})


def read(target: Path) -> str:
    """Return what a plan states in both files."""
    text = str(read_header(target, PLAN)["text"])
    assert (target / "edges.parquet").read_text() == text
    return text


@pytest.mark.parametrize("system", ["exchange", "journal"])
@pytest.mark.parametrize("power_cut", [False, True])
def test_a_folder_is_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, power_cut: bool
) -> None:
    """Whenever its writer dies, a folder opens as the old or the new one, and the next writer cleans up.

    Files of others are in it all the time.
    """
    if system == "journal":
        monkeypatch.setattr(exchange, "_renameat2", lambda: None)
    room = tmp_path / "room"
    room.mkdir()
    write(room / "plan", "old")
    notes = room / "plan" / "of" / "others" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("ask Ann")
    seen = []
    for _ in killed_everywhere(lambda: write(room / "plan", "new"), room, power_cut=power_cut):
        seen.append(read(room / "plan"))
        assert notes.read_text() == "ask Ann"
        write(room / "plan", "next")
        assert read(room / "plan") == "next"
        assert notes.read_text() == "ask Ann"
        assert [path.name for path in room.iterdir()] == ["plan"]
    assert seen == sorted(seen, reverse=True), "once new, always new"
    assert set(seen) == {"old", "new"}
    assert len(seen) > 20


def test_a_first_folder_is_whole_or_missing(tmp_path: Path) -> None:
    """A folder that was not there before is missing or whole after a power cut."""
    room = tmp_path / "room"
    room.mkdir()
    for _ in killed_everywhere(lambda: write(room / "plan", "new"), room, power_cut=True):
        assert not (room / "plan").exists() or read(room / "plan") == "new"


def test_a_file_is_the_old_or_the_new(tmp_path: Path) -> None:
    """A file is whole after a power cut, too."""
    room = tmp_path / "room"
    room.mkdir()
    (room / "file").write_text("old")

    def work() -> None:
        with new_file(room / "file") as beside:
            beside.write_text("new")

    texts = [
        (room / "file").read_text() for _ in killed_everywhere(work, room, power_cut=True)
    ]  # the last one survived
    assert set(texts) == {"old", "new"}


def test_the_exchange_is_flushed_before_the_old_folder_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old folder is deleted only after the exchange is on the disk."""
    write(tmp_path / "plan", "old")
    events: list[str] = []

    def noted(what: str, call: Callable[..., object]) -> Callable[..., object]:
        def replacement(*arguments: object, **options: object) -> object:
            events.append(what)
            return call(*arguments, **options)

        return replacement

    for name, what in (("_exchange", "exchange"), ("flush", "flush")):
        monkeypatch.setattr(exchange, name, noted(what, getattr(exchange, name)))
    monkeypatch.setattr("shutil.rmtree", noted("delete", shutil.rmtree))
    write(tmp_path / "plan", "new")
    assert events[:3] == ["exchange", "flush", "delete"]


def test_links_are_not_flushed(tmp_path: Path) -> None:
    """Flushing a folder does not follow symbolic links, nor does it wait for pipes."""
    (tmp_path / "link").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "pipe")
    flush_tree(tmp_path)


SECOND_WRITER = """
import sys
from pathlib import Path
from meshwright.files import atomic
from meshwright.files.atomic import new_folder
from meshwright.files.header import PLAN
atomic.PATIENCE = 0.2
with new_folder(sys.argv[1], PLAN) as folder:
    pass
"""


def test_a_second_writer_learns_who_the_first_is(tmp_path: Path) -> None:
    """Two processes do not write one plan at a time: the second waits, then names the first and its start."""
    write(tmp_path / "plan", "old")
    with one_writer(tmp_path / "plan"), one_writer(tmp_path / "plan"):
        second = subprocess.run(
            [sys.executable, "-c", SECOND_WRITER, tmp_path / "plan"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"{tmp_path / 'plan'} is in use by process {os.getpid()} on " in second.stderr
        assert ", since 20" in second.stderr
        assert LockedError.__name__ in second.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]


def test_a_lock_of_a_killed_process_means_nothing(tmp_path: Path) -> None:
    """The lock file of a process that was killed does not stop the next writer."""
    (tmp_path / ".plan.lock").write_text('{"pid": 1, "host": "h", "command": "c", "since": 0}')
    write(tmp_path / "plan", "new")
    assert read(tmp_path / "plan") == "new"


def test_something_else_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    """What somebody puts in the place while the folder is being written is not replaced."""

    def work() -> None:
        with new_folder(tmp_path / "plan", PLAN):
            (tmp_path / "plan").mkdir()
            (tmp_path / "plan" / "thesis.tex").write_text("years of work")

    with pytest.raises(OutputError, match="something other"):
        work()
    assert (tmp_path / "plan" / "thesis.tex").is_file()
