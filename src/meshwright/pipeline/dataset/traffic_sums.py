"""Sums of messages by publisher and channel, and by channel: computed and written on the executors.

1. Each block adds up its messages by pairs of ids, and sends the sums to the part of the publisher. A part
   becomes a file, so its range of publishers depends on the counts alone.
2. Each part adds up the sums of all blocks, and asks for the names of its ids. Along with the ids of channels
   it sends their sums.
3. The parts of names answer, and add up the channels.
4. Names and sums come together where they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrow import from_numpy
from meshwright.errors import InputError
from meshwright.fingerprint import NAMES_IN_A_PART, name_buffers, nodes_in_a_part
from meshwright.pipeline.dataflow import Batches, Flow, cell_array, each_row, make_batch, rows_by
from meshwright.pipeline.dataset.blocks import cell_names, pack_names, unpack
from meshwright.pipeline.dataset.name_ranks import (
    Numbered,
    equal_ranges,
    ids_by_slot,
    joined_names,
    large_names,
    name_slices,
)
from meshwright.pipeline.dataset.relation import key_blocks
from meshwright.pipeline.dataset.write import (
    RECORDS_IN_A_PART,
    Aside,
    Target,
    add_records,
    check_written,
    id_ranges,
    list_targets,
)
from meshwright.pipeline.readers.rows import NO_SEQUENCE
from meshwright.store.dataset_parts import BYTES_AT_ONCE, new_part
from meshwright.store.tables import ROWS_AT_ONCE
from meshwright.store.traffic import CHANNELS, RATES, TABLES

COUNTS = ("messages", "bytes")
SUMS = "part int, keys binary, given long, messages binary, bytes binary"
ASKED = "slot int, part int, kind int, ids binary, publishers binary, messages binary, bytes binary"
PIECES = (
    "target int, first long, kind int, keys binary, ids binary, names binary, publishers binary, "
    "messages binary, bytes binary, records binary"
)
"""What a file is made of: sums by key, and names by id; or channels in order; or records."""
WRITTEN = "target int, rows long"


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums by publisher and channel in parts, and the names of both."""

    names: Numbered
    flow: Flow
    parts: int
    rows: int
    """The number of pairs of publisher and channel."""


def sum_messages(blocks: Flow, names: Numbered, shares: int, messages: int) -> Sums:
    """Add up the messages of all blocks by publisher and channel."""
    publishers = max(names.counts["nodes"], 1)
    width = nodes_in_a_part(publishers, messages)
    parts = -(-publishers // width)
    coded = blocks.select("share", "chunk", "block", "node_codes", "topic_codes", "sequences")
    ranks = names.flow.select("slot", "share", "block", "kind", "codes", "ranks", having="block")
    summed = (
        coded.union(ranks)
        .exchange(shares, "share", "block")
        .map(partial(sum_blocks, names.offsets, width), SUMS)
    )
    flow = summed.exchange(parts, "part").map(add_parts, SUMS).keep()
    found = flow.map(_count_rows, "given long, rows long").collect()
    if sum(row.given for row in found) != messages:
        flow.release()
        raise InputError("the sources changed while they were read: run this again")
    return Sums(names, flow, parts, sum(row.rows for row in found))


def _count_rows(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [len(cell_array(cell, "<i8")) for cell in batch.column("keys")]
        yield make_batch("given long, rows long", given=batch.column("given").to_pylist(), rows=rows)


def add_up(
    keys: NDArray[np.int64], columns: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the distinct keys in order, and for each the sums of the columns."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    begins = np.flatnonzero(np.diff(keys, prepend=-1) != 0)
    if not len(begins):
        return keys, [column[:0] for column in columns]
    return keys[begins], [np.add.reduceat(column[order], begins) for column in columns]


def sum_blocks(offsets: NDArray[np.int64], width: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Add up the messages of each block by key: publisher · 2³² + channel."""
    for block, keys in key_blocks(offsets, batches):
        sizes = np.zeros(len(keys), dtype=np.int64)
        if block["sequences"].is_valid:
            stated = cell_array(block["sequences"], "<i8")
            sizes = np.where(stated == NO_SEQUENCE, 0, stated)
        found, sums = add_up(keys, [np.ones(len(keys), dtype=np.int64), sizes])
        for part, chosen in equal_ranges((found >> 32) // width):
            columns = {name: [values[chosen]] for name, values in zip(COUNTS, sums, strict=True)}
            given = int(columns["messages"][0].sum())
            yield make_batch(SUMS, part=[part], keys=[found[chosen]], given=[given], **columns)


def add_parts(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Add up the sums of all blocks in each part."""
    for rows in rows_by(batches, "part"):
        columns = [
            np.concatenate([cell_array(row[name], "<i8") for row in rows]) for name in ("keys", *COUNTS)
        ]
        keys, sums = add_up(columns[0], columns[1:])
        named = {name: [values] for name, values in zip(COUNTS, sums, strict=True)}
        yield make_batch(
            SUMS, part=[rows[0]["part"].as_py()], keys=[keys], given=[int(sums[0].sum())], **named
        )


def write_sums(place: str, sums: Sums, blocks: Flow, aside: Aside, seconds: float) -> None:
    """Write the tables of a traffic folder."""
    names = sums.names
    parts = {"rates": sums.parts, "channels": max(-(-names.counts["topics"] // NAMES_IN_A_PART), 1)}
    if aside.records:
        parts["quarantine"] = -(-aside.records // RECORDS_IN_A_PART)
    for kind in parts:
        (Path(place) / kind).mkdir()
    targets, firsts = list_targets(parts)
    asked = sums.flow.map(partial(ask_names, names.offsets, names.slots["topics"]), ASKED)
    named = names.flow.select("slot", "first", "names", having="names")
    answers = (
        asked.union(named)
        .exchange(len(names.offsets), "slot")
        .map(partial(answer_names, names.offsets, names.slots["topics"], sums.parts), PIECES)
    )
    pieces = sums.flow.map(_as_pieces, PIECES).union(answers)
    pieces = add_records(pieces, blocks, aside, firsts.get("quarantine", 0))
    written = pieces.exchange(len(targets), "target", "first").map(
        partial(write_files, place, targets, seconds), WRITTEN
    )
    rows = dict.fromkeys(parts, 0)
    for row in written.collect():
        rows[targets[row.target].kind] += row.rows
    expected = {"rates": sums.rows, "channels": names.counts["topics"], "quarantine": aside.records}
    check_written(place, targets, rows, expected)


def _as_pieces(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Send the sums of each part to its file."""
    for row in each_row(batches):
        columns = {name: [cell_array(row[name], "<i8")] for name in ("keys", *COUNTS)}
        yield make_batch(PIECES, target=[row["part"].as_py()], first=[-1], **columns)


def ask_names(offsets: NDArray[np.int64], topic_slot: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Ask for the names of the publishers and channels of each part; say what the part adds to channels."""
    for row in each_row(batches):
        part = row["part"].as_py()
        keys, *counts = (cell_array(row[name], "<i8") for name in ("keys", *COUNTS))
        channels, sums = add_up(keys & 0xFFFFFFFF, [np.ones(len(keys), dtype=np.int64), *counts])
        for kind, ids in enumerate((np.unique(keys >> 32), channels)):
            for slot, chosen in ids_by_slot(offsets, topic_slot, kind, ids):
                more = zip(("publishers", *COUNTS), sums, strict=True) if kind else ()
                columns = {name: [values[chosen]] for name, values in more}
                yield make_batch(ASKED, slot=[slot], part=[part], kind=[kind], ids=[ids[chosen]], **columns)


def answer_names(
    offsets: NDArray[np.int64], topic_slot: int, first_channels: int, batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Answer each part with the names of its ids; add up the channels, and send them to their files."""
    for rows in rows_by(batches, "slot"):
        slot = rows[0]["slot"].as_py()
        offset = int(offsets[slot])
        names = joined_names(rows)
        asked = [row for row in rows if row["ids"].is_valid]
        for row in asked:
            ids = cell_array(row["ids"], "<i8")
            wanted = names.take(from_numpy(ids - offset)).combine_chunks()
            for begin, end in name_slices(wanted):
                yield make_batch(
                    PIECES,
                    target=[row["part"].as_py()],
                    first=[begin],
                    kind=[row["kind"].as_py()],
                    ids=[ids[begin:end]],
                    names=[pack_names(wanted[begin:end].cast(pa.string()))],
                )
        if slot >= topic_slot:
            yield from _sum_channels(asked, names, offset, first_channels)


def _sum_channels(
    asked: Sequence[Mapping[str, Any]], names: pa.ChunkedArray, offset: int, first_target: int
) -> Iterator[pa.RecordBatch]:
    """Yield the sums of the channels of a part of names, cut at the ranges of the files."""
    sums = {name: np.zeros(len(names), dtype=np.int64) for name in ("publishers", *COUNTS)}
    for row in asked:
        places = cell_array(row["ids"], "<i8") - offset
        for name, total in sums.items():
            total[places] += cell_array(row[name], "<i8")  # the ids of one part are distinct
    for begin, end in id_ranges(offset, offset + len(names), NAMES_IN_A_PART):
        piece = names[begin - offset : end - offset].combine_chunks()
        for low, high in name_slices(piece):
            first = begin + low
            columns = {name: [total[first - offset : begin + high - offset]] for name, total in sums.items()}
            yield make_batch(
                PIECES,
                target=[first_target + begin // NAMES_IN_A_PART],
                first=[first],
                names=[pack_names(piece[low:high].cast(pa.string()))],
                **columns,
            )


def write_files(
    place: str, targets: Sequence[Target], seconds: float, batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Write files from their pieces."""
    for rows in rows_by(batches, "target"):
        number = rows[0]["target"].as_py()
        target = targets[number]
        with new_part(place, target.kind, target.number, TABLES[target.kind]) as writer:
            if target.kind == "rates":
                for table in rate_tables(rows, seconds):
                    writer.add_group(table)
            elif target.kind == "channels":
                for row in rows:
                    writer.add_records(_channel_table(row, seconds))
            else:
                for row in rows:
                    writer.add_records(unpack(row["records"].as_buffer()))
        yield make_batch(WRITTEN, target=[number], rows=[writer.rows])


def _figures(row: Mapping[str, Any], seconds: float) -> list[pa.Array]:
    messages, size = (cell_array(row[name], "<i8") for name in COUNTS)
    return [from_numpy(column) for column in (messages, size, messages / seconds, size / seconds)]


def _channel_table(row: Mapping[str, Any], seconds: float) -> pa.Table:
    names = cell_names(row["names"])
    publishers = from_numpy(cell_array(row["publishers"], "<i8"))
    return pa.table([names, publishers, *_figures(row, seconds)], schema=CHANNELS)


def rate_tables(rows: Sequence[Mapping[str, Any]], seconds: float) -> Iterator[pa.Table]:
    """Yield the rows of a part with names, in tables of a bounded number of rows and of bytes of names."""
    [sums] = [row for row in rows if row["keys"].is_valid]
    keys = cell_array(sums["keys"], "<i8")
    columns, sizes = [], np.zeros(len(keys), dtype=np.int64)
    for kind, ids in enumerate((keys >> 32, keys & 0xFFFFFFFF)):
        answers = [row for row in rows if row["kind"].as_py() == kind]
        known = np.concatenate([cell_array(row["ids"], "<i8") for row in answers])
        names = large_names(answers).combine_chunks()
        order = np.argsort(known)
        places = order[np.searchsorted(known[order], ids)]
        sizes += np.diff(name_buffers(names)[0])[places]
        columns.append((names, places))
    figures = _figures(sums, seconds)
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(keys):
        before = int(ends[begin - 1]) if begin else 0
        end = min(int(np.searchsorted(ends, before + BYTES_AT_ONCE)) + 1, begin + ROWS_AT_ONCE, len(keys))
        texts = [names.take(from_numpy(places[begin:end])).cast(pa.string()) for names, places in columns]
        yield pa.table([*texts, *(figure[begin:end] for figure in figures)], schema=RATES)
        begin = end
