"""The relation of all blocks: pairs of ids in order, folded and without duplicates; made on the executors.

1. Each block gives its rows the ids of their names, and sends each row to the part of its node.
2. Each part puts the events of a node and topic in order, drops what is superseded and repeated, and keeps
   the rest as one piece: how many topics each of its nodes has, and which.
3. Names that only superseded rows have are dropped, and the others are numbered again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrays import MOST_SUBSCRIPTIONS
from meshwright.errors import InputError
from meshwright.pipeline.dataflow import Batches, Flow, cell_array, each_row, make_batch, rows_by
from meshwright.pipeline.dataset.blocks import STAMPS, join_stamps
from meshwright.pipeline.dataset.name_ranks import (
    NUMBERED,
    Numbered,
    count_parts,
    equal_ranges,
    ids_by_slot,
    joined_names,
    slice_names,
)

ROWS_IN_A_PART = 1 << 20
"""One task sorts about this many rows."""
PART = "part int, share long, chunk long, keys binary, times binary, sequences binary, leaves binary"
PIECE = "part int, standing long, given long, kept long, sizes binary, topics binary"
USED = "slot int, share long, kind int, codes binary"


@dataclass(frozen=True, eq=False)
class Relation:
    """The numbered names, the pieces of the relation, and its counts."""

    names: Numbered
    pieces: Flow
    kept: int
    given: int
    """The number of rows, with those that are repeated or superseded."""
    standing: int
    """The number of rows that are kept or repeat one that is."""
    parts: int

    def release(self) -> None:
        """Free names and pieces."""
        self.names.flow.release()
        self.pieces.release()


def relate(
    blocks: Flow, names: Numbered, shares: int, rows: int, *, folds: bool, as_of: float | None, cores: int
) -> Relation:
    """Return the relation of all blocks; with `folds`, rows are events."""
    nodes = max(names.counts["nodes"], 1)
    width = min(nodes * ROWS_IN_A_PART // max(rows, 1), -(-nodes // cores) if rows > 1 << 16 else nodes)
    width = 1 << max(width.bit_length() - 1, 0) if width < nodes else nodes
    coded = blocks.select("share", "chunk", "block", "node_codes", "topic_codes", *STAMPS)
    ranks = names.flow.select("slot", "share", "block", "kind", "codes", "ranks", having="block")
    number = partial(number_blocks, names.offsets, width, folds)
    parts = -(-nodes // width)
    split = coded.union(ranks).exchange(shares, "share", "block").map(number, PART)
    merge = partial(merge_parts, as_of)
    pieces = split.exchange(parts, "part", "share", "chunk").map(merge, PIECE).keep()
    given = kept = standing = 0
    for piece in pieces.select("given", "kept", "standing").collect():
        given, kept, standing = given + piece.given, kept + piece.kept, standing + piece.standing
    if given != rows:
        pieces.release()
        raise InputError(
            f"the sources changed while they were read ({rows} rows, then {given}): run this again"
        )
    if kept > MOST_SUBSCRIPTIONS:
        pieces.release()
        raise InputError(
            f"{kept} subscriptions are more than {MOST_SUBSCRIPTIONS} (2³¹ − 1): "
            "sample the data, or split it by topic"
        )
    return Relation(names, pieces, kept, given, standing, parts)


def number_blocks(
    offsets: NDArray[np.int64], width: int, folds: bool, batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Give the rows of blocks the ids of their names; yield keys node · 2³² + topic, by part."""
    for block, keys in key_blocks(offsets, batches):
        yield from _split(block, keys, (keys >> 32) // width, folds)


def key_blocks(
    offsets: NDArray[np.int64], batches: Batches
) -> Iterator[tuple[dict[str, Any], NDArray[np.int64]]]:
    """Yield blocks with the keys of their rows, from the ranks of their names."""
    for rows in rows_by(batches, "block"):
        ids = {}
        for kind in (0, 1):
            answers = [row for row in rows if row["kind"].as_py() == kind]
            size = sum(len(cell_array(row["codes"], "<i4")) for row in answers)
            ids[kind] = np.full(size, -1, dtype=np.int64)
            for row in answers:
                ids[kind][cell_array(row["codes"], "<i4")] = offsets[row["slot"].as_py()] + cell_array(
                    row["ranks"], "<i4"
                )
        for block in (row for row in rows if row["kind"].as_py() is None):
            codes = [cell_array(block[name], "<i4") for name in ("node_codes", "topic_codes")]
            if any(len(ids[kind]) <= codes[kind].max(initial=-1) for kind in (0, 1)):
                raise InputError("the sources changed while they were read: run this again")
            keys = ids[0][codes[0]]
            keys <<= 32
            keys += ids[1][codes[1]]
            yield block, keys


def _split(
    block: Mapping[str, Any], keys: NDArray[np.int64], part_of: NDArray[np.int64], folds: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a block by part; events keep their order."""
    stamps = {name: block[name] for name in STAMPS if folds and block[name].is_valid}
    order = np.argsort(part_of, kind="stable") if folds else np.argsort(keys)
    keys, part_of = keys[order], part_of[order]
    columns = {name: cell_array(cell, STAMPS[name][0])[order] for name, cell in stamps.items()}
    for part, chosen in equal_ranges(part_of):
        yield make_batch(
            PART,
            part=[part],
            share=[block["share"].as_py()],
            chunk=[block["chunk"].as_py()],
            keys=[keys[chosen].astype("<i8", copy=False)],
            **{name: [values[chosen]] for name, values in columns.items()},
        )


def merge_parts(as_of: float | None, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Merge the rows of each part into one piece."""
    for rows in rows_by(batches, "part"):
        given_keys = [cell_array(row["keys"], "<i8") for row in rows]
        keys = np.concatenate(given_keys)
        stamps = {}
        for name, (kind, _) in STAMPS.items():
            given = [cell_array(row[name], kind) if row[name].is_valid else None for row in rows]
            stamps[name] = join_stamps(name, given, list(map(len, given_keys)))
        standing = fold_events(keys, **stamps, as_of=as_of)
        kept = np.sort(standing)
        kept = kept[np.diff(kept, prepend=-1) > 0]
        nodes, topics = kept >> 32, (kept & 0xFFFFFFFF).astype("<i4")
        found, sizes = np.unique(nodes, return_counts=True)
        yield make_batch(
            PIECE,
            part=[rows[0]["part"].as_py()],
            standing=[len(standing)],
            given=[len(keys)],
            kept=[len(kept)],
            sizes=[np.stack((found, sizes)).astype("<i4")],
            topics=[topics],
        )


def fold_events(
    keys: NDArray[np.int64],
    times: NDArray[np.float64] | None,
    sequences: NDArray[np.int64] | None,
    leaves: NDArray[np.int8] | None,
    as_of: float | None = None,
) -> NDArray[np.int64]:
    """Return the keys of the rows that stand: the subscribes after the last unsubscribe of their key.

    Events are ordered by time, then sequence, then position. Rows without a time come first. With `as_of`,
    later rows do not count.
    """
    if as_of is not None and times is not None:
        seen = ~(times > as_of)
        keys, times = keys[seen], times[seen]
        sequences = None if sequences is None else sequences[seen]
        leaves = None if leaves is None else leaves[seen]
    if leaves is None or not (leaves == 1).any():
        return keys
    # Sorts are stable, and the last one counts most.
    order = np.arange(len(keys))
    if sequences is not None:
        order = np.argsort(sequences, kind="stable")
    if times is not None:
        stamps = np.where(np.isnan(times), -np.inf, times)
        order = order[np.argsort(stamps[order], kind="stable")]
    order = order[np.argsort(keys[order], kind="stable")]
    keys, ends = keys[order], leaves[order] == 1
    begins = np.flatnonzero(np.diff(keys, prepend=-1) != 0)
    last = np.maximum.reduceat(np.where(ends, np.arange(len(keys)), -1), begins)
    lengths = np.diff(np.append(begins, len(keys)))
    return keys[np.arange(len(keys)) > np.repeat(last, lengths)]


def drop_unused(relation: Relation) -> Relation:
    """Drop the names that no kept row has, and give the others new ids."""
    names = relation.names
    slots = len(names.offsets)
    used = relation.pieces.select("part", "sizes", "topics").map(
        partial(find_used, names.offsets, names.slots["topics"]), USED
    )
    named = names.flow.select("slot", "first", "names", having="names")
    ranked = used.union(named).exchange(slots, "slot").map(partial(rank_used, names.offsets), NUMBERED).keep()
    again = count_parts(ranked, names.slots, slots)
    answers = ranked.select("slot", "share", "kind", "codes", "ranks", having="ranks")
    pieces = relation.pieces.map(_with_share, f"{PIECE}, share long").union(answers)
    renumbered = pieces.exchange(relation.parts, "share").map(partial(renumber, again.offsets), PIECE).keep()
    made = Relation(again, renumbered, relation.kept, relation.given, relation.standing, relation.parts)
    # Compute the pieces before what they are made of is freed.
    found = sum(piece.kept for piece in renumbered.select("kept").collect())
    relation.release()
    if found != relation.kept:
        raise InputError("the sources changed while they were read: run this again")
    return made


def _with_share(batches: Batches) -> Batches:
    for batch in batches:
        shares = batch.column("part").cast(pa.int64())
        yield pa.record_batch([*batch.columns, shares], [*batch.schema.names, "share"])


def find_used(offsets: NDArray[np.int64], topic_slot: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the ids that the rows of each piece have, by the part of names that they belong to."""
    for row in each_row(batches):
        nodes = cell_array(row["sizes"], "<i4").reshape(2, -1)[0]
        topics = np.unique(cell_array(row["topics"], "<i4"))
        for kind, ids in enumerate((nodes, topics)):
            for slot, chosen in ids_by_slot(offsets, topic_slot, kind, ids):
                codes = ids[chosen].astype("<i4")
                yield make_batch(USED, slot=[slot], share=[row["part"].as_py()], kind=[kind], codes=[codes])


def rank_used(offsets: NDArray[np.int64], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Rank the names of each part that some piece uses; answer each piece with the ranks of its ids."""
    for rows in rows_by(batches, "slot"):
        slot = rows[0]["slot"].as_py()
        offset = int(offsets[slot])
        asked = [row for row in rows if row["codes"].is_valid]
        ids = [cell_array(row["codes"], "<i4") for row in asked]
        used = np.unique(np.concatenate(ids)) if ids else np.zeros(0, dtype=np.int32)
        every = joined_names(rows)
        yield make_batch(NUMBERED, slot=[slot], total=[len(used)])
        for row, of_row in zip(asked, ids, strict=True):
            yield make_batch(
                NUMBERED,
                slot=[slot],
                share=[row["share"].as_py()],
                kind=[row["kind"].as_py()],
                codes=[of_row],
                ranks=[np.searchsorted(used, of_row).astype("<i4")],
            )
        if len(used):
            yield from slice_names(slot, every.take(pa.array(used - offset)).combine_chunks())


def renumber(offsets: NDArray[np.int64], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Give the nodes and topics of each piece their new ids."""
    for rows in rows_by(batches, "share"):
        old, new = {}, {}
        for kind in (0, 1):
            answers = [row for row in rows if row["kind"].is_valid and row["kind"].as_py() == kind]
            ids = np.concatenate([np.zeros(0, "<i4"), *(cell_array(row["codes"], "<i4") for row in answers)])
            ranks = [offsets[row["slot"].as_py()] + cell_array(row["ranks"], "<i4") for row in answers]
            order = np.argsort(ids)
            old[kind], new[kind] = ids[order], np.concatenate([np.zeros(0, np.int64), *ranks])[order]
        for piece in (row for row in rows if row["sizes"].is_valid):
            nodes, sizes = cell_array(piece["sizes"], "<i4").reshape(2, -1)
            topics = cell_array(piece["topics"], "<i4")
            renamed = [new[kind][np.searchsorted(old[kind], ids)] for kind, ids in enumerate((nodes, topics))]
            yield make_batch(
                PIECE,
                **{name: [piece[name].as_py()] for name in ("part", "standing", "given", "kept")},
                sizes=[np.stack((renamed[0], sizes)).astype("<i4")],
                topics=[renamed[1].astype("<i4")],
            )
