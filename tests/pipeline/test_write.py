"""Parts of a dataset are cut at fixed ranges of ids: nothing is lost or doubled where one begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.errors import OutputError
from meshwright.pipeline.dataflow import make_batch
from meshwright.pipeline.dataset import write
from meshwright.pipeline.dataset.blocks import ASIDE, pack, pack_names, unpack, unpack_names
from meshwright.pipeline.dataset.write import Aside, Target, cut_names, cut_pieces, cut_records, id_ranges
from meshwright.store.dataset_parts import new_part

WIDTH = 3


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 7))
def test_ranges_end_at_multiples(begin: int, length: int, width: int) -> None:
    """Ranges are in order, cover everything once, and none crosses a multiple of the width."""
    ranges = list(id_ranges(begin, begin + length, width))
    assert [number for low, high in ranges for number in range(low, high)] == list(
        range(begin, begin + length)
    )
    assert all(low // width == (high - 1) // width for low, high in ranges)
    assert len(ranges) == len({low // width for low, _ in ranges})


@given(st.integers(0, 9), st.integers(1, 9), st.booleans())
def test_names_are_cut(first: int, count: int, topics: bool) -> None:
    """Each name is in the part of its id; nodes and topics have their own parts."""
    names = pa.array([f"n{first + place}" for place in range(count)], pa.string())
    batch = make_batch(
        "slot int, first long, names binary", slot=[int(topics)], first=[first], names=[pack_names(names)]
    )
    offsets = np.array([0, 100])
    for piece in cut_names(offsets, 1, (10, 50), WIDTH, iter([batch])):
        [row] = piece.to_pylist()
        begin = row["first"] - 100 * topics
        found = unpack_names(pa.py_buffer(row["names"])).to_pylist()
        assert found == names.to_pylist()[begin - first :][: len(found)]
        assert row["target"] == (50 if topics else 10) + row["first"] // WIDTH
        assert row["first"] % WIDTH + len(found) <= WIDTH
        count -= len(found)
    assert count == 0


@given(st.integers(0, 5), st.lists(st.integers(0, 4), max_size=9))
def test_subscriptions_are_cut(first: int, sizes: list[int]) -> None:
    """Nodes keep their topics, in the part of their id."""
    nodes = np.arange(first, first + len(sizes), dtype=np.int32)
    topics = np.arange(sum(sizes), dtype=np.int32)
    heads = np.concatenate((nodes, np.array(sizes, dtype=np.int32)))
    batch = make_batch("sizes binary, topics binary", sizes=[heads], topics=[topics])
    found: dict[int, list[int]] = {}
    for piece in cut_pieces(20, WIDTH, iter([batch])):
        [row] = piece.to_pylist()
        own = np.frombuffer(row["sizes"], "<i4").tolist()
        held = np.frombuffer(row["topics"], "<i4").tolist()
        assert row["target"] == 20 + row["first"] // WIDTH == 20 + (row["first"] + len(own) - 1) // WIDTH
        for node, size in enumerate(own, start=row["first"]):
            found[node], held = held[:size], held[size:]
        assert held == []
    ends = np.cumsum([0, *sizes])
    expected = {int(node): topics[ends[place] : ends[place + 1]].tolist() for place, node in enumerate(nodes)}
    assert found == expected


def test_records_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad records get their file and line, once each, in the part of their rank."""
    monkeypatch.setattr(write, "RECORDS_IN_A_PART", WIDTH)
    table = pa.table(
        {
            "file": [1, 0, 1, 1, 0],
            "begin": [0, 50, 70, 70, 0],
            "place": [4, 0, 1, 2, 9],
            "record": list("abcde"),
            "reason": ["r"] * 5,
        },
        schema=ASIDE,
    )
    aside = Aside(["one", "two"], {(0, 50): 10, (1, 70): 20}, {(7, 3): 2}, 5)
    batch = make_batch("share int, chunk int, aside binary", share=[7], chunk=[3], aside=[pack(table)])
    found: list[dict[str, Any]] = []
    places = []
    for piece in cut_records(30, aside, iter([batch])):
        [row] = piece.to_pylist()
        records = unpack(pa.py_buffer(row["records"])).to_pylist()
        places.append((row["target"], row["first"], len(records)))
        found += records
    assert places == [(30, 2, 1), (31, 3, 3), (32, 6, 1)]
    assert [tuple(each.values())[:3] for each in found] == [
        ("two", 5, "a"),
        ("one", 11, "b"),
        ("two", 22, "c"),
        ("two", 23, "d"),
        ("one", 10, "e"),
    ]


def test_what_executors_wrote_is_checked(tmp_path: Path) -> None:
    """Rows that are missing are a bug, files that are not seen here a folder that is not shared."""
    targets = [Target("nodes", 0), Target("nodes", 1)]
    with pytest.raises(AssertionError, match="rows were written, not"):
        write.check_written(str(tmp_path), targets, {"nodes": 1}, {"nodes": 2})
    with pytest.raises(
        OutputError, match=f"workers wrote 2 files to {tmp_path} that this machine does not see"
    ):
        write.check_written(str(tmp_path), targets, {"nodes": 2}, {"nodes": 2})
    (tmp_path / "nodes").mkdir()
    for target in targets:
        with new_part(str(tmp_path), *target):
            pass
    write.check_written(str(tmp_path), targets, {"nodes": 2}, {"nodes": 2})
