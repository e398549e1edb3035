"""Rows of pages as brokers give them over HTTP: one JSON document a file.

A page that is broken, or missing among the others, is an error: it would mean fewer subscriptions without a
word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from meshwright.errors import FormatError, first_five
from meshwright.pipeline import rows
from meshwright.pipeline.brokers import topic_of
from meshwright.pipeline.checking import checked
from meshwright.pipeline.failures import plain
from meshwright.pipeline.pages import CONNZ, EMQX, Kind, Page, read_page
from meshwright.pipeline.sources import STRICTLY, escaped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession

    from meshwright.pipeline.options import Reading
    from meshwright.pipeline.sources import SourceFile

SPANS = "series string, begin long, end long, total long"


def read_connz(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of NATS connz pages; the pages of each server must cover all its connections."""
    pages = _pages(spark, files)
    told = _spans(pages, CONNZ)
    for server in sorted({page.series for page in told}):
        mine = [page for page in told if page.series == server]
        held, missing = _covered(mine)
        total = max(page.total for page in mine)
        if held < total:
            raise FormatError(
                f"the pages of NATS server {server} hold {held} of {total} connections: "
                f"add the page that begins with offset={missing}"
            )
    return _parsed(pages, CONNZ)


def read_emqx(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of EMQX subscription pages, of which none may be missing."""
    pages = _pages(spark, files)
    told = _spans(pages, EMQX)
    numbers = {page.begin for page in told}
    last = max(page.total for page in told if page.begin == max(numbers)) - 1
    missing = next((number for number in range(1, last + 1) if number not in numbers), None)
    if missing is not None:
        raise FormatError(f"page {missing} of the EMQX subscriptions is missing: add it, by page={missing}")
    return _parsed(pages, EMQX)


def _pages(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    from pyspark.sql import functions as sf

    empty = [file.path for file in files if not file.size]
    if empty:
        raise FormatError(f"{first_five(empty)} is empty, and no page of subscriptions: fetch it again")
    paths = [escaped(file.path) for file in files]
    return (
        spark.read.options(**STRICTLY)
        .text(paths, wholetext=True)
        .select(sf.col("value").cast("binary").alias("value"), sf.col("_metadata.file_path").alias("source"))
    )


def _read(batches: Iterator[pa.RecordBatch], kind: Kind) -> Iterator[tuple[str, Page]]:
    for batch in batches:
        for value, source in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            yield plain(source), read_page(value, plain(source), kind)


def _spans(pages: DataFrame, kind: Kind) -> list[Row]:
    """Return which of all pages each one is."""

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _, page in _read(batches, kind):
            columns = {name: [getattr(page, name)] for name in ("series", "begin", "end", "total")}
            yield pa.RecordBatch.from_pydict(columns)

    return pages.mapInArrow(parse, SPANS).collect()


def _covered(pages: Sequence[Row]) -> tuple[int, int]:
    """Return how many connections pages hold, and the first one that they do not."""
    held, reached, missing = 0, 0, None
    for page in sorted(pages, key=lambda page: (page.begin, page.end)):
        if page.begin > reached and missing is None:
            missing = reached
        held += max(0, page.end - max(page.begin, reached))
        reached = max(reached, page.end)
    return held, reached if missing is None else missing


def _parsed(pages: DataFrame, kind: Kind) -> DataFrame:
    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for source, page in _read(batches, kind):
            yield _records(page, source)
            # A broker without a subscription is a broker too.
            yield rows.batch(len(page.brokers), broker=page.brokers, reason=rows.NO_RECORD)

    return pages.mapInArrow(parse, rows.SCHEMA)


def _records(page: Page, source: str) -> pa.RecordBatch:
    import pyarrow as pa

    found = [tuple(None if name is None else str(name) for name in entry) for entry in page.entries]
    brokers, clients, held = ([entry[i] for entry in found] for i in range(3))
    topics = [None if name is None else topic_of(name) for name in held]
    records = [json.dumps(entry).encode() for entry in found]
    names = {"node": clients, "topic": topics, "broker": brokers, "held": held}
    return checked(
        pa.array(records, pa.binary()),
        pa.nulls(len(found), pa.string()),
        source=source,
        block=0,
        place=pa.array(range(len(found)), pa.int64()),
        leaves=False,
        **{name: pa.array(column, pa.string()) for name, column in names.items()},
    )
