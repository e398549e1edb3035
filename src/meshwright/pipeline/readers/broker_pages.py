"""Reader of the HTTP pages of brokers: NATS `/connz?subs=detail` and EMQX `/api/v5/subscriptions`.

A broken or missing page is an error; otherwise its subscriptions would be lost silently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from meshwright.errors import FormatError, first_five
from meshwright.pipeline.readers import rows
from meshwright.pipeline.readers.broker_names import is_private, topic_of
from meshwright.pipeline.readers.rows import check_names
from meshwright.pipeline.readers.sources import STRICT, escape_glob
from meshwright.pipeline.session.failures import readable_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession

    from meshwright.pipeline.readers.formats import Reading
    from meshwright.pipeline.readers.sources import SourceFile


NATS_PRIVATE = re.compile(r"(_INBOX|\$JS|\$SYS)(\.|$)")


class Entry(NamedTuple):
    """One subscription, as the page states it."""

    broker: object
    client: object
    filter: object


class Page(NamedTuple):
    """The contents of a page, and its position among all pages."""

    series: str
    """The pages of one series (one NATS server) must be complete."""
    begin: int
    """The first connection of a NATS page; the number of an EMQX page."""
    end: int
    """Where the next page begins."""
    total: int
    """Where the last page ends, according to this page."""
    brokers: list[str]
    entries: list[Entry]


def connz_page(page: dict[str, Any], source: str) -> Page:
    """Return the subscriptions of a connz page, without links between servers and without inboxes."""
    broker = str(
        page.get("server_name") or page.get("server_id") or PurePosixPath(source).name.partition(".")[0]
    )
    begin = _count(page, "offset")
    return Page(
        series=str(page.get("server_id") or broker),
        begin=begin,
        end=begin + len(page["connections"]),
        total=_count(page, "total"),
        brokers=[broker],
        entries=[
            Entry(broker, client, subject)
            for connection in page["connections"]
            if str(connection.get("kind", "Client")).lower() == "client"
            for client in [_client(connection, broker)]
            for subject in _subjects(connection, source)
            if not isinstance(subject, str) or not NATS_PRIVATE.match(subject)
        ],
    )


def emqx_page(page: dict[str, Any], source: str) -> Page:
    """Return the subscriptions of an EMQX page."""
    meta = page.get("meta") or {}
    begin = _count(meta, "page", 1)
    entries = [Entry(entry.get("node"), entry.get("clientid"), entry.get("topic")) for entry in page["data"]]
    return Page(
        series="",
        begin=begin,
        end=begin + 1,
        total=begin + (2 if meta.get("hasnext") else 1),
        brokers=sorted({str(entry.broker) for entry in entries if entry.broker is not None}),
        entries=[
            entry
            for entry in entries
            if not isinstance(entry.filter, str) or not is_private(topic_of(entry.filter))
        ],
    )


class Kind(NamedTuple):
    """A kind of page: how to read it, which list it must have, and where to fetch it."""

    read: Callable[[dict[str, Any], str], Page]
    lists: str
    address: str


CONNZ = Kind(connz_page, "connections", "/connz?subs=detail")
EMQX = Kind(emqx_page, "data", "/api/v5/subscriptions")


def read_page(text: bytes, source: str, kind: Kind) -> Page:
    """Return the page in a file.

    Raises
    ------
    FormatError
        If it is not a complete page of this kind.
    """
    try:
        page = json.loads(text.decode("utf-8-sig"))
        if not isinstance(page, dict) or not isinstance(page.get(kind.lists), list):
            raise ValueError(f"it has no list of {kind.lists}")
        return kind.read(page, source)
    except FormatError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = " ".join(str(error).split())[:100]
        raise FormatError(
            f"{source} is not a complete page of subscriptions ({why}): fetch it again from {kind.address}"
        ) from error


def _count(fields: dict[str, Any], name: str, otherwise: int = 0) -> int:
    """Return a count that a page states."""
    value = fields.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} is {json.dumps(value)}, not a count")
    return value


def _client(connection: dict[str, Any], broker: str) -> object:
    """Return the name of a client; without one, the server and the number that the server gave it."""
    name, number = connection.get("name"), connection.get("cid")
    return name or (None if number is None else f"{broker}/{number}")


def _subjects(connection: dict[str, Any], source: str) -> Iterator[object]:
    """Yield the subjects of a connection, and refuse a page that only counts them."""
    detailed = connection.get("subscriptions_list_detail") or ()
    subjects = [detail["subject"] for detail in detailed] or connection.get("subscriptions_list") or ()
    if not subjects and connection.get("subscriptions"):
        raise FormatError(
            f"{source} counts subscriptions but does not list them: fetch it again from {CONNZ.address}"
        )
    yield from subjects


SPANS = "series string, begin long, end long, total long"


def read_connz(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of NATS connz pages; the pages of each server must cover all its connections."""
    pages = _pages(spark, files)
    spans = _spans(pages, CONNZ)
    for server in sorted({page.series for page in spans}):
        mine = [page for page in spans if page.series == server]
        held, missing = _coverage(mine)
        total = max(page.total for page in mine)
        if held < total:
            raise FormatError(
                f"the pages of NATS server {server} hold {held} of {total} connections: "
                f"add the page that begins with offset={missing}"
            )
    return _page_rows(pages, CONNZ)


def read_emqx(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of EMQX subscription pages; no page may be missing."""
    pages = _pages(spark, files)
    spans = _spans(pages, EMQX)
    numbers = {page.begin for page in spans}
    last = max(page.total for page in spans if page.begin == max(numbers)) - 1
    missing = next((number for number in range(1, last + 1) if number not in numbers), None)
    if missing is not None:
        raise FormatError(f"page {missing} of the EMQX subscriptions is missing: add it, with page={missing}")
    return _page_rows(pages, EMQX)


def _pages(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    """Return each file as one binary value, with its path."""
    from pyspark.sql import functions as sf

    empty = [file.path for file in files if not file.size]
    if empty:
        raise FormatError(f"{first_five(empty)} is empty: fetch the page of subscriptions again")
    paths = [escape_glob(file.path) for file in files]
    return (
        spark.read.options(**STRICT)
        .text(paths, wholetext=True)
        .select(sf.col("value").cast("binary").alias("value"), sf.col("_metadata.file_path").alias("source"))
    )


def _read_pages(batches: Iterator[pa.RecordBatch], kind: Kind) -> Iterator[tuple[str, Page]]:
    """Yield the path and the contents of each page, on an executor."""
    for batch in batches:
        for value, source in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            yield readable_path(source), read_page(value, readable_path(source), kind)


def _spans(pages: DataFrame, kind: Kind) -> list[Row]:
    """Return the position of each page among all pages."""

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _, page in _read_pages(batches, kind):
            columns = {name: [getattr(page, name)] for name in ("series", "begin", "end", "total")}
            yield pa.RecordBatch.from_pydict(columns)

    return pages.mapInArrow(parse, SPANS).collect()


def _coverage(pages: Sequence[Row]) -> tuple[int, int]:
    """Return how many connections the pages cover, and the first one that they miss."""
    held, reached, missing = 0, 0, None
    for page in sorted(pages, key=lambda page: (page.begin, page.end)):
        if page.begin > reached and missing is None:
            missing = reached
        held += max(0, page.end - max(page.begin, reached))
        reached = max(reached, page.end)
    return held, reached if missing is None else missing


def _page_rows(pages: DataFrame, kind: Kind) -> DataFrame:
    """Return the rows of all pages."""

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for source, page in _read_pages(batches, kind):
            yield _records(page, source)
            # A broker without subscriptions is still a node.
            yield rows.batch(len(page.brokers), broker=page.brokers, reason=rows.NO_RECORD)

    return pages.mapInArrow(parse, rows.SCHEMA)


def _records(page: Page, source: str) -> pa.RecordBatch:
    """Return the subscriptions of a page as rows."""
    import pyarrow as pa

    found = [tuple(None if name is None else str(name) for name in entry) for entry in page.entries]
    brokers, clients, held = ([entry[i] for entry in found] for i in range(3))
    topics = [None if name is None else topic_of(name) for name in held]
    records = [json.dumps(entry).encode() for entry in found]
    names = {"node": clients, "topic": topics, "broker": brokers, "held": held}
    return check_names(
        pa.array(records, pa.binary()),
        pa.nulls(len(found), pa.string()),
        source=source,
        block=0,
        place=pa.array(range(len(found)), pa.int64()),
        leaves=False,
        **{name: pa.array(column, pa.string()) for name, column in names.items()},
    )
