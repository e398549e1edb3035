"""Parquet files: the row groups of each share are read, whatever their types."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.errors import FormatError
from meshwright.pipeline.dataset.ingest import Outcome, ingest
from meshwright.pipeline.readers import sources
from meshwright.pipeline.readers.sources import SourceFile

Sizes = list[int]
ROWS = 1000


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(1, 20))
def test_every_byte_is_in_one_share(sizes: Sizes, most: int) -> None:
    """Each byte of each file is in exactly one stretch, and no share exceeds the maximum."""
    files = [SourceFile(str(number), size, "") for number, size in enumerate(sizes)]
    cut = sources.shares(files, most)
    covered = Counter(
        (part.path, byte) for share in cut for part in share for byte in range(part.begin, part.end)
    )
    assert covered == Counter((file.path, byte) for file in files for byte in range(file.size))
    assert all(0 <= sum(part.end - part.begin for part in share) <= most for share in cut)
    assert all(share for share in cut)


def written(source: Path, out: Path) -> tuple[Outcome, dict[str, bytes]]:
    """Ingest, and return the bytes of every file."""
    outcome = ingest(None, [source], out, max_bad=1)
    return outcome, {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*.*")}


def some_pairs(kind: str) -> pa.Table:
    rng = np.random.default_rng(4)
    nodes = pa.array(rng.integers(0, 300, ROWS))
    topics = pa.array([f"t{number}é" for number in rng.zipf(1.5, ROWS) % 90])
    if kind == "large":
        topics = topics.cast(pa.large_string())
    elif kind == "categories":
        # One category has no row.
        codes = topics.dictionary_encode()
        words = pa.concat_arrays([codes.dictionary, pa.array(["never"])])
        topics = pa.DictionaryArray.from_arrays(codes.indices, words)
    elif kind == "nulls":
        topics = pa.concat_arrays([topics[:-2], pa.array([None, " "])])
    elif kind == "small integers":
        nodes = nodes.cast(pa.int16())
    return pa.table({"extra": pa.nulls(ROWS, pa.float64()), "topic": topics, "node": nodes})


@pytest.mark.parametrize("kinds", [("plain", "large"), ("categories", "nulls"), ("small integers",)])
def test_row_groups_in_many_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: tuple[str, ...]
) -> None:
    """Several files with several row groups, in many shares, give the same bytes as in one share."""
    (tmp_path / "in").mkdir()
    tables = [some_pairs(kind) for kind in kinds]
    for number, table in enumerate(tables):
        pq.write_table(table[:600], tmp_path / "in" / f"a{number}.parquet", row_group_size=200)
        pq.write_table(table[600:], tmp_path / "in" / f"b [{number}].parquet", row_group_size=5000)
    pq.write_table(tables[0][:0], tmp_path / "in" / "empty.parquet")
    whole = written(tmp_path / "in", tmp_path / "whole")
    monkeypatch.setattr(sources, "BYTES_IN_A_SHARE", 4_000)
    outcome, content = written(tmp_path / "in", tmp_path / "out")
    assert (outcome, content) == whole
    rows = [row for table in tables for row in table.to_pylist()]
    pairs = {(row["node"], row["topic"]) for row in rows if (row["topic"] or " ") != " "}
    assert (outcome.read, outcome.kept) == (len(rows), len(pairs))
    assert outcome.quarantined == (2 if "nulls" in kinds else 0)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """The truncated one of several files is named, and nothing is written."""
    (tmp_path / "in").mkdir()
    for name in "ab":
        pq.write_table(some_pairs("plain"), tmp_path / "in" / f"{name}.parquet")
    whole = (tmp_path / "in" / "b.parquet").read_bytes()
    (tmp_path / "in" / "b.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match=r"b\.parquet"):
        ingest(None, [tmp_path / "in"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
