"""Mosquitto logs: the folded state of a log is what the clients of the broker hold."""

from __future__ import annotations

import asyncio
import gzip
import lzma
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiomqtt
import pytest

from brokers import PROGRAM, broker
from meshwright.errors import FormatError, InputError
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.readers.broker_names import log_files
from meshwright.pipeline.readers.fields import INVALID_FILTER, NOT_UTF8
from meshwright.pipeline.readers.formats import BRIDGES, Reading
from meshwright.pipeline.readers.mosquitto_logs import UNKNOWN_CLIENT, Event, Log
from small_datasets import pairs_of

if TYPE_CHECKING:
    from conftest import Engine

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="no mosquitto is installed")


def events_of(*lines: str) -> list[Event]:
    """Return the events of a log's lines."""
    log = Log(re.compile(BRIDGES))
    return [event for line in lines for event in log.read(f"1700000000: {line}".encode())]


def connect_line(client: str, clean: int = 1) -> str:
    return f"New client connected from 127.0.0.1:1 as {client} (p2, c{clean}, k60)."


async def live(port: int) -> set[tuple[str, str]]:
    """Run clients at a broker, and return the filters that they hold at the end."""

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
        # The broker has closed this connection.
        with pytest.raises(aiomqtt.MqttError):
            await usurped.subscribe("too/late", timeout=5)
        # The state is that of this point, while all these clients are connected.
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
def test_real_logs_fold_to_what_clients_hold(tmp_path: Path) -> None:
    """The log of a real broker folds to the filters that its clients hold at that time."""
    log = tmp_path / "berlin.log"
    copy = tmp_path / "copy" / "berlin.log"
    copy.parent.mkdir()

    async def lived(port: int) -> set[tuple[str, str]]:
        return await live(port)

    with broker(log) as port:
        expected = asyncio.run(lived(port))
    lines = log.read_text().splitlines(keepends=True)
    # The lines after this one come from clients that disconnect when the test ends.
    last = max(number for number, line in enumerate(lines) if "of/the/new" in line)
    copy.write_text("".join(lines[: last + 1]))
    outcome = ingest(None, [copy], tmp_path / "clients")
    assert pairs_of(tmp_path / "clients") == expected
    assert (outcome.node_from, outcome.quarantined) == ("client", 0)
    (copy.parent / "oslo.log").write_text(connect_line("x") + "\nx 0 a/+\nx 0 new\n")
    outcome = ingest(None, [copy.parent], tmp_path / "brokers", Reading("mosquitto-log"))
    assert outcome.node_from == "broker"
    assert pairs_of(tmp_path / "brokers") == {("berlin", topic) for _, topic in expected} | {
        ("oslo", "a/+"),
        ("oslo", "new"),
    }


def test_bad_lines(tmp_path: Path) -> None:
    """Unknown clients, invalid filters and names that are not UTF-8 are quarantined; messages are not rows.

    With one broker, the nodes are its clients.
    """
    (tmp_path / "b.log").write_bytes(
        b"1700000000: mosquitto version 2.0.11 starting\n1700000001: early 1 a/b\n"
        + f"1700000002: {connect_line('late')}\n1700000003: late 0 a/b\n".encode()
        + b"1700000004: Saving in-memory database to x.db.\n1700000005: late 0 bad\xff\xfe\n"
        + b"1700000006: late 0 a/#/b\n"
    )
    outcome = ingest(None, [tmp_path / "b.log"], tmp_path / "out", max_bad=0.8)
    assert (outcome.read, outcome.kept, outcome.quarantined, outcome.node_from) == (4, 1, 3, "client")
    assert outcome.reasons == {UNKNOWN_CLIENT: 1, NOT_UTF8: 1, INVALID_FILTER: 1}
    assert pairs_of(tmp_path / "out") == {("late", "a/b")}


def test_the_longest_known_id_wins() -> None:
    """The client is the longest id that has connected, and a QoS after it marks a subscribe."""
    events = events_of(connect_line("m 1"), connect_line("m 1 2"), "m 1 2 0 t", "m 1 2 t", "m 1 0 t")
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
        connect_line("c"),
    ],
)
def test_clean_sessions_end(end: str) -> None:
    """Every end of a clean session drops its filters; only a clean start drops those of a persistent one."""
    dropped = [
        (event.filter, event.derived) for event in events_of(connect_line("c"), "c 0 t", end) if event.leaves
    ]
    assert dropped == [("t", True)]
    kept = [
        event
        for event in events_of(connect_line("c", 0), "c 0 t", "Saving in-memory database to x.", end)
        if event.leaves
    ]
    assert bool(kept) == (end == connect_line("c"))


def test_time_never_goes_back() -> None:
    """A clock that is set back does not reorder lines."""
    log = Log(re.compile(BRIDGES))
    list(log.read(f"1700000100: {connect_line('c')}".encode()))
    list(log.read(b"1700000050: c 0 t"))
    assert log.time == 1700000100


@pytest.mark.parametrize("line", ["my client 0 some topic", "unknown client a/b", "c9 1 sp ace", "New words"])
def test_no_line_vanishes(line: str) -> None:
    """A line that is neither a message of mosquitto nor of a connected client is quarantined."""
    assert events_of(connect_line("c1"), line) == [Event(None, None, leaves=False, reason=UNKNOWN_CLIENT)]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "mosquitto version 2.0.11 running",
        "New connection from 127.0.0.1:5000 on port 1883.",
        "Client gone disconnected.",
        "Client gone already connected, closing old connection.",
        "Client connection from 10.0.0.1 failed: error:1408F10B:SSL routines:wrong version number.",
        "Bridge local.a.b doing local SUBSCRIBE on topic t",
        "Received SUBSCRIBE from c1",
        "\tsome/topic (QoS 1)",
        " ├── Username/password checking enabled.",
        'Invalid protocol "HTTP" in CONNECT from 10.0.0.1.',
        "Expiring client gone due to timeout.",
    ],
)
def test_messages_are_not_rows(line: str) -> None:
    """Other messages of mosquitto are neither read nor quarantined."""
    assert events_of(connect_line("c1"), line) == []


@pytest.mark.parametrize("client", ["Bridge 7", "Plugin A", "|p", "Info: a", "Client x", "|- a"])
def test_known_ids_win(client: str) -> None:
    """The id of a connected client may look like the beginning of a message."""
    events = events_of(connect_line(client), f"{client} 0 a b", f"{client} a b")
    assert [(event.client, event.filter, event.leaves) for event in events] == [
        (client, "a b", False),
        (client, "a b", True),
    ]


def test_messages_that_begin_with_an_id() -> None:
    """A message is not an unsubscribe, even if its first word is the id of a client."""
    assert events_of(connect_line("Received"), "Received PINGREQ from c1") == []


def test_old_versions_connect() -> None:
    """Mosquitto before 1.5 does not log the protocol of a client."""
    events = events_of("New client connected from 127.0.0.1 as old (c1, k60).", "old 0 t")
    assert [(event.client, event.filter) for event in events] == [("old", "t")]


def test_a_filter_like_a_subscribe() -> None:
    """The unsubscribe from a filter that begins with a digit is not taken for a subscribe."""
    events = events_of(connect_line("p"), "p 0 1 volt", "p 1 volt", "p 1 volt")
    assert [(event.filter, event.leaves) for event in events] == [
        ("1 volt", False),
        ("1 volt", True),
        ("volt", False),
    ]


def test_broken_names() -> None:
    """Invalid UTF-8 is never a name, neither of a topic nor of a client."""
    log = Log(re.compile(BRIDGES))
    lines = [
        connect_line("c1").encode(),
        b"c1 0 bad\xff\xfe",
        b"New client connected from 127.0.0.1:1 as c\xff (p2, c1, k60).",
        b"c\xff 0 good",
        b"who\xff 0 good",
        b"Received PUBLISH from c1 (d0, q0, r0, m0, 'bad\xff', ... (1 bytes))",
        b"Client c\xff disconnected.",
    ]
    events = [event for line in lines for event in log.read(b"1700000000: " + line)]
    assert events == [Event(None, None, leaves=False, reason=NOT_UTF8)] * 3


def test_bridges_are_left_out() -> None:
    """Bridges are recognised by the message of the broker, or by their id."""
    line = connect_line("oslo").replace("New client", "New bridge")
    assert events_of(line, "oslo 0 t") == []
    assert events_of(connect_line("local.oslo"), "local.oslo 0 t") == []
    assert [event.filter for event in events_of(connect_line("oslo"), "oslo 0 t")] == ["t"]


def test_only_the_brokers_own_topics_are_left_out() -> None:
    """Only `$SYS` is left out; other topics that begin with a dollar are kept."""
    lines = ["c 0 $SYS/broker/load", "c 0 $SYS", "c 0 $aws/things/a", "c 0 $SYSTEM/a", "c 0 _INBOX.a"]
    assert [event.filter for event in events_of(connect_line("c"), *lines)] == [
        "$aws/things/a",
        "$SYSTEM/a",
        "_INBOX.a",
    ]


@pytest.mark.parametrize(
    ("paths", "brokers"),
    [
        (["/p/x.log", "/p/x.log.1", "/p/y.log.gz"], ["x", "x", "y"]),
        (["/p/berlin/mosquitto.log", "/p/oslo/mosquitto.log"], ["berlin", "oslo"]),
        (["/p/dc1/b/mosquitto.log", "/p/dc2/b/mosquitto.log"], ["dc1/b", "dc2/b"]),
        (
            ["/p/berlin.log", "/p/berlin/mosquitto.log", "/p/oslo/mosquitto.log"],
            ["berlin", "berlin/mosquitto", "oslo"],
        ),
        (["/p/1/a.log", "/p/1/b.log", "/p/2/a.log", "/p/2/b.log"], ["1/a", "1/b", "2/a", "2/b"]),
        (["/x.log", "/a/x.log"], ["/x", "a"]),
        (["hdfs://host:8020/logs/x.log", "s3a://bucket/y.log"], ["x", "y"]),
    ],
)
def test_each_log_has_its_broker(paths: list[str], brokers: list[str]) -> None:
    """Logs of different brokers get different names, in any order of paths."""
    named = {log.path: log.broker for log in log_files(paths)}
    assert named == dict(zip(paths, brokers, strict=True))
    assert named == {log.path: log.broker for log in log_files(paths[::-1])}


def test_rotated_logs_are_in_order() -> None:
    """Logs rotated by number or by date are in order; the current log is the last."""
    for names in (
        ["m.log.10.gz", "m.log.2", "m.log.1", "m.log"],
        ["m.log-20231231", "m.log-20240101.gz", "m.log"],
    ):
        logs = log_files([f"/p/{name}" for name in sorted(names)])
        assert {log.broker for log in logs} == {"m"}
        assert [log.path for log in sorted(logs, key=lambda log: log.order)] == [
            f"/p/{name}" for name in names
        ]


def written(file: Path, *lines: str) -> Path:
    """Write a log, compressed if its name ends with .gz."""
    text = "".join(f"1700000000: {line}\n" for line in lines).encode()
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    return file


def test_sessions_continue_in_the_next_log(engine: Engine, tmp_path: Path) -> None:
    """A client that connected in a log, rotated by number or by date, is known in the next one."""
    for client, names in (
        ("c", ("m.log.2.gz", "m.log.1", "m.log")),
        ("d", ("n.log-20231231.gz", "n.log-20240101", "n.log")),
    ):
        first, second, third = (tmp_path / "logs" / name for name in names)
        stay, go = f"{client}1", f"{client}2"
        written(first, connect_line(stay), connect_line(go), f"{stay} 0 x", f"{go} 0 x")
        written(second, f"{stay} 0 y", f"{stay} x")
        written(third, f"{stay} 0 z", f"Client {go} disconnected.")
    reading = Reading("mosquitto-log", node_from="client")
    outcome = ingest(engine, [tmp_path / "logs"], tmp_path / "out", reading)
    assert (outcome.read, outcome.quarantined) == (10, 0)
    assert pairs_of(tmp_path / "out") == {(node, topic) for node in ("c1", "d1") for topic in "yz"}


def test_what_is_a_node(tmp_path: Path) -> None:
    """Nodes are brokers if there are several logs, even silent ones, else clients; an option overrides it."""
    loud = written(tmp_path / "loud.log", connect_line("c1"), connect_line("c2"), "c1 0 x", "c2 0 x")
    quiet = written(tmp_path / "quiet.log", connect_line("z"))
    clients, brokers = {("c1", "x"), ("c2", "x")}, {("loud", "x")}
    for logs, asked, expected in (
        ([loud, quiet], None, brokers),
        ([loud], "broker", brokers),
        ([loud, quiet], "client", clients),
    ):
        outcome = ingest(None, logs, tmp_path / "out", Reading("mosquitto-log", node_from=asked))
        assert pairs_of(tmp_path / "out") == expected
        assert outcome.node_from == ("client" if expected == clients else "broker")
        assert (outcome.read, outcome.quarantined) == (2, 0)


def test_files_that_are_not_logs(tmp_path: Path) -> None:
    """A log with an unknown compression, or of another program, is refused by name."""
    good = written(tmp_path / "a.log", connect_line("c"), "c 0 t")
    (tmp_path / "b.log.xz").write_bytes(lzma.compress(good.read_bytes() * 50))
    with pytest.raises(InputError, match=r"/b\.log\.xz' cannot be decompressed: .*\.gz or \.bz2"):
        ingest(None, [good, tmp_path / "b.log.xz"], tmp_path / "out")
    packed, other = tmp_path / "c.log", tmp_path / "d.log"
    packed.write_bytes(gzip.compress(good.read_bytes()))
    other.write_text("Nov 14 12:00:00 host sshd[12]: Accepted publickey for root\n\n")
    for file in (packed, other):
        with pytest.raises(FormatError, match=rf"^{file} has no line in the format of mosquitto"):
            ingest(None, [good, file], tmp_path / "out", max_bad=1)
