"""Reader of the HTTP pages of brokers: NATS `/connz?subs=detail` and EMQX `/api/v5/subscriptions`.

A broken or missing page is an error; otherwise its subscriptions would be lost silently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from meshwright.errors import FormatError, first_five
from meshwright.filters.mqtt import unshared, why_invalid
from meshwright.pipeline.dataflow import Batches, arrow_schema, each_number, numbers
from meshwright.pipeline.readers.broker_names import is_private, log_files
from meshwright.pipeline.readers.fields import INVALID_FILTER, MISSING, why_unusable
from meshwright.pipeline.readers.rows import Bad, Rows, make_rows
from meshwright.pipeline.readers.text import open_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from meshwright.pipeline.readers.formats import Reading
    from meshwright.pipeline.readers.sources import SourceFile, Stretch


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
            entry for entry in entries if not isinstance(entry.filter, str) or not is_private(entry.filter)
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


class Span(NamedTuple):
    """The position of a page among all pages, and the first and last of its brokers."""

    series: str
    begin: int
    end: int
    total: int
    first: str | None
    last: str | None


SPANS = "series string, begin long, end long, total long, first string, last string"


def read_span(path: str, kind: Kind) -> Span:
    """Return the position of the page in a file."""
    page = _load(path, kind)
    found = page.brokers
    return Span(
        page.series, page.begin, page.end, page.total, min(found, default=None), max(found, default=None)
    )


def check_complete(spans: Sequence[Any], kind: Kind) -> None:
    """Check that no page is missing.

    Raises
    ------
    FormatError
        If one is: the message says which.
    """
    if kind is EMQX:
        numbers = {page.begin for page in spans}
        last = max(page.total for page in spans if page.begin == max(numbers)) - 1
        missing = next((number for number in range(1, last + 1) if number not in numbers), None)
        if missing is not None:
            raise FormatError(
                f"page {missing} of the EMQX subscriptions is missing: add it, with page={missing}"
            )
        return
    for server in sorted({page.series for page in spans}):
        mine = [page for page in spans if page.series == server]
        held, begins = _coverage(mine)
        total = max(page.total for page in mine)
        if held < total:
            raise FormatError(
                f"the pages of NATS server {server} hold {held} of {total} connections: "
                f"add the page that begins with offset={begins}"
            )


def check_filled(files: Sequence[SourceFile]) -> None:
    """Check that no file is empty.

    Raises
    ------
    FormatError
        If some are: the message names them.
    """
    empty = [file.path for file in files if not file.size]
    if empty:
        raise FormatError(f"{first_five(empty)} is empty: fetch the page of subscriptions again")


def _load(path: str, kind: Kind) -> Page:
    with open_text(path) as file:
        content = file.read()
    return read_page(content, path, kind)


def _coverage(pages: Sequence[Any]) -> tuple[int, int]:
    """Return how many connections the pages cover, and the first one that they miss."""
    held, reached, missing = 0, 0, None
    for page in sorted(pages, key=lambda page: (page.begin, page.end)):
        if page.begin > reached and missing is None:
            missing = reached
        held += max(0, page.end - max(page.begin, reached))
        reached = max(reached, page.end)
    return held, reached if missing is None else missing


def read_page_rows(stretch: Stretch, reading: Reading) -> Iterator[Rows]:
    """Yield the subscriptions of a page as rows."""
    kind = PAGES[reading.format]
    page = _load(stretch.path, kind)
    found = [tuple(None if name is None else str(name) for name in entry) for entry in page.entries]
    brokers, clients, held = ([entry[i] for entry in found] for i in range(3))
    topics = [None if name is None else unshared(name) for name in held]
    names = {"node": brokers if reading.node_from == "broker" else clients, "topic": topics}
    # Both names must be usable, also the one that is not the node.
    nameless = np.array(
        [why_unusable(client, "node") == MISSING.format("node") for client in clients], dtype=bool
    )
    invalid = np.array(
        [
            kind is EMQX
            and name is not None
            and why_unusable(name, "topic") is None
            and why_invalid(name) is not None
            for name in topics
        ],
        dtype=bool,
    )
    yield make_rows(
        stretch,
        0,
        np.arange(len(found), dtype=np.int64),
        {what: pa.array(column, pa.string()) for what, column in names.items()},
        lambda row: json.dumps(found[row]),
        Bad(),
        exact=True,
        further=[(nameless, MISSING.format("node")), (invalid, INVALID_FILTER)],
    )


PAGES = {"nats-connz": CONNZ, "emqx": EMQX}


def choose_nodes(
    spark: SparkSession | None,
    files: Sequence[SourceFile],
    cut: Sequence[Sequence[Stretch]],
    reading: Reading,
) -> str:
    """Return `broker` or `client`: as requested, or brokers if there are several.

    Raises
    ------
    FormatError
        If a page is missing, empty or broken.
    """
    if reading.format == "mosquitto-log":
        several = len({log.broker for log in log_files([file.path for file in files])}) > 1
    else:
        kind = PAGES[reading.format]
        check_filled(files)
        spans = numbers(spark, len(cut)).map(partial(_read_spans, cut, kind), SPANS).collect()
        check_complete(spans, kind)
        known = {name for span in spans for name in (span.first, span.last) if name is not None}
        several = len(known) > 1
    return reading.node_from or ("broker" if several else "client")


def _read_spans(cut: Sequence[Sequence[Stretch]], kind: Kind, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Read the positions of pages, on an executor."""
    for number in each_number(batches):
        spans = [read_span(stretch.path, kind)._asdict() for stretch in cut[number]]
        yield pa.RecordBatch.from_pylist(spans, schema=arrow_schema(SPANS))
