"""Writing a dataset: the executors write its parts at fixed ranges of ids, and the driver the manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from meshwright.errors import OutputError
from meshwright.fingerprint import KINDS, fold_digests, part_sizes
from meshwright.pipeline.dataflow import Batches, Flow, cell_array, each_row, make_batch
from meshwright.pipeline.dataset.blocks import cell_names, pack, pack_names, unpack
from meshwright.store.dataset_parts import QUARANTINE, has_part, new_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.pipeline.dataset.relation import Relation

RECORDS_IN_A_PART = 1 << 20
"""A part of the quarantine has this many records."""
PIECES = "target int, first long, sizes binary, topics binary, names binary, records binary"
RECORDS = "target int, first long, records binary"
WRITTEN = "target int, rows long, digest binary"


class Target(NamedTuple):
    """A file to write."""

    kind: str
    number: int


class Aside(NamedTuple):
    """What executors need to number the records of the quarantine."""

    sources: Sequence[str]
    """The paths of all files."""
    lines: Mapping[tuple[int, int], int]
    """By file and first byte of a stretch: the lines before it."""
    ranks: Mapping[tuple[int, int], int]
    """By share and chunk of a block: the records before it in the quarantine."""
    records: int


def write_parts(place: str, relation: Relation, blocks: Flow, aside: Aside, counts: Mapping[str, int]) -> str:
    """Write all parts of a dataset, and return its fingerprint."""
    layout = part_sizes(counts)
    parts = {kind: number for kind, (_, number) in layout.items()}
    parts["quarantine"] = max(-(-aside.records // RECORDS_IN_A_PART), 1)
    targets, firsts = list_targets(parts)
    names = relation.names
    named = names.flow.select("slot", "first", "names", having="names")
    starts = firsts["nodes"], firsts["topics"]
    pieces = named.map(
        partial(cut_names, names.offsets, names.slots["topics"], starts, layout["nodes"][0]), PIECES
    )
    width = layout["subscriptions"][0]
    pairs = relation.pieces.select("sizes", "topics").map(
        partial(cut_pieces, firsts["subscriptions"], width), PIECES
    )
    pieces = add_records(pieces.union(pairs), blocks, aside, firsts["quarantine"])
    written = pieces.exchange(len(targets), "target", "first").map(
        partial(write_targets, place, targets), WRITTEN
    )
    digests: dict[int, bytes] = {}
    rows = dict.fromkeys(parts, 0)
    for row in written.collect():
        digests[row.target] = bytes(row.digest)
        rows[targets[row.target].kind] += row.rows
    for number in sorted(set(range(len(targets))) - set(digests)):
        with new_part(place, *targets[number]) as writer:
            pass  # a table without rows
        digests[number] = writer.digest.digest()
    check_written(place, targets, rows, {**counts, "quarantine": aside.records}, instead=", or a URL")
    return fold_digests(
        counts, {kind: [digests[firsts[kind] + number] for number in range(parts[kind])] for kind in KINDS}
    )


def list_targets(parts: Mapping[str, int]) -> tuple[list[Target], dict[str, int]]:
    """Return the files to write, given how many of each kind there are, and the first of each kind."""
    targets = [Target(kind, number) for kind, many in parts.items() for number in range(many)]
    return targets, {kind: targets.index(Target(kind, 0)) for kind in parts}


def add_records(pieces: Flow, blocks: Flow, aside: Aside, first: int) -> Flow:
    """Return pieces and those of the quarantine, whose files begin with the `first` one."""
    if not aside.records:
        return pieces
    bad = blocks.select("share", "chunk", "aside", having="aside")
    return pieces.union(bad.map(partial(cut_records, first, aside), RECORDS))


def check_written(
    place: str,
    targets: Sequence[Target],
    rows: Mapping[str, int],
    counts: Mapping[str, int],
    *,
    instead: str = "",
) -> None:
    """Check that executors wrote every row, and that this process sees the files.

    `instead` says what else could be chosen, if they wrote the files where this process does not see them.
    """
    wrong = [kind for kind in rows if rows[kind] != counts[kind]]
    if wrong:
        raise AssertionError(
            f"{rows} rows were written, not {dict(counts)}: this is a bug in Meshwright, please report it"
        )
    unseen = [f"{kind}/{number}" for kind, number in targets if not has_part(place, kind, number)]
    if unseen:
        raise OutputError(
            f"workers wrote {len(unseen)} files to {place} that this machine does not see: choose a folder "
            f"that the driver and every worker share{instead}"
        )


def cut_names(
    offsets: NDArray[np.int64], topic_slot: int, starts: tuple[int, int], width: int, batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Cut slices of names at the ranges of ids of the files."""
    for row in each_row(batches):
        slot, names = row["slot"].as_py(), cell_names(row["names"])
        first = int(offsets[slot]) + row["first"].as_py()
        for begin, end in id_ranges(first, first + len(names), width):
            piece = names[begin - first : end - first]
            target = starts[slot >= topic_slot] + begin // width
            yield make_batch(PIECES, target=[target], first=[begin], names=[pack_names(piece)])


def id_ranges(begin: int, end: int, width: int) -> Iterator[tuple[int, int]]:
    """Cut a range at the multiples of a width."""
    while begin < end:
        stop = min((begin // width + 1) * width, end)
        yield begin, stop
        begin = stop


def cut_pieces(start: int, width: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Cut the pieces of the relation at the ranges of nodes of the files."""
    for row in each_row(batches):
        nodes, sizes = cell_array(row["sizes"], "<i4").reshape(2, -1)
        topics = cell_array(row["topics"], "<i4")
        if not len(nodes):
            continue
        first = int(nodes[0])
        ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        for begin, end in id_ranges(first, first + len(nodes), width):
            low, high = begin - first, end - first
            yield make_batch(
                PIECES,
                target=[start + begin // width],
                first=[begin],
                sizes=[np.ascontiguousarray(sizes[low:high])],
                topics=[topics[ends[low] : ends[high]]],
            )


def cut_records(start: int, aside: Aside, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Give the records of the quarantine their sources and lines, and cut them at the ranges of the files."""
    for row in each_row(batches):
        first, made = _number_records(aside, row)
        for begin, end in id_ranges(first, first + made.num_rows, RECORDS_IN_A_PART):
            piece = pack(made[begin - first : end - first].combine_chunks())
            target = start + begin // RECORDS_IN_A_PART
            yield make_batch(RECORDS, target=[target], first=[begin], records=[piece])


def _number_records(aside: Aside, row: Mapping[str, Any]) -> tuple[int, pa.Table]:
    """Return where the records of a block begin in the quarantine, and the records with source and line."""
    sources = pa.array(aside.sources, pa.string())
    table = unpack(row["aside"].as_buffer())
    stretches = zip(table.column("file").to_pylist(), table.column("begin").to_pylist(), strict=True)
    before = np.array([aside.lines.get(stretch, 0) for stretch in stretches], dtype=np.int64)
    lines = table.column("place").to_numpy() + before + 1
    columns = [sources.take(table.column("file").combine_chunks()), pa.array(lines)]
    made = pa.table([*columns, table.column("record"), table.column("reason")], schema=QUARANTINE)
    return aside.ranks[row["share"].as_py(), row["chunk"].as_py()], made


def first_records(blocks: Flow, aside: Aside, count: int) -> list[dict[str, Any]]:
    """Return the first records of the quarantine as the columns of its table."""
    bad = blocks.select("share", "chunk", "aside", having="aside")
    pieces = bad.map(partial(_cut_first, aside, count), RECORDS).collect()
    ordered = sorted(pieces, key=lambda piece: piece.first)
    return [record for piece in ordered for record in unpack(pa.py_buffer(piece.records)).to_pylist()]


def _cut_first(aside: Aside, count: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the records of each block that are among the first of the quarantine."""
    for row in each_row(batches):
        first, made = _number_records(aside, row)
        if first < count:
            records = pack(made[: count - first].combine_chunks())
            yield make_batch(RECORDS, target=[0], first=[first], records=[records])


def write_targets(place: str, targets: Sequence[Target], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Write files from their pieces, which come in order."""
    pieces = each_row(batches)
    piece = next(pieces, None)
    while piece is not None:
        number = piece["target"].as_py()
        kind = targets[number].kind
        with new_part(place, *targets[number]) as writer:
            while piece is not None and piece["target"].as_py() == number:
                _add(writer, kind, piece)
                piece = next(pieces, None)
        yield make_batch(WRITTEN, target=[number], rows=[writer.rows], digest=[writer.digest.digest()])


def _add(writer: Any, kind: str, piece: Mapping[str, Any]) -> None:
    if kind == "subscriptions":
        arrays = (cell_array(piece[name], "<i4") for name in ("sizes", "topics"))
        writer.add_subscriptions(piece["first"].as_py(), *arrays)
    elif kind == "quarantine":
        writer.add_records(unpack(piece["records"].as_buffer()))
    else:
        writer.add_names(piece["first"].as_py(), cell_names(piece["names"]))
