"""Formats: files with an unknown compression are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from meshwright.errors import InputError
from meshwright.pipeline.readers.formats import FORMATS, Reading, check_packing, read_rows
from meshwright.pipeline.readers.sources import SourceFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_unknown_compressions(spark: SparkSession) -> None:
    """Every format refuses a compressed file that Spark would read as text, by its name."""
    for kind in sorted(set(FORMATS) - {"parquet"}):
        for name in ("a.csv.xz", "a.log.deflate", "a.json.ZST", "a.txt.lz4"):
            with pytest.raises(InputError, match=rf"^'/p/{name}' cannot be decompressed: .* \.gz or \.bz2$"):
                read_rows(spark, [SourceFile(f"/p/{name}", 1, "")], Reading(kind))


def test_known_compressions() -> None:
    """Plain files, .gz and .bz2 are accepted, with any other text in their names."""
    check_packing(
        [SourceFile(f"/p.xz/{name}", 1, "") for name in ("a.csv", "a.zip.csv.gz", "a.log.1.bz2", "zst")]
    )
