"""Pairs of names become blocks, then parts, then pieces, without losing or changing a pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.pipeline.dataset.encode import merge_part, number_names, split_into_parts
from meshwright.pipeline.readers import name_blocks
from meshwright.pipeline.readers.name_blocks import binary, to_blocks, unpack_names
from strategies import wild_names

Pairs = list[tuple[str | None, str | None]]
PIECE = ("sizes", "topics")
few_names = st.sampled_from(["a", "b", "é", "zz"]) | wild_names
pairs = st.lists(st.tuples(few_names, few_names), max_size=30)


def batches_of(given: Pairs, cuts: Sequence[int]) -> list[pa.RecordBatch]:
    """Split pairs into batches, some of them empty."""
    places = [0, *sorted(min(cut, len(given)) for cut in cuts), len(given)]
    return [
        pa.record_batch([pa.array([pair[i] for pair in given[begin:end]], pa.string()) for i in (0, 1)], "nt")
        for begin, end in pairwise(places)
    ]


def blocks_of(given: Pairs, cuts: Sequence[int], most: int) -> list[pa.RecordBatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_blocks, "BYTES_IN_A_BLOCK", most)
        return list(to_blocks(iter(batches_of(given, cuts))))


def names_in(block: pa.RecordBatch, kind: str) -> list[str | None]:
    names: list[str | None] = unpack_names(block.column(kind)[0].as_py()).to_pylist()
    return names


def decoded(block: pa.RecordBatch) -> Pairs:
    """Decode a block, pair by pair."""
    found = [
        [names_in(block, f"{kind}s")[place] for place in np.frombuffer(codes[0].as_py(), "<i4")]
        for kind, codes in (("node", block.column("node_codes")), ("topic", block.column("topic_codes")))
    ]
    return list(zip(*found, strict=True))


@given(
    st.lists(st.tuples(st.none() | few_names, st.none() | few_names), max_size=30),
    st.lists(st.integers(0, 30), max_size=4),
    st.integers(1, 400),
)
def test_blocks_hold_the_pairs(given: Pairs, cuts: list[int], most: int) -> None:
    """Blocks decode to the pairs in order, have distinct names, and have equal keys for equal names."""
    blocks = blocks_of(given, cuts, most)
    assert [pair for block in blocks for pair in decoded(block)] == given
    by_key: dict[str, set[str]] = {}
    for block in blocks:
        assert block.column("rows")[0].as_py() == len(decoded(block)) > 0
        both = [names_in(block, kind) for kind in ("nodes", "topics")]
        assert all(len(names) == len(set(names)) for names in both)
        by_key.setdefault(block.column("key")[0].as_py(), set()).add(repr(both))
    assert all(len(names) == 1 for names in by_key.values())
    assert len({repr(names) for names in by_key.values()}) == len(by_key)


def test_integers_become_names() -> None:
    """Integers become their decimal text."""
    table = pa.record_batch([pa.array([7, -1, 7], pa.int16()), pa.array(["x", "y", "x"])], "nt")
    (block,) = to_blocks(iter([table]))
    assert decoded(block) == [("7", "x"), ("-1", "y"), ("7", "x")]


def test_the_size_of_blocks() -> None:
    """A block is closed at its size limit, and names in several blocks are in each of them."""
    given: Pairs = [(letter * 600, "x") for letter in "abaa"]
    blocks = blocks_of(given, [1, 2, 3], 1000)
    assert [block.column("rows")[0].as_py() for block in blocks] == [2, 2]
    assert [len(names_in(block, "nodes")) for block in blocks] == [2, 1]


@given(pairs, st.integers(1, 400), st.integers(1, 4))
def test_pieces_are_the_sorted_pairs(given: Pairs, most: int, parts: int) -> None:
    """Numbering, splitting and merging blocks gives each pair once, in order."""
    blocks = blocks_of(given, range(0, len(given), 2), most)
    kinds = [
        number_names([unpack_names(block.column(kind)[0].as_py()) for block in blocks])
        for kind in name_blocks.KINDS
    ]
    names = [found.to_pylist() for found, _ in kinds]
    for i in (0, 1):
        assert names[i] == sorted({str(pair[i]) for pair in given}, key=str.encode)
    numbered = [
        pa.record_batch(
            [*map(block.column, ("node_codes", "topic_codes")), *(binary([found[1][i]]) for found in kinds)],
            ["node_codes", "topic_codes", "node_numbers", "topic_numbers"],
        )
        for i, block in enumerate(blocks)
    ]
    firsts = -(-np.arange(1, parts, dtype=np.int64) * len(names[0]) // parts) << 32
    cut = list(split_into_parts(firsts, iter(numbered)))
    found: list[tuple[str, str]] = []
    for part in range(parts):
        here = [batch.filter(pa.compute.equal(batch.column("part"), part)) for batch in cut]
        for piece in merge_part(iter(here)):
            sizes, topics = (
                np.frombuffer(piece.column(kind)[0].as_py(), "<i4") for kind in ("sizes", "topics")
            )
            nodes = piece.column("first")[0].as_py() + np.repeat(np.arange(len(sizes)), sizes)
            found += [(names[0][node], names[1][topic]) for node, topic in zip(nodes, topics, strict=True)]
    expected = {(str(node), str(topic)) for node, topic in given}
    assert found == sorted(expected, key=lambda pair: (pair[0].encode(), pair[1].encode()))
