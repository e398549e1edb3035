"""Small files by path or URL: both behave alike, and each file is written whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshwright.files import remote, urls
from meshwright.files.atomic import new_file
from object_store import folder_as_store


@pytest.mark.parametrize("at_store", [False, True])
def test_files_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_store: bool) -> None:
    """What is written can be read, what is removed is gone; missing files and folders are fine."""
    folder_as_store(tmp_path, monkeypatch)
    folder = "s3://bucket/in" if at_store else str(tmp_path / "bucket" / "in")
    assert urls.names_in(folder) == []
    assert remote.read_text(f"{folder}/a") is None
    (tmp_path / "bucket" / "in").mkdir()
    for name in ("b", "a", ".hidden"):
        remote.write_text(f"{folder}/{name}", f"in {name}: ü")
    assert urls.names_in(folder) == ["a", "b"]
    assert remote.read_text(f"{folder}/a") == "in a: ü"
    assert [remote.exists(f"{folder}/{name}") for name in ("a", "none")] == [True, False]
    remote.write_text(f"{folder}/a", "again")
    assert remote.read_text(f"{folder}/a") == "again"
    remote.remove_file(f"{folder}/a")
    remote.remove_file(f"{folder}/a")
    assert urls.names_in(folder) == ["b"]
    remote.remove_folder(folder)
    remote.remove_folder(folder)
    assert urls.names_in(folder) == []


@pytest.mark.parametrize("at_store", [False, True])
def test_a_failure_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_store: bool
) -> None:
    """A block that fails changes nothing, and leaves nothing behind."""
    folder_as_store(tmp_path, monkeypatch)
    place = "s3://bucket/a" if at_store else str(tmp_path / "bucket" / "a")
    remote.write_text(place, "old")
    paths = []

    def fail() -> None:
        with new_file(place) as beside:
            beside.write_text("new")
            paths.append(beside)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert remote.read_text(place) == "old"
    assert [file.name for file in (tmp_path / "bucket").iterdir()] == ["a"]
    assert not paths[0].exists()


def test_a_folder_is_made_on_a_disk_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with its parents is made, once or twice; a store needs none."""
    folder_as_store(tmp_path, monkeypatch)
    for _ in range(2):
        remote.make_folder(str(tmp_path / "deep" / "er"))
    remote.make_folder("s3://bucket/deep")
    assert (tmp_path / "deep" / "er").is_dir()
    assert not (tmp_path / "bucket" / "deep").exists()
