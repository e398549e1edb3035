"""A run of churn without brokers: the rate of messages, what is awaited, and what is recorded of a change."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from meshwright.churn.events import CRASH, JOIN, LEAVE, Event
from meshwright.deploy.hosts import churn_traffic as churn
from meshwright.deploy.hosts.churn_traffic import QUEUE_PATIENCE, _changed_topics, _ChurnRun
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.proof.churn_verdict import Window
from meshwright.deploy.proof.traffic import Message, load_aiomqtt
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.wiring import rewire, wire

CHAIN = NamedTrees(
    tuple("abc"),
    {
        "x": TopicTree((("a", "b"), ("b", "c")), frozenset("abc")),
        "y": TopicTree((("a", "b"),), frozenset("ab")),
    },
)
WITHOUT_B = NamedTrees(
    tuple("ac"), {"x": TopicTree((("a", "c"),), frozenset("ac")), "y": TopicTree((), frozenset("a"))}
)
WITH_D = NamedTrees(
    tuple("abcd"), {**CHAIN.trees, "x": TopicTree((*CHAIN.trees["x"].links, ("a", "d")), frozenset("abcd"))}
)


class FakeObservers:
    """Observers that record who connects and deliver nothing."""

    def __init__(self) -> None:
        self.attached, self.calls = set("abc"), list[tuple[Any, ...]]()
        self.broken_connections: Counter[str] = Counter()
        self.published: list[tuple[str, str, str]] = []
        self.connected = set("abc")

    def is_connected(self, broker: str) -> bool:
        """Return whether a broker is connected."""
        return broker in self.connected

    async def publish(self, broker: str, topic: str, name: str) -> Message:
        """Record a message."""
        self.published.append((broker, topic, name))
        return Message(topic, broker, vars(churn)["time"].monotonic())

    async def attach(self, broker: str, endpoint: Any, topics: set[str]) -> None:
        """Record a new client."""
        self.calls.append(("attach", broker, sorted(topics)))

    async def reconnect(self, broker: str, endpoint: Any, topics: set[str]) -> None:
        """Record a client that comes back."""
        self.calls.append(("reconnect", broker, sorted(topics)))

    async def detach(self, broker: str) -> None:
        """Record a client that goes, which breaks two connections, one of its own."""
        self.calls.append(("detach", broker))
        self.attached.discard(broker)


class FakePlan:
    """A plan whose trees after the next event are known."""

    def __init__(self, trees: NamedTrees, after: NamedTrees) -> None:
        self.trees, self.wiring, self.after = trees, wire(trees), after

    def apply(self, events: list[Event]) -> None:
        """Take the known trees."""
        self.trees, self.wiring = self.after, rewire(self.after, self.wiring)


class Clock:
    """A clock that only `sleep` moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.sleeps = 100.0, 0
        sleep = asyncio.sleep

        async def pass_time(seconds: float) -> None:
            assert seconds >= 0
            self.now += seconds
            self.sleeps += 1
            self.tick()
            await sleep(0)

        monkeypatch.setattr(churn, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(asyncio, "sleep", pass_time)

    def tick(self) -> None:
        """Do nothing; tests replace it."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock."""
    return Clock(monkeypatch)


def make_run(
    after: NamedTrees = CHAIN, *, settings: BrokerSettings | None = None, rate: float = 40.0
) -> _ChurnRun:
    """Return a run of three brokers in a row."""
    stopped: list[tuple[str, bool]] = []
    brokers = SimpleNamespace(
        folder=Path("none"), stop=lambda broker, crash=False: stopped.append((broker, crash)), stopped=stopped
    )
    federation: Any = SimpleNamespace(
        brokers=brokers,
        settings=settings or BrokerSettings("durable"),
        inventory=Inventory.on_loopback("abc"),
        authority=None,
        certificate=None,
    )
    plan: Any = FakePlan(CHAIN, after)
    observers: Any = FakeObservers()
    return _ChurnRun(plan, federation, observers, rate, 0)


def publish_until(run: _ChurnRun, clock: Clock, end: float) -> list[tuple[str, str, str]]:
    """Let one of four publishers run for some seconds."""

    def tick() -> None:
        run.finished = clock.now >= 100 + end

    clock.tick = tick  # type: ignore[method-assign]
    asyncio.run(run._publish_steadily(0))
    observers: Any = run.observers
    return list(observers.published)


def test_the_rate_is_that_of_all_publishers_together(clock: Clock) -> None:
    """Each of four publishers sends a fourth of the rate, on all topics and from all their brokers."""
    run = make_run(rate=40.0)
    published = publish_until(run, clock, 10.0)
    assert 99 <= len(published) <= 101
    assert set(published) == {
        (broker, topic, topic) for topic, on in (("x", "abc"), ("y", "ab")) for broker in on
    }
    assert [message.topic for message, _ in run.sent] == [topic for _, topic, _ in published]
    assert {version for _, version in run.sent} == {0}


def test_a_delay_is_not_made_up_for(clock: Clock) -> None:
    """After a broker kept a publisher waiting for five seconds, it does not send all it has missed."""
    run = make_run(rate=40.0)
    observers: Any = run.observers
    publish = observers.publish

    async def slow(broker: str, topic: str, name: str) -> Message:
        if len(observers.published) == 10:
            clock.now += 5.0
        return await publish(broker, topic, name)  # type: ignore[no-any-return]

    observers.publish = slow
    assert 50 <= len(publish_until(run, clock, 10.0)) <= 53


def test_nobody_publishes_at_brokers_that_are_away(clock: Clock) -> None:
    """A broker that leaves or is not connected is skipped; so is what it might not have accepted."""
    run = make_run()
    observers: Any = run.observers
    observers.connected = set("ab")
    run.leaving.add("a")
    assert {broker for broker, _, _ in publish_until(run, clock, 5.0)} == {"b"}
    run.finished = False

    async def fail(*_: str) -> Message:
        raise load_aiomqtt().MqttError

    observers.publish = fail
    count = len(run.sent)
    publish_until(run, clock, 10.0)
    assert len(run.sent) == count


def test_publishers_follow_new_trees(clock: Clock) -> None:
    """After a change messages follow the new trees, and carry their version."""
    run = make_run()
    run.versions.append(WITHOUT_B)
    published = publish_until(run, clock, 10.0)
    assert {(broker, topic) for broker, topic, _ in published} == {("a", "x"), ("c", "x"), ("a", "y")}
    assert {version for _, version in run.sent} == {1}


@pytest.mark.parametrize(
    ("sent", "topic", "durable", "waits"),
    [
        (99.5, "y", True, True),
        (99.5, "y", False, False),
        (99.5, "x", True, False),
        (99.5, "z", True, False),
        (90.0, "y", True, False),
        (98.9, "y", True, False),
    ],
)
def test_queued_messages_are_awaited(
    clock: Clock, sent: float, topic: str, durable: bool, waits: bool
) -> None:
    """Only queued messages of the last window, on trees that stay, are awaited: here until three sleeps."""
    run = make_run()
    message = Message(topic, "a", sent, Counter("a"))
    run.sent.append((message, 0))
    run.windows.append(Window("join", "d", 95.0, ended=99.0))
    window = Window("leave", "c", 100.0, changed_topics=frozenset("x"), durable=durable)
    window.affect("xyz", 100.0, 101.0)
    run.windows.append(window)

    def tick() -> None:
        if clock.sleeps == 3:
            message.seen.update("b")

    clock.tick = tick  # type: ignore[method-assign]
    asyncio.run(run._wait_for_queued())
    assert clock.sleeps == (4 if waits else 0)


def test_lost_messages_are_not_awaited_for_ever(clock: Clock) -> None:
    """A queued message that does not arrive in time is lost."""
    run = make_run()
    run.sent.append((Message("y", "a", 100.0), 0))
    window = Window("leave", "c", 100.0, durable=True)
    window.affect("y", 100.0, 101.0)
    run.windows.append(window)
    asyncio.run(run._wait_for_queued())
    assert QUEUE_PATIENCE <= clock.now - 100.0 <= QUEUE_PATIENCE + 0.03


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, str]]]:
    """Record waves instead of applying them; while a wave lasts, the clients of a and b are cut off."""
    waves: list[list[tuple[str, str]]] = []
    monkeypatch.setattr(
        churn,
        "apply_wave",
        lambda wave, *_: waves.append([(step.action, step.broker) for step in wave]),
    )
    monkeypatch.setattr(churn, "update_folders", lambda *_: waves.append([("update", "folders")]))
    return waves


@pytest.mark.parametrize("event", [LEAVE, CRASH])
@pytest.mark.parametrize("durable", [True, False])
def test_a_leave_is_applied(applied: list[list[tuple[str, str]]], event: str, durable: bool) -> None:
    """A leaving broker is detached and stopped, its diallers restart, and all of that is recorded."""
    run = make_run(WITHOUT_B, settings=BrokerSettings("durable" if durable else "plain"))
    window = asyncio.run(run._apply_event(Event(event, "b")))
    observers, federation = (run.observers, run.federation)  # type: tuple[Any, Any]
    assert federation.brokers.stopped == ([("b", True)] if event == CRASH else [])
    assert applied == [[("stop", "b"), ("restart", "c")], [("update", "folders")]]
    assert observers.calls == [("detach", "b"), ("reconnect", "c", ["x"])]
    assert run.leaving == {"b"}
    assert set(run.endpoints) == {"a", "c"}
    assert (window.event, window.broker, window.waves, window.durable) == (event, "b", 1, durable)
    assert window.changed_topics == {"x", "y"}
    assert window.disturbed_brokers == ({"b"} if durable else {"b", "c"})
    assert (window.restarts, window.reloads, window.disconnected_clients) == (["c"], [], 0)
    assert set(window.spans) == {"x", "y"}
    assert {first for first, _ in window.spans.values()} == {window.began}  # before any wave
    assert window.began <= window.ended < window.began + 60


def test_a_join_is_applied(applied: list[list[tuple[str, str]]]) -> None:
    """A newcomer gets a port that was never used, starts, and gets clients; nobody else acts."""
    run = make_run(WITH_D)
    window = asyncio.run(run._apply_event(Event(JOIN, "d", ("x",))))
    observers: Any = run.observers
    assert applied == [[("start", "d")], [("update", "folders")]]
    assert observers.calls == [("attach", "d", ["x"])]
    assert run.leaving == set()
    port = run.endpoints["d"].port
    assert run.used_ports == {18830, 18831, 18832, port}
    assert len(run.used_ports) == 4
    assert (window.changed_topics, window.disturbed_brokers) == (frozenset("x"), frozenset())
    assert set(window.spans) == {"x"}


def test_cut_connections_of_others_are_counted(
    applied: list[list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections that break during a change count, except earlier ones and those of the broker itself."""
    run = make_run(WITHOUT_B)
    run.observers.broken_connections.update("ccc")
    monkeypatch.setattr(churn, "apply_wave", lambda *_: run.observers.broken_connections.update("bcc"))
    assert asyncio.run(run._apply_event(Event(LEAVE, "b"))).disconnected_clients == 2


def test_reloads_are_recorded(applied: list[list[tuple[str, str]]]) -> None:
    """Where bridges reload, no broker restarts, and the interrupted links are recorded."""
    run = make_run(NamedTrees(tuple("abc"), {"x": CHAIN.trees["x"]}), settings=BrokerSettings(version="2.1"))
    window = asyncio.run(run._apply_event(Event("unsubscribe", "b", ("y",))))
    assert applied == [[("reload", "b")], [("update", "folders")]]
    assert (window.restarts, window.reloads) == ([], ["b"])
    assert window.interrupted_links == {frozenset("ab")}
    assert window.disturbed_brokers == frozenset()


def test_trees_with_other_links_or_brokers_change() -> None:
    """A tree changes with its links or carriers; the direction of a link and the order do not matter."""
    turned = NamedTrees(
        tuple("abc"), {**CHAIN.trees, "x": TopicTree((("c", "b"), ("b", "a")), frozenset("abc"))}
    )
    assert _changed_topics(CHAIN, turned) == frozenset()
    relayed = NamedTrees(
        tuple("abc"), {**CHAIN.trees, "x": TopicTree(CHAIN.trees["x"].links, frozenset("ac"), frozenset("b"))}
    )
    assert _changed_topics(CHAIN, relayed) == frozenset()
    assert _changed_topics(CHAIN, WITH_D) == {"x"}
    assert _changed_topics(CHAIN, NamedTrees(tuple("abc"), {"x": CHAIN.trees["x"]})) == {"y"}
