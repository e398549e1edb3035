"""Rows become blocks, ids, parts and pieces, without losing or changing a row; events fold as one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.pipeline.dataflow import LocalFlow, arrow_schema
from meshwright.pipeline.dataset import blocks, name_ranks, relation
from meshwright.pipeline.dataset.blocks import BLOCK, make_blocks
from meshwright.pipeline.dataset.ingest import Found, count_rows, relate_found, write_found
from meshwright.pipeline.dataset.name_ranks import find_parts
from meshwright.pipeline.dataset.relation import fold_events
from meshwright.pipeline.readers.fields import why_unusable
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.rows import Bad, make_rows
from meshwright.pipeline.readers.sources import Stretch
from meshwright.store.datasets import read_dataset
from strategies import wild_names

Event = tuple[str, str, int | None, int | None, bool | None]
"""Node, topic, time, sequence, and whether it is an unsubscribe."""
usable = wild_names.filter(lambda name: why_unusable(name, "node") is None)
names = st.sampled_from(["a", "b", "ab", "é", "zz", "Z"]) | usable
events = st.lists(
    st.tuples(
        names,
        names,
        st.none() | st.integers(1, 4),
        st.none() | st.integers(-2, 2),
        st.none() | st.booleans(),
    ),
    max_size=25,
)


def naive_fold(given: Sequence[Event], as_of: float | None) -> tuple[set[tuple[str, str]], int, int]:
    """Return the pairs that hold, the number of duplicates, and of superseded rows, event by event."""
    first = float("-inf")
    order = sorted(
        range(len(given)),
        key=lambda i: (
            first if given[i][2] is None else given[i][2],
            first if given[i][3] is None else given[i][3],
            i,
        ),
    )
    standing: dict[tuple[str, str], int] = {}
    for i in order:
        node, topic, time, _, leaves = given[i]
        if as_of is not None and time is not None and time > as_of:
            continue
        if leaves:
            standing.pop((node, topic), None)
        else:
            standing[node, topic] = standing.get((node, topic), 0) + 1
    rows = sum(standing.values())
    return set(standing), rows - len(standing), len(given) - rows


def blocks_of(given: Sequence[Event], cuts: Sequence[int]) -> LocalFlow:
    """Return events as blocks of several shares."""
    places = [0, *sorted(min(cut, len(given)) for cut in cuts), len(given)]
    made = []
    for share, (begin, end) in enumerate(pairwise(places)):
        some = given[begin:end]
        texts = [[None if event[i] is None else str(event[i]) for event in some] for i in range(4)]
        words = [None if event[4] is None else "unsubscribe" if event[4] else "subscribe" for event in some]
        roles = ("node", "topic", "time", "sequence", "operation")
        columns = {
            what: pa.array(column, pa.string()) for what, column in zip(roles, [*texts, words], strict=True)
        }
        stretch = Stretch("/p/a.csv", begin, end, 0, False)
        rows = make_rows(stretch, len(some), np.arange(len(some)), columns, str, Bad(), exact=True)
        made.append(pa.Table.from_batches(list(make_blocks(share, iter([rows]))), arrow_schema(BLOCK)))
    return LocalFlow(made)


@settings(max_examples=40)
@given(events, st.lists(st.integers(0, 25), max_size=3), st.none() | st.integers(1, 3), st.integers(1, 5))
def test_a_relation_is_what_events_leave(
    tmp_path_factory: pytest.TempPathFactory,
    given: list[Event],
    cuts: list[int],
    as_of: int | None,
    cores: int,
) -> None:
    """Whatever the shares and parts, the dataset has the pairs that hold, and only their names."""
    out = tmp_path_factory.mktemp("relation") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "ROWS_IN_A_PART", 3)
        patch.setattr(name_ranks, "BYTES_IN_A_PART", 40)
        found = Found(blocks_of(given, cuts), ["/p/a.csv"])
        reading = Reading("csv", as_of=None if as_of is None else float(as_of))
        made = relate_found(found, reading, cores=cores)
        outcome = count_rows(found, made, reading)
        write_found(found, made, outcome, reading, out, [])
    pairs, duplicates, superseded = naive_fold(given, as_of)
    interest = read_dataset(out)
    rows = interest.to_arrow().to_pylist()
    assert [(row["node"], row["topic"]) for row in rows] == sorted(
        pairs, key=lambda pair: (pair[0].encode(), pair[1].encode())
    )
    for kind, held in enumerate((interest.node_names, interest.topic_names)):
        assert held.to_pylist() == sorted({pair[kind] for pair in pairs}, key=str.encode)
    assert (outcome.read, outcome.duplicates, outcome.superseded) == (len(given), duplicates, superseded)


@given(st.lists(names, max_size=12), st.sets(names, max_size=6))
def test_parts_of_names(given: list[str], bounds: set[str]) -> None:
    """A name is in the part that the number of cuts up to it says, by UTF-8 bytes."""
    cuts = sorted(bounds, key=str.encode)
    expected = [sum(cut.encode() <= name.encode() for cut in cuts) for name in given]
    assert find_parts(pa.array(given, pa.string()), cuts).tolist() == expected


@given(events)
def test_folding_needs_no_order(given: list[Event]) -> None:
    """Times and sequences that no event has do not matter, and neither do those of other pairs."""
    keys = np.array([hash(event[:2]) % 1000 for event in given], dtype=np.int64)
    leaves = np.array([-1 if event[4] is None else int(event[4]) for event in given], dtype=np.int8)
    found = fold_events(keys, None, None, leaves).tolist()
    plain = [(str(key), "", None, None, bool(leave == 1)) for key, leave in zip(keys, leaves, strict=True)]
    pairs, duplicates, _ = naive_fold(plain, None)
    assert sorted({str(key) for key in found}) == sorted(node for node, _ in pairs)
    assert len(found) == len(pairs) + duplicates


def test_unused_names_are_dropped(tmp_path: Path) -> None:
    """Names that only bad rows or unused categories have are not in a block."""
    words = pa.DictionaryArray.from_arrays(pa.array([0, 2], pa.int32()), pa.array(["a", "never", "b"]))
    found, codes = blocks.join_names([words, pa.array(["c", "a"]).dictionary_encode()])
    assert (found.to_pylist(), codes.tolist()) == (["a", "b", "c"], [0, 1, 2, 0])
