"""Pages of NATS and EMQX: all of them are read, or an error says which one is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from meshwright.errors import FormatError
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.readers.broker_pages import (
    CONNZ,
    EMQX,
    Entry,
    Kind,
    Span,
    check_complete,
    check_filled,
    read_page,
)
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.sources import SourceFile
from small_datasets import pairs_of

if TYPE_CHECKING:
    from conftest import Engine


def connz(server: str, offset: int, total: int, *connections: dict[str, Any]) -> str:
    """Return a connz page."""
    page = {"server_id": server, "num_connections": len(connections), "total": total, "offset": offset}
    return json.dumps({**page, "limit": 1024, "connections": connections}, indent=1)


def connection(cid: int, *subjects: str, kind: str = "Client") -> dict[str, Any]:
    return {"cid": cid, "kind": kind, "subscriptions_list_detail": [{"subject": name} for name in subjects]}


def emqx(page: int, more: bool, *entries: tuple[str, str, str | None]) -> str:
    """Return a page of EMQX subscriptions."""
    data = [{"node": node, "clientid": client, "topic": topic, "qos": 1} for node, client, topic in entries]
    return json.dumps({"data": data, "meta": {"page": page, "limit": 2, "count": 3, "hasnext": more}})


def test_connz(tmp_path: Path) -> None:
    """The subjects of all pages of all servers are read, without inboxes and links between servers."""
    (tmp_path / "a0.json").write_text(connz("A", 0, 2, connection(1, "x", "_INBOX.q.1")))
    (tmp_path / "a1.json").write_text(connz("A", 1, 2, connection(2, "x", "y")))
    (tmp_path / "b.json").write_text(connz("B", 0, 1, connection(1, "z", kind="Leafnode")))
    (tmp_path / "c.json").write_text(connz("C", 0, 1, connection(7, "z")))
    outcome = ingest(None, [tmp_path / "*.json"], tmp_path / "out", Reading("nats-connz"))
    assert (outcome.read, outcome.kept, outcome.duplicates) == (4, 3, 1)
    assert pairs_of(tmp_path / "out") == {("A", "x"), ("A", "y"), ("C", "z")}
    (tmp_path / "a0.json").unlink()
    with pytest.raises(FormatError, match=r"server A hold 1 of 2 connections: .*offset=0"):
        ingest(None, [tmp_path / "*.json"], tmp_path / "out", Reading("nats-connz"))


def test_emqx(tmp_path: Path) -> None:
    """All entries are read, shared ones without their group; entries without a topic are quarantined."""
    first = emqx(1, True, ("n1", "c1", "$share/g/t"), ("n1", "c2", "t"))
    (tmp_path / "1.json").write_text(first)
    (tmp_path / "2.json").write_text(emqx(2, False, ("n2", "c3", None)))
    outcome = ingest(None, [tmp_path], tmp_path / "out", Reading("emqx"), max_bad=0.5)
    assert (outcome.read, outcome.kept, outcome.duplicates, outcome.quarantined) == (3, 1, 1, 1)
    assert pairs_of(tmp_path / "out") == {("n1", "t")}
    (tmp_path / "2.json").unlink()
    with pytest.raises(FormatError, match="page 2 of the EMQX subscriptions is missing"):
        ingest(None, [tmp_path], tmp_path / "out", Reading("emqx"))
    (tmp_path / "1.json").write_text(first[: len(first) // 2])
    with pytest.raises(FormatError, match=r"1\.json is not a complete page"):
        ingest(None, [tmp_path], tmp_path / "out", Reading("emqx"))


WHOLE = {
    "nats-connz": (CONNZ, connz("A", 0, 1, connection(1, "x"))),
    "emqx": (EMQX, emqx(1, False, ("n1", "c1", "x"))),
}


@pytest.mark.parametrize(("kind", "page"), WHOLE.values(), ids=WHOLE)
def test_broken_pages(kind: Kind, page: str) -> None:
    """An incomplete page is refused in one line, with its name and where to fetch it."""
    whole = page.encode()
    address = re.escape(kind.address)
    refused = rf"^/p/1\.json is not a complete page of subscriptions \(.+\): fetch it again from {address}$"
    for text in (
        whole[:-20],
        b"",
        b"<html>\n<body>502 Bad Gateway</body>",
        b"[1, 2]",
        b"null",
        b'{"code": "BAD_API_KEY", "message": "x"}',
        b'{"connections": 3, "data": {}}',
        b'{"connections": [1], "data": [1]}',
        b'{"connections": [], "total": "many", "data": [], "meta": {"page": "many"}}',
        b'{"connections": [], "offset": -1, "data": [], "meta": {"page": -1}}',
        b"[" * 100_000,
        whole.replace(b'"x"', b'"x\xff"'),
    ):
        with pytest.raises(FormatError, match=refused):
            read_page(text, "/p/1.json", kind)


@pytest.mark.parametrize(("kind", "page"), WHOLE.values(), ids=WHOLE)
def test_byte_order_marks(kind: Kind, page: str) -> None:
    """A byte order mark at the beginning of a page is ignored."""
    assert read_page(b"\xef\xbb\xbf" + page.encode(), "1.json", kind) == read_page(
        page.encode(), "1.json", kind
    )


@pytest.mark.parametrize("name", WHOLE)
def test_broken_pages_among_others(tmp_path: Path, name: str) -> None:
    """A page that is not UTF-8 is named; one with a byte order mark is read, with clients as nodes."""
    page = WHOLE[name][1].encode()
    (tmp_path / "1.json").write_bytes(b"\xef\xbb\xbf" + page)
    assert ingest(None, [tmp_path / "1.json"], tmp_path / "out", Reading(name)).node_from == "client"
    assert pairs_of(tmp_path / "out") == {("A/1" if name == "nats-connz" else "c1", "x")}
    (tmp_path / "2.json").write_bytes(page.replace(b'"x"', b'"x\xff"'))
    with pytest.raises(FormatError, match=rf"^{tmp_path}/2\.json is not a complete page of subscriptions \("):
        ingest(None, [tmp_path / "*.json"], tmp_path / "out", Reading(name))


def test_empty_pages() -> None:
    """An empty file is an error, not a page without subscriptions."""
    with pytest.raises(FormatError, match=r"/p/1\.json' is empty"):
        check_filled([SourceFile("/p/1.json", 0, "")])


def test_subscriptions_must_be_listed() -> None:
    """A connz page that only counts subscriptions is refused, with the address that lists them."""
    counted = {"cid": 5, "kind": "Client", "subscriptions": 3}
    with pytest.raises(FormatError, match=r"^a\.json counts subscriptions .*: .* /connz\?subs=detail$"):
        read_page(connz("A", 0, 1, counted).encode(), "a.json", CONNZ)
    none = {"cid": 5, "kind": "Client", "subscriptions": 0}
    link = {"cid": 6, "kind": "Leafnode", "subscriptions": 3}
    assert read_page(connz("A", 0, 2, none, link).encode(), "a.json", CONNZ).entries == []


def test_what_connz_leaves_out() -> None:
    """Inboxes and subjects between servers are left out; all other subjects are topics."""
    subjects = ["_INBOX.q.1", "$JS.API.INFO", "$SYS.REQ", "$KV.b.k", "$SYSTEM.a", "a"]
    page = read_page(connz("A", 0, 1, connection(1, *subjects)).encode(), "a.json", CONNZ)
    assert [entry.filter for entry in page.entries] == ["$KV.b.k", "$SYSTEM.a", "a"]


def test_what_emqx_leaves_out() -> None:
    """Only `$SYS` topics are left out; their broker is still a node."""
    page = read_page(emqx(1, False, ("n1", "c", "$SYS/x"), ("n2", "c", "$aws/x")).encode(), "1.json", EMQX)
    assert (page.brokers, page.entries) == (["n1", "n2"], [Entry("n2", "c", "$aws/x")])


def test_clients_without_names(tmp_path: Path) -> None:
    """Each server numbers its own connections: the same number at two servers is two clients."""
    (tmp_path / "a.json").write_text(connz("A", 0, 1, connection(5, "x")))
    (tmp_path / "b.json").write_text(connz("B", 0, 1, connection(5, "y") | {"name": "meter"}))
    (tmp_path / "c0.json").write_text(connz("C", 0, 2, connection(5, "y")))
    (tmp_path / "c1.json").write_text(connz("C", 1, 2, connection(6, "x", "y")))
    ingest(None, [tmp_path / "*.json"], tmp_path / "out", Reading("nats-connz", node_from="client"))
    assert pairs_of(tmp_path / "out") == {
        ("A/5", "x"),
        ("meter", "y"),
        ("C/5", "y"),
        ("C/6", "x"),
        ("C/6", "y"),
    }


def test_silent_servers_count(engine: Engine, tmp_path: Path) -> None:
    """Silent servers count when the reader decides whether brokers or clients are nodes."""
    (tmp_path / "a.json").write_text(connz("A", 0, 1, connection(5, "x")))
    (tmp_path / "b.json").write_text(connz("B", 0, 0))
    (tmp_path / "1.json").write_text(emqx(1, False, ("n1", "c", "t"), ("n2", "c", "$SYS/x")))
    for source, name, expected in (
        ("[ab].json", "nats-connz", {("A", "x")}),
        ("1.json", "emqx", {("n1", "t")}),
    ):
        outcome = ingest(engine, [tmp_path / source], tmp_path / "out", Reading(name))
        assert pairs_of(tmp_path / "out") == expected
        assert (outcome.read, outcome.quarantined) == (1, 0)


def test_emqx_pages_without_numbers() -> None:
    """Without `meta`, a page is the first and the only one."""
    page = read_page(b'{"data": []}', "1.json", EMQX)
    assert (page.begin, page.end, page.total) == (1, 2, 2)


def spans(*pages: tuple[str, int, int, int]) -> list[Span]:
    return [Span(*page, None, None) for page in pages]


@pytest.mark.parametrize(
    ("kind", "pages", "message"),
    [
        (CONNZ, [("A", 0, 2, 2), ("B", 0, 1, 1), ("A", 2, 3, 4)], r"server A hold 3 of 4 .*offset=3"),
        (CONNZ, [("A", 0, 2, 4), ("A", 3, 4, 3)], r"server A hold 3 of 4 .*offset=2"),
        (CONNZ, [("A", 0, 2, 3), ("A", 1, 2, 3)], r"server A hold 2 of 3 .*offset=2"),
        (EMQX, [("", 2, 3, 3)], "page 1 of the EMQX subscriptions is missing"),
        (
            EMQX,
            [("", 1, 2, 3), ("", 2, 3, 3), ("", 2, 3, 4)],
            "page 3 of the EMQX subscriptions is missing",
        ),
    ],
)
def test_the_first_missing_page_is_named(kind: Kind, pages: Any, message: str) -> None:
    """If pages disagree on the total, the largest one counts: the set grew while it was fetched."""
    with pytest.raises(FormatError, match=message):
        check_complete(spans(*pages), kind)


def test_overlapping_pages_are_complete() -> None:
    """Pages may overlap and come in any order; servers are counted apart."""
    check_complete(spans(("A", 2, 5, 5), ("B", 0, 1, 1), ("A", 0, 3, 4)), CONNZ)
    check_complete(spans(("", 2, 3, 3), ("", 1, 2, 3)), EMQX)
