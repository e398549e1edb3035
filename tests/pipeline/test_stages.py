"""What must hold of the progress of jobs: whole files count by the bytes that were read of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from meshwright.pipeline.readers.sources import SourceFile, compressed_sizes
from meshwright.pipeline.session.jobs import share_read

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what processes have read")


@linux
def test_bytes_that_were_read_of_open_files_count(tmp_path: Path) -> None:
    first, second = tmp_path / "a.gz", tmp_path / "b.gz"
    first.write_bytes(bytes(600))
    second.write_bytes(bytes(400))
    sizes = {str(first): 600, str(second): 400}
    assert share_read(sizes) == 0
    with first.open("rb", buffering=0) as one, second.open("rb", buffering=0) as two:
        one.read(150)
        assert share_read(sizes) == 0.15
        two.read(400)
        assert share_read(sizes) == 0.55
        assert share_read({str(second): 400}) == 1
    assert share_read(sizes) == 0
    assert share_read({}) == 0


def test_compressed_files_of_this_machine_are_read_as_a_whole(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.csv.gz", "b.csv", "c.BZ2")]
    files = [SourceFile(path, size, "") for path, size in zip(paths, (5, 6, 7), strict=True)]
    files.append(SourceFile("s3://bucket/d.gz", 8, ""))
    assert compressed_sizes(files) == {paths[0]: 5, paths[2]: 7}
