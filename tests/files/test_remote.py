"""Folders at URLs: the description is written last, what is there already stays, and errors name the URL."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

from meshwright.errors import FormatError, InputError, OutputError
from meshwright.files import header, remote
from meshwright.files.header import Kind, write_header
from meshwright.files.urls import files_in, local_copy, naming, open_input
from object_store import folder_as_store

KIND = Kind("thing", "thing.json", 1, digests=True, ours=("a.parquet", "b.parquet"), at_urls=True)
URL = "s3://bucket/thing"


class Log:
    """Passes calls on to a file system, and notes what is written and deleted."""

    def __init__(self, system: fs.FileSystem) -> None:
        self.system, self.calls = system, list[str]()

    def __getattr__(self, name: str) -> Any:
        def call(path: Any, *rest: Any, **more: Any) -> Any:
            if name in ("open_output_stream", "delete_file"):
                self.calls.append(f"{name.partition('_')[0]} {path.rpartition('/')[2]}")
            return getattr(self.system, name)(path, *rest, **more)

        return getattr(self.system, name) if name == "type_name" else call


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder_as_store(tmp_path / "store", monkeypatch)
    (tmp_path / "store" / "bucket" / "thing" / "in").mkdir(
        parents=True
    )  # no store needs that, but a disk does
    return tmp_path / "store" / "bucket"


def write(url: str, **files: str) -> None:
    """Write a folder with files of these contents."""
    with remote.new_remote_folder(url, KIND) as folder:
        for name, text in files.items():
            (folder / f"{name}.parquet").write_text(text)
        write_header(folder, KIND, {"of": sorted(files)})


def test_only_what_changed_is_sent_and_the_description_last(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed file makes the old description invalid, which goes first; an added file does not."""
    log = Log(fs.SubTreeFileSystem(str(store.parent), fs.LocalFileSystem()))
    monkeypatch.setattr("meshwright.files.remote.file_system", lambda url: (log, url.removeprefix("s3://")))
    steps: list[tuple[dict[str, str], list[str]]] = [
        ({"a": "one"}, ["open a.parquet", "open thing.json"]),
        ({"a": "one", "b": "two"}, ["open b.parquet", "open thing.json"]),
        ({"a": "other", "b": "two"}, ["delete thing.json", "open a.parquet", "open thing.json"]),
        ({"b": "two"}, ["open thing.json", "delete a.parquet"]),
    ]
    for files, calls in steps:
        log.calls.clear()
        write(URL, **files)
        assert log.calls == calls
        there = {file.name: file.read_text() for file in (store / "thing").glob("*.parquet")}
        assert there == {f"{name}.parquet": text for name, text in files.items()}
        assert header.read_description(URL, KIND)["of"] == sorted(files)
    (store / "thing" / "thing.json").write_text('{"format": "meshwright thing", "files": 3}')
    log.calls.clear()
    write(URL, b="two")
    assert log.calls == ["delete thing.json", "open b.parquet", "open thing.json"]


def test_files_below_subfolders_are_kept_apart(store: Path) -> None:
    """Names are relative to the folder; of a folder that is not there, there are none."""
    (store / "deep" / "er").mkdir(parents=True)
    (store / "deep" / "er" / "a").write_text("")
    (store / "deep" / "b").write_text("")
    system = fs.SubTreeFileSystem(str(store.parent), fs.LocalFileSystem())
    assert remote.names_below(system, "bucket/deep") == {"er/a", "b"}
    assert remote.names_below(system, "bucket/none") == set()
    with remote.new_remote_folder(URL, KIND) as folder:
        (folder / "in").mkdir()
        (folder / "in" / "c").write_text("c")
        write_header(folder, KIND, {})
    assert (store / "thing" / "in" / "c").read_text() == "c"


def test_places_that_hold_something_else_stay(store: Path) -> None:
    """What a killed writer leaves is replaced; other files, other kinds and missing buckets are errors."""
    for name in KIND.ours:
        (store / "thing" / name).write_text("cut off")
    assert header.read_description(URL, KIND) == {}
    write(URL, a="new")
    for name, text in (
        ("else", "own"),
        ("thing.json", "no json"),
        ("thing.json", '{"format": "meshwright x"}'),
    ):
        (store / "other").mkdir(exist_ok=True)
        (store / "other" / name).write_text(text)
        with pytest.raises(OutputError, match="s3://bucket/other holds something other than a thing"):
            write("s3://bucket/other", a="new")
        assert (store / "other" / name).read_text() == text
    with pytest.raises(OutputError, match="cannot write s3://nowhere/x/y: there is no bucket nowhere"):
        write("s3://nowhere/x/y", a="new")
    with pytest.raises(OutputError, match="a front is a folder on this machine: give a path"):
        remote.check_remote_place(URL, Kind("front", "front.json", 1))
    assert header.read_description(store / "thing", KIND)["of"] == ["a"]
    assert header.read_description(store, KIND) == {}


def test_a_folder_comes_back_as_it_was(store: Path) -> None:
    """A copy lives as long as its owner."""

    class Owner:
        """Something that reads the copy."""

    write(URL, a="one", b="two")
    content, owner = header.read_description(URL, KIND), Owner()
    copy = remote.fetch_folder(f"{URL}/", owner)
    assert {file.name for file in copy.iterdir() if file.is_file()} == {
        "a.parquet",
        "b.parquet",
        "thing.json",
    }
    del owner
    gc.collect()
    assert not copy.parent.exists()
    with header.local_description(URL, KIND) as described:
        assert json.loads((described / "thing.json").read_text()) == content
        assert [file.name for file in described.iterdir()] == ["thing.json"]
    with header.local_description(store / "thing", KIND) as described:
        assert described == store / "thing"


def test_files_are_sent_until_they_arrive(store: Path, tmp_path: Path) -> None:
    """A file with another size there is sent again, three times at most."""
    sent = []

    class Lossy(Log):
        def get_file_info(self, path: str) -> Any:
            sent.append(path)
            right = len(sent) % 3 == arrives
            return fs.FileInfo(path, fs.FileType.File, size=4 if right else 5)

    (tmp_path / "file").write_text("four")
    system = Lossy(fs.SubTreeFileSystem(str(store.parent), fs.LocalFileSystem()))
    arrives = 0
    remote.upload(tmp_path / "file", system, "bucket/file")
    assert system.calls == ["open file"] * 3
    assert (store / "file").read_text() == "four"
    arrives = 9
    with pytest.raises(OSError, match="bucket/file did not arrive with its 4 bytes"):
        remote.upload(tmp_path / "file", system, "bucket/file")
    assert len(sent) == 6


def test_a_single_file(store: Path) -> None:
    """A file appears at its URL when the block ends, and can be read from there."""
    with remote.new_remote_file("s3://bucket/sub.json") as beside:
        assert beside.name == "sub.json"
        beside.write_text("{}")
        assert not (store / "sub.json").exists()
    assert (store / "sub.json").read_text() == "{}"
    with open_input("s3://bucket/sub.json") as opened:
        assert opened.read() == b"{}"
    with local_copy("s3://bucket/sub.json") as copy:
        assert copy.read_text() == "{}"
    assert not copy.exists()
    with (
        pytest.raises(InputError, match="nothing is at s3://bucket/none: check"),
        local_copy("s3://bucket/none"),
    ):
        pass
    for name in ("b.log", "a.log", ".c.log", "_d.log", "e.txt"):
        (store / name).write_text("")
    assert files_in("s3://bucket", ".log") == ["s3://bucket/a.log", "s3://bucket/b.log"]
    assert files_in(str(store), ".log") == [f"{store}/a.log", f"{store}/b.log"]
    assert files_in("s3://bucket/none", ".log") == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError("no route\nsecond line"), "cannot write s3://b/x: no route; choose another place"),
        (pa.ArrowInvalid(""), "cannot write s3://b/x: ArrowInvalid; choose another place"),
        (OSError("a" * 300), f"cannot write s3://b/x: {'a' * 200}; choose another place"),
        (InputError("a URL of an unknown kind"), "a URL of an unknown kind"),
        (FormatError("as it is"), "as it is"),
    ],
)
def test_errors_of_a_store_are_one_line(error: Exception, message: str) -> None:
    """Errors name the place; our own stay as they are, but what cannot be written is about the output."""
    with pytest.raises((OutputError, FormatError)) as raised, remote.reaching("s3://b/x"):
        raise error
    assert str(raised.value) == message
    assert isinstance(raised.value, OutputError) != isinstance(error, FormatError)
    with (
        pytest.raises(FormatError, match=r"^s3://b/x/a is wrong$"),
        naming("s3://b/x", Path("/tmp/copy")),
    ):
        raise FormatError("/tmp/copy/a is wrong")
