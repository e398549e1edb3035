"""Blocks: rows as distinct names and integer codes, made on the executors.

A block is one record: its names, two codes for each row, and time, sequence and operation where rows have
them. It also has what the driver needs to know (counts, a few names as samples) and the records that cannot
be used. The key of a block has a hash of its names, so a block that is made again, as a worker was lost,
is joined with the ids of its names only if it has the same names.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from meshwright.fingerprint import name_buffers
from meshwright.pipeline.dataflow import Batches, Flow, SparkFlow, each_number, make_batch, numbers
from meshwright.pipeline.readers.formats import TABLE, Reading
from meshwright.pipeline.readers.parquet_files import batch_rows, check_types
from meshwright.pipeline.readers.rows import NO_SEQUENCE, Bad, Rows, column_roles
from meshwright.pipeline.readers.shares import brokers_of, choose_topics, read_share
from meshwright.pipeline.readers.sources import SourceFile, Stretch
from meshwright.store.row_files import find_column

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession


Codes: TypeAlias = "NDArray[np.int32]"
ROWS_IN_A_BLOCK = 1 << 22
BYTES_IN_A_BLOCK = 1 << 26
"""A block ends when it has this many rows, or this many bytes of names and records."""
SAMPLES = 32
BYTES_OF_SAMPLES = 1 << 17
"""A block gives this many names as samples, unless they are long."""
BLOCK = (
    "share long, chunk long, block string, stats string, samples binary, rows long, nodes binary, "
    "topics binary, node_codes binary, topic_codes binary, times binary, sequences binary, leaves binary, "
    "aside binary"
)
KINDS = ("nodes", "topics")
STAMPS: Mapping[str, tuple[str, float]] = {
    "times": ("<f8", np.nan),
    "sequences": ("<i8", NO_SEQUENCE),
    "leaves": ("i1", -1),
}
"""What orders rows: the type of each column, and its value in rows that do not state it."""
ASIDE = pa.schema(
    {
        "file": pa.int64(),
        "begin": pa.int64(),
        "place": pa.int64(),
        "record": pa.string(),
        "reason": pa.string(),
    }
)


def read_blocks(
    spark: SparkSession | None,
    files: Sequence[SourceFile],
    cut: Sequence[Sequence[Stretch]],
    reading: Reading,
    *,
    change: Callable[[Rows], Rows] | None = None,
) -> Flow:
    """Return the rows of all shares as blocks; `change` is applied to all rows first, on the executors."""
    make = partial(_read_shares, cut, reading, brokers_of(files, reading), change)
    return numbers(spark, len(cut)).map(make, BLOCK)


def _read_shares(
    cut: Sequence[Sequence[Stretch]],
    reading: Reading,
    brokers: dict[str, str],
    change: Callable[[Rows], Rows] | None,
    batches: Batches,
) -> Batches:
    """Read the shares with the given numbers, on an executor."""
    per_file = reading.format == "mosquitto-log"
    for number in each_number(batches):
        rows = read_share(cut[number], reading, brokers)
        yield from make_blocks(number, rows if change is None else map(change, rows), per_file=per_file)


def table_blocks(table: DataFrame, reading: Reading) -> Flow:
    """Return the rows of a table of a Spark session as blocks.

    Raises
    ------
    InputError
        If a column is missing.
    """
    from pyspark.sql import functions as sf

    columns = {}
    for what, column, needed in column_roles(reading):
        if column in table.columns or needed:
            find_column(table.columns, column, source="the table", fix=f"name the right one with {what}=")
            columns[what] = column
    chosen = table.select([sf.col(f"`{column}`").alias(what) for what, column in columns.items()])
    return SparkFlow(chosen).map(partial(_read_table, reading), BLOCK)


def _read_table(reading: Reading, batches: Batches) -> Batches:
    """Turn a partition of a table into blocks, on an executor."""
    from pyspark import TaskContext

    context = TaskContext.get()
    share = 0 if context is None else context.partitionId()
    rows = _table_rows(share, batches)
    yield from make_blocks(share, (choose_topics(each, reading) for each in rows))


def _table_rows(share: int, batches: Batches) -> Iterator[Rows]:
    """Yield the rows of a partition; their places are those in the partition."""
    stretch = Stretch(TABLE, share, share, 0, False)
    place = 0
    for batch in batches:
        columns = {what: what for what in batch.schema.names}
        check_types(batch.schema, columns, "the table")
        yield batch_rows(batch, place, stretch, columns, lines=batch.num_rows)
        place += batch.num_rows


def make_blocks(share: int, given: Iterator[Rows], *, per_file: bool = False) -> Batches:
    """Turn rows into blocks; with `per_file`, no block has rows of two files."""
    block = Block(share, 0)
    for rows in given:
        if block.is_full or (per_file and block.held and block.held[-1].stretch.file != rows.stretch.file):
            yield block.batch()
            block = Block(share, block.chunk + 1)
        block.add(rows)
    if block.held:
        yield block.batch()


@dataclass
class Block:
    """Rows that are held until they are packed as one record."""

    share: int
    chunk: int
    held: list[Rows] = field(default_factory=list)
    rows: int = 0
    size: int = 0

    def add(self, rows: Rows) -> None:
        """Hold further rows."""
        self.held.append(rows)
        self.rows += rows.read
        names = rows.node.dictionary.nbytes + rows.topic.dictionary.nbytes
        self.size += names + sum(map(len, rows.bad.records))

    @property
    def is_full(self) -> bool:
        """Whether the block should be packed."""
        return self.rows >= ROWS_IN_A_BLOCK or self.size >= BYTES_IN_A_BLOCK

    def batch(self) -> pa.RecordBatch:
        """Return the block as one record."""
        names, codes, samples = {}, {}, []
        for kind in KINDS:
            found, places = join_names([getattr(rows, kind[:-1]) for rows in self.held])
            names[kind], codes[kind] = found, places
            samples.append(sample_names(found))
        key = hashlib.sha256()
        for kind in KINDS:
            offsets, content = name_buffers(names[kind])
            key.update(offsets.tobytes())
            key.update(content)
        counts = list(map(len, (rows.node for rows in self.held)))
        stamps = {
            column: join_stamps(column, [getattr(rows, name) for rows in self.held], counts)
            for column, name in zip(STAMPS, ("time", "sequence", "leaves"), strict=True)
        }
        return make_batch(
            BLOCK,
            share=[self.share],
            chunk=[self.chunk],
            block=[f"{self.share}-{self.chunk}-{key.hexdigest()[:16]}"],
            stats=[json.dumps(self._stats(names))],
            samples=[pack(pa.table({"nodes": pa.array([samples[0]]), "topics": pa.array([samples[1]])}))],
            rows=[len(codes["nodes"])],
            nodes=[pack_names(names["nodes"])],
            topics=[pack_names(names["topics"])],
            node_codes=[codes["nodes"]],
            topic_codes=[codes["topics"]],
            **{name: [values] for name, values in stamps.items()},
            aside=[self._aside()],
        )

    def _stats(self, names: dict[str, pa.Array]) -> dict[str, Any]:
        """Return what the driver needs to know about the block."""
        reasons: Counter[str] = Counter()
        cleaned: Counter[str] = Counter()
        stated: Counter[str] = Counter()
        lines: Counter[tuple[int, int]] = Counter()
        first: list[Any] | None = None
        for rows in self.held:
            reasons.update(rows.bad.reasons)
            cleaned.update(rows.cleaned)
            stated.update(rows.stated)
            if not rows.stretch.whole:
                lines[rows.stretch.file, rows.stretch.begin] += rows.lines
            if rows.bad.places and first is None:
                at = int(np.argmin(rows.bad.places))
                first = [rows.stretch.file, rows.stretch.begin, rows.bad.places[at], rows.bad.reasons[at]]
        return {
            "read": sum(rows.read for rows in self.held),
            "bad": sum(reasons.values()),
            "reasons": dict(reasons),
            "cleaned": dict(cleaned),
            "stated": dict(stated),
            "times": self._times(),
            "leaves": any(rows.leaves is not None and bool((rows.leaves == 1).any()) for rows in self.held),
            "lines": [[file, begin, count] for (file, begin), count in lines.items()],
            "first": first,
            "file": self.held[0].stretch.file,
            "names": {kind: [len(found), found.nbytes] for kind, found in names.items()},
        }

    def _times(self) -> list[float] | None:
        """Return the first and the last time of all rows, if any states one."""
        found = [rows.time[~np.isnan(rows.time)] for rows in self.held if rows.time is not None]
        stated = [times for times in found if len(times)]
        if not stated:
            return None
        return [float(min(map(np.min, stated))), float(max(map(np.max, stated)))]

    def _aside(self) -> Any:
        """Return the records that cannot be used as one binary value, in order."""
        tables = [_bad_table(rows.stretch, rows.bad) for rows in self.held if rows.bad.places]
        return pack(pa.concat_tables(tables)) if tables else None


def _bad_table(stretch: Stretch, bad: Bad) -> pa.Table:
    order = np.argsort(bad.places, kind="stable").tolist()
    columns = {
        "file": [stretch.file] * len(order),
        "begin": [stretch.begin] * len(order),
        "place": [bad.places[i] for i in order],
        "record": [bad.records[i] for i in order],
        "reason": [bad.reasons[i] for i in order],
    }
    return pa.table(columns, schema=ASIDE)


def join_stamps(
    name: str, given: Sequence[NDArray[Any] | None], counts: Sequence[int]
) -> NDArray[Any] | None:
    """Return the values of a column of `STAMPS` in several groups of rows; None if no group has any."""
    if all(values is None for values in given):
        return None
    kind, default = STAMPS[name]
    filled = (
        np.full(count, default, kind) if values is None else values.astype(kind, copy=False)
        for values, count in zip(given, counts, strict=True)
    )
    return np.concatenate(list(filled))


def join_names(given: Sequence[pa.DictionaryArray]) -> tuple[pa.Array, Codes]:
    """Return the names that occur in encoded columns, and the codes of all rows."""
    unified = pa.chunked_array(given).unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in unified.chunks]).astype("<i4", copy=False)
    names = unified.chunk(0).dictionary
    used = np.bincount(codes, minlength=len(names)) > 0
    if not used.all():
        names = names.filter(pa.array(used))
        codes = (np.cumsum(used, dtype=np.int32) - 1)[codes].astype("<i4", copy=False)
    return names, codes


def sample_names(names: pa.Array) -> list[str]:
    """Return some names, evenly spaced, as few as their length demands."""
    if not len(names):
        return []
    mean = max(names.nbytes // len(names), 1)
    wanted = int(min(SAMPLES, max(BYTES_OF_SAMPLES // mean, 2), len(names)))
    places = np.linspace(0, len(names) - 1, wanted).astype(np.int64)
    found: list[str] = names.take(pa.array(places)).to_pylist()
    return found


def pack(table: pa.Table | pa.RecordBatch) -> Any:
    """Return a table as one binary value, which is cheap to move."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write(table)
    return sink.getvalue()


def unpack(content: Any) -> pa.Table:
    """Return the table in a binary value."""
    with pa.ipc.open_stream(pa.py_buffer(content)) as stream:
        return stream.read_all()


def pack_names(names: pa.Array) -> Any:
    """Return names as one binary value."""
    return pack(pa.record_batch([names], ["name"]))


def unpack_names(content: Any) -> pa.Array:
    """Return the names in a binary value."""
    column = unpack(content).column(0)
    return column.chunk(0) if column.num_chunks else pa.array([], pa.string())


def cell_names(cell: Any) -> pa.Array:
    """Return the names in a binary cell."""
    return unpack_names(cell.as_buffer())
