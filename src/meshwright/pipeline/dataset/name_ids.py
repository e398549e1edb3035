"""Names of a dataset on the executors: the ids of given names, and the names of given ids.

The driver knows how many names each row group has, from the metadata of the files. It receives samples and
the answers to questions about few names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import from_numpy, to_numpy
from meshwright.pipeline.dataflow import (
    Flow,
    cell_array,
    each_number,
    each_row,
    make_batch,
    numbers,
    rows_by,
)
from meshwright.pipeline.dataset.blocks import (
    cell_names,
    pack,
    pack_names,
    sample_names,
    unpack,
    unpack_names,
)
from meshwright.pipeline.dataset.name_ranks import BYTES_IN_A_PART, cut_at, large_names
from meshwright.store.dataset_parts import NAMES
from meshwright.store.datasets import read_name_group
from meshwright.store.tables import RowGroup, row_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from meshwright.pipeline.dataflow import Batches

ASKED = "share long, names binary, samples binary, size long"
"""Names in shares, and some of them as samples."""
CUT = "slot int, base long, share long, codes binary, names binary"
IDS = "share long, codes binary, ids binary"
"""By share: the positions of names, and their ids; −1 for unknown names."""
FOUND = "ids binary, names binary"


def ask(share: int, names: pa.Array) -> pa.RecordBatch:
    """Return a share of names as one record."""
    samples = pack(pa.table({"names": sample_names(names)}))
    return make_batch(
        ASKED, share=[share], names=[pack_names(names)], samples=[samples], size=[int(names.nbytes)]
    )


def read_named(pieces: Sequence[RowGroup], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Read row groups of names as shares, on an executor."""
    for number in each_number(batches):
        yield ask(number, read_name_group(pieces[number]))


def find_ids(spark: SparkSession | None, asked: Flow, folder: str, cores: int) -> Flow:
    """Return the ids that names have in a table of names.

    Both are cut at the same few names, so that one task has all names of a range.
    """
    pieces = row_groups(folder, NAMES)
    known = numbers(spark, len(pieces)).map(partial(read_named, pieces), ASKED)
    seen = [row for flow in (asked, known) for row in flow.select("samples", "size").collect()]
    samples = {name for row in seen for name in unpack(row.samples).column("names").to_pylist()}
    found = sorted(samples, key=str.encode)
    size = sum(row.size for row in seen)
    parts = max(-(-size // BYTES_IN_A_PART), cores if size > 1 << 20 else 1)
    places = np.unique(np.arange(1, parts) * len(found) // parts)
    cuts = [found[place] for place in places]
    bases = [piece.begin for piece in pieces]
    cut = known.select("share", "names").map(partial(cut_names, cuts, bases), CUT)
    cut = cut.union(asked.select("share", "names").map(partial(cut_names, cuts, None), CUT))
    return cut.exchange(len(cuts) + 1, "slot", "share").map(answer_ids, IDS)


def cut_names(cuts: Sequence[str], bases: Sequence[int] | None, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Cut shares of names at the same names; `bases` has the first id of each share of known names."""
    for row in each_row(batches):
        share = row["share"].as_py()
        base = None if bases is None else bases[share]
        for part, codes, names in cut_at(cuts, cell_names(row["names"])):
            yield make_batch(CUT, slot=[part], base=[base], share=[share], codes=[codes], names=[names])


def answer_ids(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Find the ids of the names that were asked for, in each range of names."""
    for rows in rows_by(batches, "slot"):
        known = [row for row in rows if row["base"].is_valid]
        names = large_names(known)
        ids = [row["base"].as_py() + cell_array(row["codes"], "<i4").astype(np.int64) for row in known]
        of_name = np.concatenate([np.zeros(0, np.int64), *ids, [-1]])  # the last one is for unknown names
        for row in rows:
            if row["base"].is_valid:
                continue
            asked = cell_names(row["names"]).cast(pa.large_string())
            places = to_numpy(pc.fill_null(pc.index_in(asked, value_set=names), len(of_name) - 1))
            yield make_batch(
                IDS,
                share=[row["share"].as_py()],
                codes=[cell_array(row["codes"], "<i4")],
                ids=[of_name[places].astype("<i8")],
            )


def names_of(spark: SparkSession | None, folder: str, ids: NDArray[np.int64]) -> pa.Array:
    """Return the names of ids, ascending and not too many; executors read only row groups that have them."""
    pieces = row_groups(folder, NAMES)
    bases = np.array([piece.begin for piece in pieces])
    needed = np.unique(np.searchsorted(bases, ids, side="right") - 1).tolist() if len(ids) else []
    chosen = [pieces[number] for number in needed]
    rows = (
        numbers(spark, len(chosen)).map(partial(take_names, chosen, ids), FOUND).collect() if chosen else []
    )
    found = {int(np.frombuffer(row.ids, "<i8")[0]): row for row in rows}
    parts = [unpack_names(found[first].names).cast(pa.large_string()) for first in sorted(found)]
    return pa.chunked_array(parts, pa.large_string()).combine_chunks().cast(pa.string())


def take_names(
    pieces: Sequence[RowGroup], ids: NDArray[np.int64], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Take the names of ids from row groups, on an executor."""
    for number in each_number(batches):
        names, base = read_name_group(pieces[number]), pieces[number].begin
        chosen = ids[(ids >= base) & (ids < base + len(names))]
        if len(chosen):
            taken = names.take(from_numpy(chosen - base))
            yield make_batch(FOUND, ids=[chosen.astype("<i8")], names=[pack_names(taken)])


def ids_of(spark: SparkSession | None, folder: str, names: Sequence[str]) -> list[int]:
    """Return the ids of a few names, −1 for unknown ones; executors look for them."""
    pieces = row_groups(folder, NAMES)
    rows = numbers(spark, len(pieces)).map(partial(_look_for, pieces, list(names)), "place long, id long")
    found = {row.place: row.id for row in rows.collect()}
    return [found.get(place, -1) for place in range(len(names))]


def _look_for(pieces: Sequence[RowGroup], names: list[str], batches: Batches) -> Iterator[pa.RecordBatch]:
    for number in each_number(batches):
        places = pc.index_in(pa.array(names, pa.string()), value_set=read_name_group(pieces[number]))
        found = [(at, place) for at, place in enumerate(places.to_pylist()) if place is not None]
        if found:
            yield make_batch(
                "place long, id long",
                place=[at for at, _ in found],
                id=[pieces[number].begin + place for _, place in found],
            )
