"""Files and folders appear whole or not at all, whatever happens to their writer."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest

import meshwright as mw
from meshwright import Interest
from meshwright.churn.events import Event
from meshwright.deploy.graph_files import export
from meshwright.errors import OutputError
from meshwright.files import exchange
from meshwright.files.atomic import check_place, new_file, new_folder
from meshwright.files.header import DATASET, FEDERATION, KINDS, PLAN, Kind, write_header
from meshwright.report import degree_and_support
from meshwright.store.datasets import read_dataset, write_dataset
from meshwright.workloads import unif, write_raw_events
from written_inputs import write_trace

OLD = Interest.from_dict({"a": {"x"}, "b": {"x"}})
NEW = Interest.from_dict({"a": {"x"}, "b": {"x", "y"}, "c": {"y"}})

KILLED_WRITERS = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from meshwright import Interest
from meshwright.files import atomic
from meshwright.store import datasets

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

write = datasets.new_part
@contextmanager
def write_then_die(place, kind, number):
    with write(place, kind, number) as writer:
        yield writer
    if kind == moment:
        die()

for target in sys.argv[1:]:
    moment = Path(target).parent.name
    writer = os.fork()
    if not writer:
        datasets.new_part = write_then_die
        if moment == "renaming":
            datasets.new_part, atomic.take_place = write, die
        datasets.write_dataset(Interest.from_dict({"n": {"t"}}), target)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(writer, 0)[1]) == signal.SIGKILL
"""
"""Forks a writer for each target, which dies at the moment that the folder around the target names."""


def inside(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_killed_writers_leave_the_old_or_nothing(tmp_path: Path) -> None:
    """A writer killed half-way leaves the old dataset, or none, and the next one cleans up after it."""
    targets = [
        tmp_path / existing / moment / "data"
        for existing in ("old", "none")
        for moment in ("topics", "quarantine", "renaming")
    ]
    for target in targets[:3]:
        write_dataset(OLD, target)
    for target in targets[3:]:
        target.parent.mkdir(parents=True)
    subprocess.run([sys.executable, "-c", KILLED_WRITERS, *map(str, targets)], check=True)
    for target in targets:
        existing = target in targets[:3]
        hidden = [name for name in inside(target.parent) if name.startswith(".data.writing-")]
        assert len(hidden) == 1, "the killed writer got as far as its own folder"
        assert target.exists() == existing
        assert not existing or read_dataset(target).fingerprint == OLD.fingerprint
        write_dataset(NEW, target)
        assert inside(target.parent) == ["data"]
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
    monkeypatch.setattr(exchange, "_renameat2", lambda: None)  # as on systems that need two renames
    target = tmp_path / "data"
    write_dataset(OLD, target)
    rename = Path.rename
    calls: list[Path] = []

    def refuse_second(self: Path, to: Path) -> Path:
        calls.append(to)
        if len(calls) == 3:  # the second moves the old one aside
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


MADE = mw.design(unif(60, 9, size=4, seed=1), "gm")


@contextmanager
def little_room() -> Iterator[None]:
    """Limit files to 700 bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def exported(kind: str) -> Callable[[Path], object]:
    return lambda folder: export(folder.parent / "plan", kind, folder)


WRITERS: dict[str, Callable[[Path], object]] = {
    "graphml": lambda folder: MADE.overlay.write_graphml(folder / "overlay.graphml"),
    "export to graphml": exported("graphml"),
    "export to json": exported("json"),
    "raw events": lambda folder: write_raw_events(MADE.overlay.interest, folder),
    "trace": lambda folder: write_trace([[Event("leave", "b00")]] * 99, folder / "trace.jsonl"),
    "chart": lambda folder: degree_and_support([MADE], folder / "chart.png"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, writer: str) -> None:
    """A writer that cannot write a whole file says so, keeps the old file, and leaves nothing else."""
    mw.write_plan(MADE, tmp_path / "plan")
    for folder in (tmp_path / "empty", tmp_path / "full"):
        folder.mkdir()
    WRITERS[writer](tmp_path / "full")
    old = {file: file.read_bytes() for file in (tmp_path / "full").iterdir()}
    assert old
    for folder in (tmp_path / "empty", tmp_path / "full"):
        with little_room(), pytest.raises(OutputError, match=r"^cannot write .*: File too large; choose"):
            WRITERS[writer](folder)
    assert {file: file.read_bytes() for file in (tmp_path / "full").iterdir()} == old
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt])
def test_any_error_leaves_nothing(tmp_path: Path, fault: type[BaseException]) -> None:
    """Any error while a file is written, Ctrl-C too, is raised and leaves nothing behind."""

    def fail(beside: Path) -> None:
        beside.write_text("half")
        raise fault

    with pytest.raises(fault), new_file(tmp_path / "file") as beside:
        fail(beside)
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Writing to a symbolic link replaces the file that it points to."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with new_file(tmp_path / "link") as beside:
        beside.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_pipes_are_written_to(tmp_path: Path) -> None:
    """A pipe or a device is not replaced by a file."""
    os.mkfifo(tmp_path / "pipe")
    with new_file(tmp_path / "pipe") as given:
        assert given == tmp_path / "pipe"
    assert (tmp_path / "pipe").is_fifo()


def test_compressed_graphml(tmp_path: Path) -> None:
    """GraphML under a name that ends in .gz is compressed, as other programs expect it."""
    MADE.overlay.write_graphml(tmp_path / "overlay.graphml.gz")
    assert nx.read_graphml(tmp_path / "overlay.graphml.gz").number_of_edges() == len(MADE.overlay)


def test_a_path_is_checked_before_long_work(tmp_path: Path) -> None:
    """A path that cannot be written is refused before long work, even if its permissions allow writing."""
    check_place(tmp_path / "new" / "folder")
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "below", Path("/proc/meshwright")):
        with pytest.raises(OutputError, match=f"cannot write {place}: .*choose another path"):
            check_place(place)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_files_of_others_go_with_the_folder(tmp_path: Path) -> None:
    """A new folder has the files of others that were in the old one, as they were; ours are new."""
    mw.write_plan(MADE, tmp_path / "plan")
    plan = tmp_path / "plan"
    (plan / "notes.txt").write_text("ask Ann")
    (plan / ".git" / "deep").mkdir(parents=True)
    (plan / ".git" / "deep" / "config").write_text("secret")
    for place, mode in ((".git/deep/config", 0o400), (".git/deep", 0o700), (".git", 0o711)):
        (plan / place).chmod(mode)
    (plan / "link").symlink_to("/nowhere")
    (plan / "to_folder").symlink_to(tmp_path)
    (plan / "prices.parquet").write_text("of the old plan")
    (plan / ".writing-0.html").write_text("of a killed writer")
    mw.write_plan(replace(MADE, seed=7), plan)
    assert inside(plan) == [".git", "edges.parquet", "link", "notes.txt", "plan.json", "to_folder"]
    assert (plan / "notes.txt").read_text() == "ask Ann"
    assert (plan / "link").readlink() == Path("/nowhere")
    assert (plan / "to_folder").readlink() == tmp_path
    config = plan / ".git" / "deep" / "config"
    modes = [path.stat().st_mode & 0o777 for path in (config, config.parent, config.parent.parent)]
    assert (config.read_text(), modes) == ("secret", [0o400, 0o700, 0o711])
    assert inside(tmp_path) == ["plan"]


def test_files_of_others_are_copied_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system without hard links, files of others are copied."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    write_dataset(OLD, tmp_path / "data")
    (tmp_path / "data" / "nodes" / "notes.txt").write_text("ask Ann")
    (tmp_path / "data" / "nodes" / "part-00009.parquet").write_text("ours")
    monkeypatch.setattr(os, "link", refuse)
    write_dataset(NEW, tmp_path / "data")
    assert inside(tmp_path / "data" / "nodes") == ["notes.txt", "part-00000.parquet"]
    assert (tmp_path / "data" / "nodes" / "notes.txt").read_text() == "ask Ann"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_of_folder_has_its_files(kind: Kind) -> None:
    """Each kind of folder but federations, which list their files, says which files are ours."""
    assert bool(kind.ours) == (kind != FEDERATION)
    assert kind.owns(kind.file)
    assert kind.owns("notes.txt") == (kind == FEDERATION)
