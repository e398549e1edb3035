"""Pages of NATS and EMQX: all of them, or an error that says which one is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from meshwright.errors import FormatError
from meshwright.pipeline.ingest import ingest
from meshwright.pipeline.options import Reading
from small_datasets import pairs_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def connz(server: str, offset: int, total: int, *connections: dict[str, Any]) -> str:
    """Return a connz page."""
    page = {"server_id": server, "num_connections": len(connections), "total": total, "offset": offset}
    return json.dumps({**page, "limit": 1024, "connections": connections}, indent=1)


def connection(cid: int, *subjects: str, kind: str = "Client") -> dict[str, Any]:
    return {"cid": cid, "kind": kind, "subscriptions_list_detail": [{"subject": name} for name in subjects]}


def emqx(page: int, more: bool, *entries: tuple[str, str, str | None]) -> str:
    """Return a page of EMQX's subscriptions."""
    data = [{"node": node, "clientid": client, "topic": topic, "qos": 1} for node, client, topic in entries]
    return json.dumps({"data": data, "meta": {"page": page, "limit": 2, "count": 3, "hasnext": more}})


def test_connz(spark: SparkSession, tmp_path: Path) -> None:
    """Subjects of all pages of all servers are read, inboxes and links between servers left out."""
    (tmp_path / "a0.json").write_text(connz("A", 0, 2, connection(1, "x", "_INBOX.q.1")))
    (tmp_path / "a1.json").write_text(connz("A", 1, 2, connection(2, "x", "y")))
    (tmp_path / "b.json").write_text(connz("B", 0, 1, connection(1, "z", kind="Leafnode")))
    (tmp_path / "c.json").write_text(connz("C", 0, 1, connection(7, "z")))
    outcome = ingest(spark, [tmp_path / "*.json"], tmp_path / "out", Reading("nats-connz"))
    assert (outcome.read, outcome.kept, outcome.duplicates) == (4, 3, 1)
    assert pairs_of(tmp_path / "out") == {("A", "x"), ("A", "y"), ("C", "z")}
    by_client = Reading("nats-connz", node_from="client")
    ingest(spark, [tmp_path / "a?.json"], tmp_path / "out", by_client)
    assert pairs_of(tmp_path / "out") == {("1", "x"), ("2", "x"), ("2", "y")}
    (tmp_path / "a0.json").unlink()
    with pytest.raises(FormatError, match=r"server A hold 1 of 2 connections: .*offset=0"):
        ingest(spark, [tmp_path / "*.json"], tmp_path / "out", Reading("nats-connz"))


def test_emqx(spark: SparkSession, tmp_path: Path) -> None:
    """Entries of all pages are read, shared ones without their group; those without a topic are set aside."""
    first = emqx(1, True, ("n1", "c1", "$share/g/t"), ("n1", "c2", "t"))
    (tmp_path / "1.json").write_text(first)
    (tmp_path / "2.json").write_text(emqx(2, False, ("n2", "c3", None)))
    outcome = ingest(spark, [tmp_path], tmp_path / "out", Reading("emqx"), max_bad=0.5)
    assert (outcome.read, outcome.kept, outcome.duplicates, outcome.quarantined) == (3, 1, 1, 1)
    assert pairs_of(tmp_path / "out") == {("n1", "t")}
    (tmp_path / "2.json").unlink()
    with pytest.raises(FormatError, match="page 2 of the EMQX subscriptions is missing"):
        ingest(spark, [tmp_path], tmp_path / "out", Reading("emqx"))
    (tmp_path / "1.json").write_text(first[: len(first) // 2])
    with pytest.raises(FormatError, match=r"1\.json is no whole page"):
        ingest(spark, [tmp_path], tmp_path / "out", Reading("emqx"))
