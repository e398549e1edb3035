"""Logs of real mosquitto brokers: the folded state is what the clients hold."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiomqtt
import pytest

from brokers import PROGRAM, broker
from meshwright.pipeline.ingest import ingest
from meshwright.pipeline.mosquitto_lines import Event, Log
from meshwright.pipeline.options import BRIDGES, Reading
from small_datasets import pairs_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="no mosquitto is installed")


def told(*lines: str) -> list[Event]:
    """Return the events of a log's lines."""
    import re

    log = Log(re.compile(BRIDGES))
    return [event for line in lines for event in log.read(f"1700000000: {line}")]


def connected(client: str, clean: int = 1) -> str:
    return f"New client connected from 127.0.0.1:1 as {client} (p2, c{clean}, k60)."


async def live(port: int) -> set[tuple[str, str]]:
    """Let clients come and go at a broker; return what they hold at the end."""

    def client(name: str, **options: Any) -> aiomqtt.Client:
        return aiomqtt.Client("127.0.0.1", port, identifier=name, **options)

    async with AsyncExitStack() as staying:
        plain = await staying.enter_async_context(client("plain"))
        await plain.subscribe([("a/+", 0), ("b", 1), ("c c", 2)])
        await plain.unsubscribe("b")
        await plain.subscribe("$share/group/jobs/#", 1)
        await plain.subscribe("$SYS/#")
        # One id begins like another, and a filter begins with a digit.
        short = await staying.enter_async_context(client("meter 1"))
        long = await staying.enter_async_context(client("meter 1 2"))
        await long.subscribe("1 volt", 2)
        await long.subscribe("amp", 0)
        await long.unsubscribe("amp")
        await short.subscribe("x", 0)
        async with client("clean") as gone:
            await gone.subscribe("left/behind")
        async with client("persistent", clean_session=False) as away:
            await away.subscribe([("kept", 1), ("dropped", 1)])
        async with client("persistent", clean_session=False) as back:
            await back.unsubscribe("dropped")
        async with client("reborn", clean_session=False) as first:
            await first.subscribe("old")
        async with client("reborn", clean_session=True):
            pass
        usurped = client("taken")
        await usurped.__aenter__()
        await usurped.subscribe("of/the/old")
        usurper = await staying.enter_async_context(client("taken"))
        await usurper.subscribe("of/the/new")
        bridge = await staying.enter_async_context(client("local.oslo.bridge"))
        await bridge.subscribe("bridged")
        with pytest.raises(aiomqtt.MqttError):  # the broker has closed this one
            await usurped.subscribe("too/late", timeout=5)
        # The state is looked at while all of these are connected: stop the broker first.
        return {
            ("plain", "a/+"),
            ("plain", "c c"),
            ("plain", "jobs/#"),
            ("meter 1 2", "1 volt"),
            ("meter 1", "x"),
            ("persistent", "kept"),
            ("taken", "of/the/new"),
        }


@needs_broker
def test_real_logs_fold_to_what_clients_hold(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever real clients do at a real broker, its log folds to what they hold at that moment."""
    log = tmp_path / "berlin.log"
    copy = tmp_path / "copy" / "berlin.log"
    copy.parent.mkdir()

    async def lived(port: int) -> set[tuple[str, str]]:
        return await live(port)

    with broker(log) as port:
        expected = asyncio.run(lived(port))
    lines = log.read_text().splitlines(keepends=True)
    # What follows is the clients' going when the test ends.
    last = max(number for number, line in enumerate(lines) if "of/the/new" in line)
    copy.write_text("".join(lines[: last + 1]))
    outcome = ingest(spark, [copy], tmp_path / "clients")
    assert pairs_of(tmp_path / "clients") == expected
    assert (outcome.node_from, outcome.quarantined) == ("client", 0)
    (copy.parent / "oslo.log").write_text(connected("x") + "\nx 0 a/+\nx 0 new\n")
    outcome = ingest(spark, [copy.parent], tmp_path / "brokers", Reading("mosquitto-log"))
    assert outcome.node_from == "broker"
    assert pairs_of(tmp_path / "brokers") == {("berlin", topic) for _, topic in expected} | {
        ("oslo", "a/+"),
        ("oslo", "new"),
    }


def test_before_its_connect(spark: SparkSession, tmp_path: Path) -> None:
    """A subscription of a client that never connected is set aside with its line; other lines are no rows."""
    (tmp_path / "b.log").write_text(
        "1700000000: mosquitto version 2.0.11 starting\n1700000001: early 1 a/b\n"
        f"1700000002: {connected('late')}\n1700000003: late 0 a/b\n"
        "1700000004: Saving in-memory database to x.db.\n"
    )
    outcome = ingest(spark, [tmp_path / "b.log"], tmp_path / "out", max_bad=0.5)
    assert (outcome.read, outcome.kept, outcome.quarantined) == (2, 1, 1)
    assert pairs_of(tmp_path / "out") == {("late", "a/b")}


def test_the_longest_known_id_is_meant() -> None:
    """Of ids that begin alike, the longest that has connected is taken, and its QoS tells a subscribe."""
    events = told(connected("m 1"), connected("m 1 2"), "m 1 2 0 t", "m 1 2 t", "m 1 0 t")
    assert [(event.client, event.filter, event.leaves) for event in events] == [
        ("m 1 2", "t", False),
        ("m 1 2", "t", True),
        ("m 1", "t", False),
    ]


@pytest.mark.parametrize(
    "end",
    [
        "Client c disconnected.",
        "Client c closed its connection.",
        "Client c has exceeded timeout, disconnecting.",
        "Client c disconnected due to protocol error.",
        "Client c [127.0.0.1:5000] disconnected.",
        "Socket error on client c, disconnecting.",
        "mosquitto version 2.0.11 starting",
        connected("c"),
    ],
)
def test_clean_sessions_end(end: str) -> None:
    """Whatever ends a clean session drops its filters; a persistent one keeps them but for a clean start."""
    dropped = [(event.filter, event.derived) for event in told(connected("c"), "c 0 t", end) if event.leaves]
    assert dropped == [("t", True)]
    kept = [
        event
        for event in told(connected("c", 0), "c 0 t", "Saving in-memory database to x.", end)
        if event.leaves
    ]
    assert bool(kept) == (end == connected("c"))


def test_time_never_goes_back() -> None:
    """A clock that is set back does not put later lines before earlier ones."""
    import re

    log = Log(re.compile(BRIDGES))
    list(log.read(f"1700000100: {connected('c')}"))
    list(log.read("1700000050: c 0 t"))
    assert log.time == 1700000100
