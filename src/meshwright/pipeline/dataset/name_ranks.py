"""Numbers for the names of all blocks, in the order of their UTF-8 bytes, computed on the executors.

1. Each block cuts its names at the same few names, taken from samples, so that each part has all names of a
   range. Which names these are affects only who does the work.
2. Each part sorts its distinct names, and answers each block with the ranks of its names.
3. The driver receives the number of names in each part. The id of a name is the sum of those before, plus
   the rank of the name in its part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.errors import InputError
from meshwright.pipeline.dataflow import Batches, Flow, each_row, make_batch, rows_by
from meshwright.pipeline.dataset.blocks import KINDS, cell_names, pack_names, unpack

BYTES_IN_A_PART = 1 << 26
"""One task sorts about this many bytes of names, counted once for each block that has them."""
BYTES_IN_A_SLICE = 1 << 24
MOST_NAMES = 2**31 - 1
CUT = "slot int, share long, block string, codes binary, names binary"
NUMBERED = (
    "slot int, share long, block string, kind int, total long, first long, codes binary, ranks binary, "
    "names binary"
)
"""Three kinds of rows of a part: its count; for each block, codes and ranks; and its names, in slices."""


@dataclass(frozen=True, eq=False)
class Numbered:
    """The names of all blocks in parts, and the id of the first name of each part."""

    flow: Flow
    offsets: NDArray[np.int64]
    """By slot: parts of nodes, then parts of topics."""
    slots: Mapping[str, int]
    """By kind: its first slot."""
    counts: Mapping[str, int]
    """By kind: the number of names."""


def choose_cuts(samples: Sequence[Any], sizes: Mapping[str, int], cores: int) -> dict[str, list[str]]:
    """Return the names at which each kind is cut into parts, from samples and the bytes of all names."""
    tables = [unpack(content) for content in samples]
    made = {}
    for kind in KINDS:
        found = sorted({name for table in tables for name in table.column(kind)[0].as_py()}, key=str.encode)
        wanted = max(-(-sizes[kind] // BYTES_IN_A_PART), 1)
        if sizes[kind] > 1 << 20:
            wanted = max(wanted, cores)
        places = np.unique(np.arange(1, wanted) * len(found) // wanted)
        made[kind] = [found[place] for place in places]
    return made


def number_names(blocks: Flow, cuts: Mapping[str, Sequence[str]]) -> Numbered:
    """Give the names of all blocks their ids."""
    slots = {"nodes": 0, "topics": len(cuts["nodes"]) + 1}
    count = slots["topics"] + len(cuts["topics"]) + 1
    cut = blocks.select("share", "block", *KINDS).map(partial(cut_blocks, cuts, slots), CUT)
    flow = cut.exchange(count, "slot", "block").map(partial(rank_names, slots["topics"]), NUMBERED).keep()
    try:
        return count_parts(flow, slots, count)
    except BaseException:
        flow.release()
        raise


def count_parts(flow: Flow, slots: Mapping[str, int], parts: int) -> Numbered:
    """Compute the parts, and sum up the counts of names."""
    sizes = np.zeros(parts, dtype=np.int64)
    for row in flow.select("slot", "total", having="total").collect():
        sizes[row.slot] = row.total
    offsets = np.zeros(parts, dtype=np.int64)
    counts = {}
    for kind in KINDS:
        end = slots["topics"] if kind == "nodes" else parts
        of_kind = sizes[slots[kind] : end]
        offsets[slots[kind] : end] = np.cumsum(of_kind) - of_kind
        counts[kind] = int(of_kind.sum())
        if counts[kind] > MOST_NAMES:
            raise InputError(f"{counts[kind]} {kind} are more than {MOST_NAMES} (2³¹ − 1): split the data")
    return Numbered(flow, offsets, slots, counts)


def cut_blocks(
    cuts: Mapping[str, Sequence[str]], slots: Mapping[str, int], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Cut the names of blocks into parts."""
    for row in each_row(batches):
        share, block = row["share"].as_py(), row["block"].as_py()
        for kind in KINDS:
            for part, codes, names in cut_at(cuts[kind], cell_names(row[kind])):
                yield make_batch(
                    CUT, slot=[slots[kind] + part], share=[share], block=[block], codes=[codes], names=[names]
                )


def cut_at(cuts: Sequence[str], names: pa.Array) -> Iterator[tuple[int, NDArray[np.int32], Any]]:
    """Yield names in slices by part: the part, the positions of its names, and these names packed."""
    part_of = find_parts(names, cuts)
    for part in np.unique(part_of).tolist():
        codes = np.flatnonzero(part_of == part).astype("<i4")
        for begin, end in name_slices(names, len(codes)):
            chosen = codes[begin:end]
            yield part, chosen, pack_names(names.take(pa.array(chosen)))


def find_parts(names: pa.Array, cuts: Sequence[str]) -> NDArray[np.int64]:
    """Return the part of each name: the number of cuts that are not after it, by binary search."""
    low = np.zeros(len(names), dtype=np.int64)
    high = np.full(len(names), len(cuts), dtype=np.int64)
    bounds = pa.array(cuts, pa.string())
    while (low < high).any():
        middle = (low + high) // 2
        open_ends = low < high
        bound = bounds.take(pa.array(np.minimum(middle, len(cuts) - 1)))
        after = pc.greater_equal(names, bound).to_numpy(zero_copy_only=False)
        low = np.where(open_ends & after, middle + 1, low)
        high = np.where(open_ends & ~after, middle, high)
    return low


def name_slices(names: pa.Array, count: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield ranges of names, or of some of them, that have a bounded number of bytes."""
    some = len(names) if count is None else count
    mean = max(names.nbytes // max(len(names), 1), 1)
    step = max(BYTES_IN_A_SLICE // mean, 1)
    for begin in range(0, some, step):
        yield begin, min(begin + step, some)


def rank_names(first_topic_slot: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Sort the distinct names of each part; yield its count, its names and the ranks for each block."""
    for rows in rows_by(batches, "slot"):
        slot = rows[0]["slot"].as_py()
        encoded = large_names(rows).dictionary_encode()
        distinct = encoded.chunk(0).dictionary
        order = pc.sort_indices(distinct)
        ranks = np.empty(len(distinct), dtype="<i4")
        ranks[order.to_numpy()] = np.arange(len(distinct), dtype="<i4")
        yield make_batch(NUMBERED, slot=[slot], total=[len(distinct)])
        for row, chunk in zip(rows, encoded.chunks, strict=True):
            yield make_batch(
                NUMBERED,
                slot=[slot],
                share=[row["share"].as_py()],
                block=[row["block"].as_py()],
                kind=[int(slot >= first_topic_slot)],
                codes=[row["codes"].as_buffer()],
                ranks=[ranks[chunk.indices.to_numpy()]],
            )
        yield from slice_names(slot, distinct.take(order))


def large_names(rows: Sequence[Mapping[str, Any]]) -> pa.ChunkedArray:
    """Return the names of rows, a chunk for each: together they may have more than 2 GB."""
    pieces = [cell_names(row["names"]).cast(pa.large_string()) for row in rows]
    return pa.chunked_array(pieces, pa.large_string())


def joined_names(rows: Sequence[Mapping[str, Any]]) -> pa.ChunkedArray:
    """Return all names of a part, in order, from those of its rows that have slices of them."""
    return large_names(
        sorted((row for row in rows if row["names"].is_valid), key=lambda row: row["first"].as_py())
    )


def ids_by_slot(
    offsets: NDArray[np.int64], topic_slot: int, kind: int, ids: NDArray[Any]
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield the parts of names that have some ids of nodes (kind 0) or topics, and which ids each has."""
    # Parts without names begin where the next one does.
    begin, firsts = (topic_slot, offsets[topic_slot:]) if kind else (0, offsets[:topic_slot])
    slot_of = np.searchsorted(firsts, ids, side="right") - 1 + begin
    for slot in np.unique(slot_of).tolist():
        yield slot, slot_of == slot


def equal_ranges(ordered: NDArray[Any]) -> Iterator[tuple[int, slice]]:
    """Yield each value of an array in order, and where it is.

    >>> list(equal_ranges(np.array([3, 3, 7])))
    [(3, slice(0, 2, None)), (7, slice(2, 3, None))]
    """
    values, begins = np.unique(ordered, return_index=True)
    yield from zip(
        values.tolist(), map(slice, begins.tolist(), [*begins.tolist()[1:], len(ordered)]), strict=True
    )


def slice_names(slot: int, names: pa.Array) -> Iterator[pa.RecordBatch]:
    """Yield the sorted names of a part in slices, each with the rank of its first name."""
    for begin, end in name_slices(names):
        piece = names[begin:end].cast(pa.string())
        yield make_batch(NUMBERED, slot=[slot], first=[begin], names=[pack_names(piece)])
