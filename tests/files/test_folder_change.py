"""Many files change together; the journal in between is data: readers only read it, writers check it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meshwright.errors import FormatError, OutputError
from meshwright.files.folder_change import (
    JOURNAL,
    CompletedFolder,
    FolderChange,
    change_folder,
    complete,
    digest,
)
from meshwright.files.header import FEDERATION


def manifest(files: dict[str, str]) -> str:
    """Return a manifest that lists these files, given by their texts."""
    return json.dumps({"files": {name: digest(text.encode()) for name, text in files.items()}})


OLD = {"a/conf": "old a", "b/conf": "old b"}
NEW = {"a/conf": "new a", "c/conf": "new c"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the old files, and one of somebody else, in which a change was interrupted."""
    inside = tmp_path / "inside"
    for name, text in {**OLD, FEDERATION.file: manifest(OLD), "notes.txt": "mine"}.items():
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        (inside / name).write_text(text)
    stage(inside)
    return inside


def stage(folder: Path, **change: Any) -> None:
    """Leave the journal of the change from the old files to the new ones, or of another change."""
    staged = [*NEW.items(), (FEDERATION.file, manifest(NEW))]
    (folder / ".update").mkdir(exist_ok=True)
    for number, (_, text) in enumerate(staged):
        (folder / f".update/{number}").write_text(text)
    journal = {
        "set_aside": {"b/queue": "b/queue.former"},
        "writes": [[f".update/{number}", name] for number, (name, _) in enumerate(staged)],
        "removals": {"b/conf": digest(b"old b")},
        **change,
    }
    (folder / JOURNAL).write_text(json.dumps(journal))


def state(folder: Path) -> dict[str, str]:
    """Return the text of each file, and where each link leads."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_text("latin-1")
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def test_readers_see_the_completed_change_and_write_nothing(folder: Path) -> None:
    """A reader reads the staged files, and leaves the folder as it is."""
    before = state(folder)
    with CompletedFolder(folder) as inside:
        assert [inside.read(name) for name in NEW] == [text.encode() for text in NEW.values()]
        assert inside.read(FEDERATION.file) == manifest(NEW).encode()
        assert inside.status("c/conf") is not None
    assert state(folder) == before


@pytest.mark.parametrize("moved", range(4))
def test_a_writer_completes_the_change_from_wherever_it_stopped(folder: Path, moved: int) -> None:
    """However many files were moved, the rest follows; the manifest comes last, after files are deleted."""
    names = list(NEW)
    for number, name in enumerate(names[:moved]):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f".update/{number}").rename(folder / name)
    if moved == 3:
        (folder / "b/conf").unlink()
        (folder / ".update/2").rename(folder / FEDERATION.file)
    complete(folder)
    assert state(folder) == {**NEW, FEDERATION.file: manifest(NEW), "notes.txt": "mine"}


WRONG: list[tuple[str, Callable[[Path], object], str]] = [
    ("empty", lambda folder: (folder / JOURNAL).write_bytes(b""), "character 1 is wrong"),
    ("half", lambda folder: (folder / JOURNAL).write_text('{"set_aside": {'), "is wrong, or something"),
    ("deep", lambda folder: (folder / JOURNAL).write_text("[" * 100_000), "nested too deeply"),
    ("bytes", lambda folder: (folder / JOURNAL).write_bytes(b"\xff"), "codec can't decode"),
    ("a list", lambda folder: (folder / JOURNAL).write_text("[]"), "it is [], not an object"),
    ("a field", lambda folder: stage(folder, more=1), "unknown field 'more'"),
    ("numbers", lambda folder: stage(folder, writes=[[1, 2]]), "writes[0][0] is 1, not a staged file"),
    (
        "from elsewhere", lambda folder: stage(folder, writes=[["notes.txt", "a/conf"]]),
        "writes[0][0] is 'notes.txt', not a staged file",
    ),
    (
        "out of the folder", lambda folder: stage(folder, writes=[[".update/0", "../evil"]]),
        "writes[0][1] is '../evil', not a file inside the folder",
    ),
    (
        "an absolute path", lambda folder: stage(folder, removals={"/etc/passwd": "0" * 64}),
        "removals names '/etc/passwd', not a file inside the folder",
    ),
]  # fmt: skip
NOT_OURS: list[tuple[str, Callable[[Path], object], str]] = [
    ("writes", lambda folder: stage(folder, writes=[[".update/0", "notes.txt"]]), "notes.txt"),
    ("creates", lambda folder: stage(folder, writes=[[".update/0", "a/more.conf"]]), "a/more.conf"),
    ("deletes", lambda folder: stage(folder, removals={"notes.txt": digest(b"mine")}), "notes.txt"),
    ("renames", lambda folder: stage(folder, set_aside={"notes.txt": "notes.txt.edited"}), "notes.txt"),
    ("moves", lambda folder: stage(folder, set_aside={"a/conf": "notes.txt"}), "a/conf"),
    ("lists and writes", lambda folder: list_too(folder, "notes.txt"), "notes.txt"),
]


def list_too(folder: Path, name: str) -> None:
    """Let the staged manifest list a file of somebody else, which the journal then replaces."""
    stage(folder, writes=[[".update/0", name], [".update/2", FEDERATION.file]])
    (folder / ".update/2").write_text(manifest({**NEW, name: "evil"}))


@pytest.mark.parametrize(("wrong", "said"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_a_damaged_journal_is_named(folder: Path, wrong: Callable[[Path], object], said: str) -> None:
    """Readers and writers say what is wrong with it and how to go on; nothing changes."""
    wrong(folder)
    before = state(folder)
    with pytest.raises(FormatError, match=r"/\.update/journal\.json is damaged: .*; remove .*") as raised:
        complete(folder)
    assert said in str(raised.value)
    with CompletedFolder(folder) as inside, pytest.raises(FormatError):
        inside.read(FEDERATION.file)
    assert state(folder) == before
    with pytest.raises(FormatError):
        change_folder(folder, FolderChange({"a/conf": (b"x", 0o640)}))
    assert state(folder) == before


@pytest.mark.parametrize(
    ("wrong", "name"), [each[1:] for each in NOT_OURS], ids=[each[0] for each in NOT_OURS]
)
def test_a_journal_may_name_only_our_files(folder: Path, wrong: Callable[[Path], object], name: str) -> None:
    """A journal cannot write, delete or rename what the manifest does not list."""
    wrong(folder)
    before = state(folder)
    with pytest.raises(
        FormatError, match=f"names files that federation.json does not list: '{name}'; remove"
    ):
        complete(folder)
    assert state(folder) == before


def test_links_in_the_place_of_the_stage_are_refused(folder: Path, tmp_path: Path) -> None:
    """A stage that is a link is not followed, and a journal that is a link is none."""
    (folder / ".update").rename(tmp_path / "elsewhere")
    (folder / ".update").symlink_to(tmp_path / "elsewhere")
    before = state(folder)
    for use in (complete, lambda path: CompletedFolder(path).read(FEDERATION.file)):
        with pytest.raises(OutputError, match=r"\.update is a symbolic link"):
            use(folder)
    assert state(folder) == before


def test_a_target_behind_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    """A folder of a broker that became a link leads nowhere."""
    (folder / "a").rename(tmp_path / "a")
    (folder / "a").symlink_to(tmp_path / "a")
    with pytest.raises(OutputError, match=r"/a is a symbolic link"):
        complete(folder)
    assert (tmp_path / "a/conf").read_text() == "old a"


def test_readers_beside_a_writer_see_old_or_new(folder: Path) -> None:
    """Readers without any pause neither fail nor disturb a writer that changes the folder again and again."""
    complete(folder)
    first, second = (
        {name: f"{word} {name}" for name in (*NEW, *(f"d/{number}" for number in range(5)))}
        for word in ("odd", "even")
    )
    known = [manifest(files).encode() for files in (NEW, first, second)]
    done, faults, seen = threading.Event(), [], set()

    def read() -> None:
        while not done.is_set():
            try:
                with CompletedFolder(folder) as inside:
                    seen.add(known.index(inside.read(FEDERATION.file) or b""))
            except Exception as error:
                faults.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(40):
        files = (first, second)[number % 2]
        texts = {**files, FEDERATION.file: manifest(files)}
        change_folder(folder, FolderChange({name: (text.encode(), 0o640) for name, text in texts.items()}))
    done.set()
    reader.join()
    assert faults == []
    assert {1, 2} <= seen
    assert not (folder / ".update").exists()
