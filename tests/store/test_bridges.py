"""Bridges of today: the same from pairs, tables, files and plans; odd ones are left out."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import meshwright as mw
from meshwright.errors import FormatError, InputError
from meshwright.store.bridges import load_bridges

INTEREST = mw.Interest.of({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
PAIRS = [("b", "a"), ("a", "b"), ("c", "c"), ("c", "a"), ("a", "nobody")]


def test_every_source_gives_the_same(tmp_path: Path) -> None:
    """Pairs, an Arrow table, CSV and Parquet: each pair of brokers once, no loops, no unknown brokers."""
    table = pa.table({"u": [u for u, _ in PAIRS], "v": [v for _, v in PAIRS]})
    pq.write_table(table, tmp_path / "bridges.parquet")
    rows = "".join(f"{u},{v}\n" for u, v in PAIRS)
    (tmp_path / "bridges.csv").write_text(f"u,v\n{rows}")
    for source in (PAIRS, table, tmp_path / "bridges.parquet", tmp_path / "bridges.csv"):
        found = load_bridges(source, INTEREST)
        assert found.overlay.edges == [("a", "b"), ("a", "c")]
        assert found.overlay.contribution.tolist() == [1, 1]
        assert found.unknown == 1


def test_a_plan_is_a_source(tmp_path: Path) -> None:
    """The links of another plan can be today's bridges."""
    plan = mw.design(INTEREST, "gm")
    found = load_bridges(plan.save(tmp_path / "plan"), INTEREST)
    assert sorted(found.overlay.edges) == sorted(plan.overlay.edges)


def test_bad_sources(tmp_path: Path) -> None:
    """Missing, empty and misnamed files, missing columns and other objects give one clear line."""
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "other.csv").write_text("from,to\na,b\n")
    (tmp_path / "bridges.txt").write_text("a b")
    (tmp_path / "not.parquet").write_text("no")
    for name, wrong in (
        ("missing.csv", "no bridges"),
        ("empty.csv", "is empty"),
        ("bridges.txt", "does not end in"),
        ("other.csv", "'u'"),
    ):
        with pytest.raises(InputError, match=wrong):
            load_bridges(tmp_path / name, INTEREST)
    with pytest.raises(FormatError, match=r"not\.parquet"):
        load_bridges(tmp_path / "not.parquet", INTEREST)
    with pytest.raises(InputError, match="no column 'v'"):
        load_bridges(pa.table({"u": ["a"]}), INTEREST)
    with pytest.raises(InputError, match="cannot read bridges from int"):
        load_bridges(7, INTEREST)
