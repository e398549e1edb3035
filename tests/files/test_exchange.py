"""Flushing reaches the disk: every file and folder once, and nothing stays open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from meshwright.files.exchange import flush, flush_tree


class Disk:
    """Notes what is flushed, by name, and which descriptors stay open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, refuse_folders: bool = False) -> None:
        self.flushed: list[str] = []
        self.opened: set[int] = set()
        self.refuse = refuse_folders
        opens, closes = os.open, os.close

        def note_open(*given: object, **more: object) -> int:
            self.opened.add(descriptor := opens(*given, **more))  # type: ignore[arg-type]
            return descriptor

        def note_close(descriptor: int) -> None:
            self.opened.discard(descriptor)
            closes(descriptor)

        monkeypatch.setattr(os, "open", note_open)
        monkeypatch.setattr(os, "close", note_close)
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, descriptor: int) -> None:
        """Note the name of what is flushed."""
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if self.refuse and path.is_dir():
            raise OSError("cannot")
        self.flushed.append(path.name)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_files_and_folders_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file or folder, or a tree from the leaves up; links are not followed."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("in/a", "in/deep/b"):
        (tmp_path / name).write_text("")
    (tmp_path / "in" / "link").symlink_to("/dev/null")
    disk = Disk(monkeypatch)
    flush(tmp_path / "in" / "a")
    flush(tmp_path / "in")
    assert disk.flushed == ["a", "in"]
    disk.flushed.clear()
    flush_tree(tmp_path / "in")
    assert disk.flushed == ["b", "deep", "a", "in"]
    assert disk.opened == set()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_only_folders_may_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems cannot flush folders; a file that cannot be flushed is an error, and is closed."""
    (tmp_path / "a").write_text("")
    disk = Disk(monkeypatch, refuse_folders=True)
    flush(tmp_path)
    flush_tree(tmp_path)
    assert disk.flushed == ["a"]

    def refuse(descriptor: int) -> None:
        raise OSError("full")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="full"):
        flush(tmp_path / "a")
    with pytest.raises(OSError, match="full"):
        flush_tree(tmp_path)
    assert disk.opened == set()
