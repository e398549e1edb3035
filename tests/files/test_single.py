"""What must hold of single files: each appears whole or not at all, whoever writes it."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import networkx as nx
import pytest

import meshwright as mw
from meshwright.churn.events import Event
from meshwright.deploy.config.exports import export
from meshwright.errors import OutputError
from meshwright.files.single import check_place, new_file
from meshwright.report import degree_and_support
from meshwright.store import write_trace
from meshwright.workloads import unif, write_raw_events

PLAN = mw.design(unif(60, 9, size=4, seed=1), "gm")


@contextmanager
def little_room() -> Iterator[None]:
    """Let no file grow above some hundred bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def exported(kind: str) -> Callable[[Path], object]:
    return lambda folder: export(folder.parent / "plan", kind, folder)


WRITERS: dict[str, Callable[[Path], object]] = {
    "graphml": lambda folder: PLAN.overlay.write_graphml(folder / "overlay.graphml"),
    "export to graphml": exported("graphml"),
    "export to json": exported("json"),
    "raw events": lambda folder: write_raw_events(PLAN.overlay.interest, folder),
    "trace": lambda folder: write_trace([[Event("leave", "b00")]] * 99, folder / "trace.jsonl"),
    "chart": lambda folder: degree_and_support([PLAN], folder / "chart.png"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, writer: str) -> None:
    """Who cannot write all of a file says so and leaves the old one, or none, and nothing beside it."""
    mw.write_plan(PLAN, tmp_path / "plan")
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
    """Whatever goes wrong while a file is written, Ctrl-C too, comes through and leaves nothing behind."""

    def fail(beside: Path) -> None:
        beside.write_text("half")
        raise fault

    with pytest.raises(fault), new_file(tmp_path / "file") as beside:
        fail(beside)
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Where a link leads, there the file is replaced."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with new_file(tmp_path / "link") as beside:
        beside.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """A pipe or a device is not replaced by a file."""
    os.mkfifo(tmp_path / "pipe")
    with new_file(tmp_path / "pipe") as given:
        assert given == tmp_path / "pipe"
    assert (tmp_path / "pipe").is_fifo()


def test_compressed_graphml(tmp_path: Path) -> None:
    """GraphML under a name that ends in .gz is compressed, as other programs expect it."""
    PLAN.overlay.write_graphml(tmp_path / "overlay.graphml.gz")
    assert nx.read_graphml(tmp_path / "overlay.graphml.gz").number_of_edges() == len(PLAN.overlay)


def test_a_place_is_looked_at_before_long_work(tmp_path: Path) -> None:
    """What could not be written at the end is refused at the beginning, also where permissions say yes."""
    check_place(tmp_path / "new" / "folder")
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "below", Path("/proc/meshwright")):
        with pytest.raises(OutputError, match=f"cannot write {place}: .*choose another path"):
            check_place(place)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
