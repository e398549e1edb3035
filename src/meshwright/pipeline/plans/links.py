"""The links of a plan as a flow: from this process, or read and numbered on the executors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import to_numpy
from meshwright.errors import first_five
from meshwright.files.header import damaged
from meshwright.files.urls import inside, local_path
from meshwright.overlay import Overlay
from meshwright.pipeline.dataflow import Batches, Flow, cell_array, make_batch, numbers, rows_by, send
from meshwright.pipeline.dataset.blocks import join_names, pack_names, unpack_names
from meshwright.pipeline.dataset.name_ids import ask, find_ids
from meshwright.pipeline.dataset.subscriptions import Subscriptions
from meshwright.pipeline.session.jobs import tasks_at_once
from meshwright.plan_tables import EDGES
from meshwright.store.plan_parts import EDGES_FILE
from meshwright.store.plans import StoredPlan
from meshwright.store.tables import decode_table, open_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINKS = "first long, u binary, v binary, stated binary"
"""Links in order: the rank of the first, the ids of their ends u < v, and what they state to merge."""
CODED = "share long, first long, u binary, v binary, stated binary, names binary, samples binary, size long"
LINKS_AT_ONCE = 1 << 20
IDS_IN_A_SLOT = 1 << 20
"""One task counts the links of this many nodes."""
ENDS = "slot int, keys binary, ends binary"


@dataclass(frozen=True, eq=False)
class Links:
    """The links of a plan, and how many there are."""

    flow: Flow
    count: int


def send_links(spark: SparkSession | None, overlay: Overlay) -> Links:
    """Return the links of an overlay; with a session, they are sent to the cluster."""
    columns = overlay.u, overlay.v, overlay.contribution
    made = []
    for begin in range(0, max(len(overlay), 1), LINKS_AT_ONCE):
        u, v, stated = ([column[begin : begin + LINKS_AT_ONCE].astype("<i4")] for column in columns)
        made.append(make_batch(LINKS, first=[begin], u=u, v=v, stated=stated))
    return Links(send(spark, made, LINKS), len(overlay))


class Piece(NamedTuple):
    """A row group of the links of a plan, and the rank of its first link."""

    file: str
    group: int
    first: int


def read_links(spark: SparkSession | None, stored: StoredPlan, given: Subscriptions) -> Links:
    """Return the links of a plan: executors read them, and find the ids of their ends in the dataset.

    Raises
    ------
    FormatError
        If the file is damaged, or a link names an unknown node.
    """
    assert given.folder is not None
    local = local_path(stored.place)  # executors may have another working directory
    place = os.fspath(stored.place) if local is None else str(Path(local).absolute())
    pieces = list(_pieces(inside(place, EDGES_FILE)))
    coded = numbers(spark, len(pieces)).map(partial(read_pieces, pieces), CODED).keep()
    try:
        ids = find_ids(spark, coded, inside(given.folder, "nodes"), tasks_at_once(spark))
        joined = coded.select("share", "first", "u", "v", "stated", "names").union(ids)
        number = partial(number_links, str(stored.place))
        flow = joined.exchange(len(pieces), "share").map(number, LINKS).keep()
        counted = flow.map(_count_links, "links long").collect()
    finally:
        coded.release()
    return Links(flow, sum(row.links for row in counted))


def _pieces(file: str) -> Iterator[Piece]:
    with open_parquet(file) as parquet:
        metadata, schema = parquet.metadata, parquet.schema_arrow
    wrong = [field.name for field in EDGES if schema.names.count(field.name) != 1]
    wrong = wrong or [field.name for field in EDGES if schema.field(field.name).type != field.type]
    if wrong:
        raise damaged(file, f"no column {first_five(wrong)} of the right type")
    first = 0
    for group in range(metadata.num_row_groups):
        yield Piece(file, group, first)
        first += metadata.row_group(group).num_rows


def read_pieces(pieces: Sequence[Piece], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Read row groups of links, on an executor: the distinct names of their ends, and codes."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            file, group, first = pieces[number]
            table = decode_table(file, EDGES.names, [group]).combine_chunks()
            if any(column.null_count for column in table.columns):
                raise damaged(file, "some links have nulls")
            ranks = np.arange(first, first + table.num_rows)
            if not np.array_equal(to_numpy(table.column("rank")), ranks):
                raise damaged(file, "ranks are not 0, 1, 2 … in order")
            if not pc.all(pc.less(table.column("u"), table.column("v")), min_count=0).as_py():
                raise damaged(file, "not every u < v")
            yield _code(number, first, table)


def _code(number: int, first: int, table: pa.Table) -> pa.RecordBatch:
    ends = [chunk for end in ("u", "v") for chunk in table.column(end).dictionary_encode().chunks]
    names, codes = join_names(ends) if ends else (pa.array([], pa.string()), np.zeros(0, "<i4"))
    u, v = codes.reshape(2, -1)
    asked = ask(number, names)
    return make_batch(
        CODED,
        share=[number],
        first=[first],
        u=[u],
        v=[v],
        stated=[to_numpy(table.column("contribution")).astype("<i4")],
        names=[pack_names(names)],
        samples=[asked.column("samples")[0].as_buffer()],
        size=[asked.column("size")[0].as_py()],
    )


def number_links(path: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Give the ends of links their ids, on an executor."""
    for rows in rows_by(batches, "share"):
        [links] = [row for row in rows if row["first"].is_valid]
        answers = [row for row in rows if row["ids"].is_valid]
        ids = np.full(sum(len(cell_array(row["codes"], "<i4")) for row in answers), -1, dtype=np.int64)
        for row in answers:
            ids[cell_array(row["codes"], "<i4")] = cell_array(row["ids"], "<i8")
        if (ids < 0).any():
            names = unpack_names(links["names"].as_buffer())
            unknown = names.filter(pa.array(ids < 0)).to_pylist()
            raise damaged(path, f"it names the unknown nodes {first_five(unknown)}")
        a, b = (ids[cell_array(links[name], "<i4")] for name in ("u", "v"))
        yield make_batch(
            LINKS,
            first=[links["first"].as_py()],
            u=[np.minimum(a, b).astype("<i4")],
            v=[np.maximum(a, b).astype("<i4")],
            stated=[links["stated"].as_buffer()],
        )


def _count_links(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield make_batch("links long", links=[len(cell_array(cell, "<i4")) for cell in batch.column("u")])


class DegreeCounts(NamedTuple):
    """The highest degree, and the first links that occur twice, as pairs of ids."""

    maximum: int
    twice: list[tuple[int, int]]


def count_degrees(links: Links, nodes: int) -> DegreeCounts:
    """Count the links of every node, by ranges of ids, on the executors."""
    slots = max(-(-nodes // IDS_IN_A_SLOT), 1)
    sent = links.flow.map(send_ends, ENDS).exchange(slots, "slot")
    maximum, twice = 0, []
    for row in sent.map(sum_ends, "most long, twice binary").collect():
        maximum = max(maximum, row.most)
        keys = np.frombuffer(row.twice, "<i8")
        twice += list(zip((keys >> 32).tolist(), (keys & 0xFFFFFFFF).tolist(), strict=True))
    return DegreeCounts(maximum, sorted(twice)[:5])


def send_ends(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Send each link to the range of its first end, and its other end to the range of that."""
    for batch in batches:
        for u, v in zip(batch.column("u"), batch.column("v"), strict=True):
            a, b = (cell_array(cell, "<i4").astype(np.int64) for cell in (u, v))
            for name, values, slot_of in (
                ("keys", (a << 32) + b, a // IDS_IN_A_SLOT),
                ("ends", b, b // IDS_IN_A_SLOT),
            ):
                for slot in np.unique(slot_of).tolist():
                    yield make_batch(ENDS, slot=[slot], **{name: [values[slot_of == slot].astype("<i8")]})


def sum_ends(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Count the links of the nodes in each range; find links that occur twice."""
    for rows in rows_by(batches, "slot"):
        keys, ends = (
            np.concatenate(
                [np.zeros(0, "<i8"), *(cell_array(row[name], "<i8") for row in rows if row[name].is_valid)]
            )
            for name in ("keys", "ends")
        )
        base = rows[0]["slot"].as_py() * IDS_IN_A_SLOT
        degrees = np.bincount(np.concatenate((keys >> 32, ends)) - base, minlength=1)
        keys = np.sort(keys)
        twice = np.unique(keys[1:][keys[1:] == keys[:-1]])[:5]
        yield make_batch("most long, twice binary", most=[int(degrees.max())], twice=[twice.astype("<i8")])
