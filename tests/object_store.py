"""A store at `s3://` URLs that is a folder of this machine: for tests of what is copied there and back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyarrow import fs


def folder_as_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> fs.FileSystem:
    """Let `s3://bucket/…` mean files below a folder, in which the bucket exists; return the file system."""
    (folder / "bucket").mkdir(parents=True)
    system = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())

    def file_system(url: str) -> tuple[fs.FileSystem, str]:
        where = re.sub(r"^[^/]*@", "", url.partition("://")[2])
        return system, where.partition("?")[0].rstrip("/")

    modules = (
        "files.urls",
        "files.header",
        "files.remote",
        "store.dataset_parts",
        "pipeline.readers.sources",
    )
    for module in modules:
        monkeypatch.setattr(f"meshwright.{module}.file_system", file_system)
    return system
