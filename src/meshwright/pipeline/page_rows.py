"""Rows of pages as brokers give them over HTTP: NATS `/connz?subs=detail`, EMQX `/api/v5/subscriptions`.

A page is one JSON document a file. A page that is broken, or missing among the others, is an error: it would
mean fewer subscriptions without a word.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from meshwright.errors import FormatError
from meshwright.pipeline import rows
from meshwright.pipeline.brokers import is_private, topic_of
from meshwright.pipeline.checking import checked
from meshwright.pipeline.failures import plain
from meshwright.pipeline.sources import escaped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.options import Reading
    from meshwright.pipeline.sources import SourceFile

Entry: TypeAlias = tuple[object, object, object]
"""Broker, client and filter of one subscription, as the page has them."""


def read_connz(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of NATS connz pages; the pages of each server must cover all its connections."""
    pages = _pages(spark, files)
    told = _fields(pages, server="$.server_id", total="$.total", offset="$.offset", given="$.num_connections")
    for server in sorted({str(page["server"]) for page in told}):
        mine = [page for page in told if page["server"] == server]
        covered = {
            connection
            for page in mine
            for connection in range(
                int(page["offset"] or 0), int(page["offset"] or 0) + int(page["given"] or 0)
            )
        }
        total = max(int(page["total"] or 0) for page in mine)
        if len(covered) < total:
            missing = min(set(range(total)) - covered)
            raise FormatError(
                f"the pages of NATS server {server} hold {len(covered)} of {total} connections: "
                f"add the page that begins with offset={missing}"
            )
    return _parsed(pages, connz_entries)


def read_emqx(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of EMQX subscription pages, of which none may be missing."""
    pages = _pages(spark, files)
    told = _fields(pages, page="$.meta.page", more="$.meta.hasnext")
    numbers = {int(page["page"] or 1): page["more"] == "true" for page in told}
    last = max(numbers)
    missing = [number for number in range(1, last + 1) if number not in numbers] or (
        [last + 1] if numbers[last] else []
    )
    if missing:
        raise FormatError(
            f"page {missing[0]} of the EMQX subscriptions is missing: add it, by page={missing[0]}"
        )
    return _parsed(pages, emqx_entries)


def connz_entries(page: dict[str, Any], source: str) -> Iterator[Entry]:
    """Yield the subscriptions of a connz page; links between servers are not clients."""
    broker = page.get("server_name") or page.get("server_id") or PurePosixPath(source).name.partition(".")[0]
    for connection in page["connections"]:
        if str(connection.get("kind", "Client")).lower() != "client":
            continue
        client = connection.get("name") or connection.get("cid")
        detailed = connection.get("subscriptions_list_detail") or ()
        subjects = [detail["subject"] for detail in detailed] or connection.get("subscriptions_list") or ()
        for subject in subjects:
            yield broker, client, subject


def emqx_entries(page: dict[str, Any], source: str) -> Iterator[Entry]:
    """Yield the subscriptions of an EMQX page."""
    for entry in page["data"]:
        yield entry.get("node"), entry.get("clientid"), entry.get("topic")


def _pages(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    from pyspark.sql import functions as sf

    paths = [escaped(file.path) for file in files]
    return spark.read.text(paths, wholetext=True).select(
        "value", sf.col("_metadata.file_path").alias("source")
    )


def _fields(pages: DataFrame, **paths: str) -> list[dict[str, str | None]]:
    """Return a few fields of each page."""
    from pyspark.sql import functions as sf

    wanted = [sf.get_json_object("value", path).alias(name) for name, path in paths.items()]
    return [row.asDict() for row in pages.select(*wanted).collect()]


def _parsed(pages: DataFrame, entries: Callable[[dict[str, Any], str], Iterator[Entry]]) -> DataFrame:
    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for value, source in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                yield _rows(value, plain(source), entries)

    return pages.mapInArrow(parse, rows.SCHEMA)


def _rows(
    value: str, source: str, entries: Callable[[dict[str, Any], str], Iterator[Entry]]
) -> pa.RecordBatch:
    import pyarrow as pa

    try:
        given = list(entries(json.loads(value), source))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            f"{source} is no whole page of subscriptions ({type(error).__name__}: {str(error)[:80]}): "
            "fetch it again"
        ) from error
    found = [
        tuple(None if name is None else str(name) for name in entry)
        for entry in given
        if not isinstance(entry[2], str) or not is_private(topic_of(entry[2]))
    ]
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
