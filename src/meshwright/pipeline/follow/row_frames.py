"""Rows as a table of Spark: one row for each record, for steps that Spark itself computes.

| columns | meaning |
| --- | --- |
| `source`, `block`, `place` | where the record is: file, first byte of its stretch, place in it from 0 |
| `node`, `topic` | names |
| `time`, `sequence` | order of events; null if the record does not state them |
| `leaves` | true for an unsubscribe, false for a subscribe, null for a record without an operation |
| `line`, `record`, `reason` | of bad records: the line in the file, the text, and why it cannot be used |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from meshwright.errors import hide_secrets
from meshwright.pipeline.dataflow import Batches, each_number, make_batch
from meshwright.pipeline.readers import text
from meshwright.pipeline.readers.rows import NO_SEQUENCE, Rows
from meshwright.pipeline.readers.shares import cut_shares, read_share
from meshwright.pipeline.readers.sources import SourceFile, Stretch, share_bytes
from meshwright.store.dataset_parts import QUARANTINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.formats import Reading

SCHEMA = (
    "source string, block long, place long, node string, topic string, time double, sequence long, "
    "leaves boolean, line long, record string, reason string"
)


def read_rows(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of files, good and bad, by the reader of their format.

    Raises
    ------
    InputError
        If a file has a compression that cannot be read, or lacks a column.
    FormatError
        If a file is not of the format.
    """
    cut = cut_shares(files, reading, share_bytes(spark))
    return spark.range(0, len(cut), 1, max(len(cut), 1)).mapInArrow(partial(_read, cut, reading), SCHEMA)


def _read(cut: Sequence[Sequence[Stretch]], reading: Reading, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Read the shares with the given numbers, on an executor."""
    for number in each_number(batches):
        for rows in read_share(cut[number], reading, {}):
            if len(rows.node):
                yield _good(rows)
            if rows.bad.places:
                yield _bad(rows)


def _good(rows: Rows) -> pa.RecordBatch:
    """Return the good rows as a batch; their places are numbers that keep their order."""
    count = len(rows.node)
    columns: dict[str, Any] = {
        "source": pa.repeat(hide_secrets(rows.stretch.path), count),
        "block": pa.repeat(rows.stretch.begin, count),
        "place": pa.array(rows.places),
        "node": rows.node.cast(pa.string()),
        "topic": rows.topic.cast(pa.string()),
    }
    if rows.time is not None:
        columns["time"] = pa.array(rows.time, mask=np.isnan(rows.time))
    if rows.sequence is not None:
        columns["sequence"] = pa.array(rows.sequence, mask=rows.sequence == NO_SEQUENCE)
    if rows.leaves is not None:
        columns["leaves"] = pa.array(rows.leaves == 1, mask=rows.leaves < 0)
    return make_batch(SCHEMA, **columns)


def _bad(rows: Rows) -> pa.RecordBatch:
    """Return the bad records as a batch, with their lines in the file."""
    count = len(rows.bad.places)
    before = lines_before(rows.stretch)
    return make_batch(
        SCHEMA,
        source=[hide_secrets(rows.stretch.path)] * count,
        block=[rows.stretch.begin] * count,
        place=rows.bad.places,
        line=[before + place + 1 for place in rows.bad.places],
        record=rows.bad.records,
        reason=rows.bad.reasons,
    )


def lines_before(stretch: Stretch) -> int:
    """Return the number of lines before a stretch, by reading them."""
    if not stretch.begin or stretch.path.lower().endswith(".parquet"):
        return 0
    return sum(len(window) for window in text.windows(stretch._replace(begin=0, end=stretch.begin)))


def quarantine_frame(rows: DataFrame) -> DataFrame:
    """Return the records of bad rows in the order of files and lines."""
    from pyspark.sql import functions as sf

    bad = rows.where(sf.col("reason").isNotNull()).select(*QUARANTINE.names)
    return bad.orderBy("source", "line", "reason")
