"""What pages of brokers say: NATS `/connz?subs=detail`, EMQX `/api/v5/subscriptions`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from meshwright.errors import FormatError
from meshwright.pipeline.brokers import is_private, topic_of

NATS_PRIVATE = re.compile(r"(_INBOX|\$JS|\$SYS)(\.|$)")


class Entry(NamedTuple):
    """One subscription, as the page has it."""

    broker: object
    client: object
    filter: object


class Page(NamedTuple):
    """What a page holds, and which of all pages it is."""

    series: str
    """Pages of one series (a server of NATS) must make a whole."""
    begin: int
    """The first connection of a NATS page; the number of an EMQX page."""
    end: int
    """Where the next page begins, if there is one."""
    total: int
    """Where the last page ends, as this page knows it."""
    brokers: list[str]
    entries: list[Entry]


def connz_page(page: dict[str, Any], source: str) -> Page:
    """Return the subscriptions of a connz page; links between servers are not clients, inboxes not shared."""
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
    told = page.get("meta") or {}
    begin = _count(told, "page", 1)
    entries = [Entry(entry.get("node"), entry.get("clientid"), entry.get("topic")) for entry in page["data"]]
    return Page(
        series="",
        begin=begin,
        end=begin + 1,
        total=begin + (2 if told.get("hasnext") else 1),
        brokers=sorted({str(entry.broker) for entry in entries if entry.broker is not None}),
        entries=[
            entry
            for entry in entries
            if not isinstance(entry.filter, str) or not is_private(topic_of(entry.filter))
        ],
    )


class Kind(NamedTuple):
    """A kind of pages: how to read one, what it must list, and where to fetch it."""

    read: Callable[[dict[str, Any], str], Page]
    lists: str
    address: str


CONNZ = Kind(connz_page, "connections", "/connz?subs=detail")
EMQX = Kind(emqx_page, "data", "/api/v5/subscriptions")


def read_page(text: bytes, source: str, kind: Kind) -> Page:
    """Return what a file says.

    Raises
    ------
    FormatError
        If it is no page of this kind, or not all of one.
    """
    try:
        page = json.loads(text.decode("utf-8-sig"))
        if not isinstance(page, dict) or not isinstance(page.get(kind.lists), list):
            raise ValueError(f"it lists no {kind.lists}")
        return kind.read(page, source)
    except FormatError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = " ".join(str(error).split())[:100]
        raise FormatError(
            f"{source} is no whole page of subscriptions ({why}): fetch it again from {kind.address}"
        ) from error


def _count(told: dict[str, Any], name: str, otherwise: int = 0) -> int:
    value = told.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} is {json.dumps(value)}, no count")
    return value


def _client(connection: dict[str, Any], broker: str) -> object:
    """Return the name of a client; each server numbers those without one by itself."""
    name, number = connection.get("name"), connection.get("cid")
    return name or (None if number is None else f"{broker}/{number}")


def _subjects(connection: dict[str, Any], source: str) -> Iterator[object]:
    detailed = connection.get("subscriptions_list_detail") or ()
    subjects = [detail["subject"] for detail in detailed] or connection.get("subscriptions_list") or ()
    if not subjects and connection.get("subscriptions"):
        raise FormatError(
            f"{source} counts subscriptions and does not list them: fetch it again from {CONNZ.address}"
        )
    yield from subjects
