"""Updates: what is awaited after a wave is all that it changes, and files change only where they must."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import pytest

from meshwright.deploy.delta import Delta, Step
from meshwright.deploy.folder_store import update_folders, write_federation
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.observations import expected_observations
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import step_files
from meshwright.deploy.targets.mosquitto.logs import log_lines
from meshwright.deploy.waves import compute_delta
from meshwright.deploy.wiring import Wiring, rewire, wire

ORDER = ("a", "b", "c")
OLD = Wiring(ORDER, {("b", "a"): {"x": "both", "y": "both"}, ("c", "a"): {"z": "both"}})
NEW = Wiring(ORDER, {("b", "a"): {"x": "both"}, ("c", "b"): {"y": "both", "z": "both"}})
SECRET = b"0123456789abcdef"


def expected_log_lines(
    steps: Iterable[Step], delta: Delta, running: Collection[str], qos: int = 1
) -> dict[str, set[str]]:
    """Return the lines that each broker logs once a wave has taken effect."""
    expected = expected_observations(steps, delta, running)
    return {broker: log_lines(seen, qos) for broker, seen in expected.items()}


def by_wave(delta: Delta) -> list[dict[str, set[str]]]:
    """Return the expected lines of each wave."""
    return [expected_log_lines(wave, delta, ORDER) for wave in delta.waves]


def test_reloads_are_awaited() -> None:
    """With 2.1 a changed bridge comes up without the topic, a removed one goes; only then others add."""
    delta = compute_delta(OLD, NEW, BrokerSettings(version="2.1"))
    assert [[step.broker for step in wave] for wave in delta.waves] == [["b"], ["c"]]
    first, second = by_wave(delta)
    assert first == {"b": {"Reloading config."}, "a": {"meshwright.b>a 1 x"}}
    assert second == {
        "c": {"Reloading config."},
        "a": {"gone meshwright.c>a"},
        "b": {"meshwright.c>b 1 y", "meshwright.c>b 1 z"},
    }


def test_new_access_is_awaited() -> None:
    """With passwords, brokers first log that they have read the access lists, whatever the version."""
    first, *_ = by_wave(compute_delta(OLD, NEW, BrokerSettings(secret=SECRET)))
    assert first == {"a": {"Reloading config."}, "b": {"Reloading config."}}


def test_removed_topics_are_awaited() -> None:
    """With durable sessions, a bridge is up when it has also unsubscribed from its former topics."""
    delta = compute_delta(OLD, NEW, BrokerSettings("durable"))
    first, second = [expected_log_lines(wave, delta, ORDER, qos=2) for wave in delta.waves]
    assert first == {"a": {"meshwright.b>a 2 x", "meshwright.b>a y"}}
    assert second == {"b": {"meshwright.c>b 2 y", "meshwright.c>b 2 z"}}


CHAIN = Wiring(ORDER, {("b", "a"): {"x": "both"}, ("c", "b"): {"x": "both"}})
MORE = Wiring(ORDER, {("b", "a"): {"x": "both", "y": "both"}, ("c", "b"): {"x": "both"}})


def test_diallers_of_a_restarted_broker_are_awaited() -> None:
    """Who dials a broker that restarts is awaited, unless it looks for it at another address."""
    assert by_wave(compute_delta(CHAIN, MORE, BrokerSettings())) == [
        {"a": {"meshwright.b>a 1 x", "meshwright.b>a 1 y"}, "b": {"meshwright.c>b 1 x"}}
    ]
    moved = by_wave(compute_delta(CHAIN, CHAIN, BrokerSettings(), must_restart={"b"}))
    assert moved == [{"a": {"meshwright.b>a 1 x"}}, {"b": {"meshwright.c>b 1 x"}}]


def test_diallers_that_do_not_run_are_not_awaited() -> None:
    """A dialler that is stopped, or restarts in the same wave, does not come back by itself."""
    delta = compute_delta(CHAIN, MORE, BrokerSettings())
    assert expected_log_lines(delta.steps, delta, ["a", "b"]) == {
        "a": {"meshwright.b>a 1 x", "meshwright.b>a 1 y"}
    }
    both = Wiring(ORDER, {("b", "a"): {"x": "both", "y": "both"}, ("c", "b"): {"x": "both", "z": "both"}})
    together = compute_delta(CHAIN, both, BrokerSettings())
    assert by_wave(together) == [
        {
            "a": {"meshwright.b>a 1 x", "meshwright.b>a 1 y"},
            "b": {"meshwright.c>b 1 x", "meshwright.c>b 1 z"},
        }
    ]


def test_listeners_that_act_too_need_not_log_removed_bridges() -> None:
    """A listener that changes its own bridges in the same wave may have forgotten a removed bridge."""
    old = Wiring(ORDER, {("b", "a"): {"x": "both"}, ("c", "b"): {"y": "both"}})
    new = Wiring(ORDER, {("b", "a"): {"x": "both", "z": "both"}})
    delta = compute_delta(old, new, BrokerSettings(version="2.1"))
    assert len(delta.waves) == 1
    assert by_wave(delta) == [
        {
            "a": {"meshwright.b>a 1 x", "meshwright.b>a 1 z"},
            "b": {"Reloading config."},
            "c": {"Reloading config."},
        }
    ]


PAIR = NamedTrees(("a", "b"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})
ALONE = NamedTrees(("a",), {"x": TopicTree((), frozenset("a"))})


def test_folders_of_gone_brokers_lose_our_files(tmp_path: Path) -> None:
    """A broker that is gone keeps its folder and all but our files; its queues are set aside."""
    folder, settings = tmp_path / "out", BrokerSettings("durable", secret=SECRET)
    write_federation(PAIR, wire(PAIR), Inventory.on_loopback("ab"), settings, folder)
    for name in ("broker.log", "data/mosquitto.db"):
        (folder / "b" / name).write_text("x")
    new = rewire(ALONE, wire(PAIR))
    changed = update_folders(ALONE, new, Inventory.on_loopback("a"), settings, folder)
    gone = {
        "b/access", "b/client.password", "b/data/README", "b/data/mosquitto.db", "b/mosquitto.conf",
        "b/mosquitto.service", "b/passwords",
    }  # fmt: skip
    assert {name for name in changed if name.startswith("b/")} == gone
    assert {"a/passwords", "a/access", "plan.md", "start-order.txt", "federation.json"} <= set(changed)
    assert sorted(path.name for path in (folder / "b").rglob("*")) == [
        "broker.log", "data", "mosquitto.db.former",
    ]  # fmt: skip
    assert update_folders(ALONE, new, Inventory.on_loopback("a"), settings, folder) == []


def test_an_interrupted_update_is_repeated(tmp_path: Path) -> None:
    """A temporary file that an interrupted update left does not stop the next one, and nothing is left."""
    folder = tmp_path / "out"
    write_federation(PAIR, wire(PAIR), Inventory.on_loopback("ab"), BrokerSettings(), folder)
    (folder / ".update").mkdir()
    (folder / ".update" / "0").write_text("half")
    moved = Inventory.on_loopback("ab", 20_000)
    changed = update_folders(PAIR, wire(PAIR), moved, BrokerSettings(), folder)
    assert changed == ["a/mosquitto.conf", "b/mosquitto.conf", "plan.md", "federation.json"]
    assert not list(folder.rglob(".*"))
    assert "listener 20000" in (folder / "a" / "mosquitto.conf").read_text()


@pytest.mark.parametrize("durable", [True, False])
def test_a_step_writes_its_own_bridges(durable: bool) -> None:
    """After the first wave a broker dials what its step says, and knows its former topics if durable."""
    settings = BrokerSettings("durable" if durable else "plain", secret=SECRET)
    delta = compute_delta(
        Wiring(tuple("abcd"), {("c", "a"): {"x": "both", "v": "both"}, ("d", "a"): {"y": "both"}}),
        Wiring(
            tuple("abcd"), {("c", "b"): {"y": "both"}, ("c", "a"): {"v": "both"}, ("d", "b"): {"x": "both"}}
        ),
        BrokerSettings("durable" if durable else "plain", secret=SECRET),
    )
    access, first, *_ = delta.waves
    inventory = Inventory.on_loopback("abcd")
    for step in access:
        files = step_files(step, delta, inventory, settings)
        assert f"{step.broker}/passwords" in files
        assert f"{step.broker}/mosquitto.conf" not in files
    (step,) = (step for step in first if step.broker == "c")
    text = step_files(step, delta, inventory, settings)["c/mosquitto.conf"]
    assert text.count("connection ") == 1
    assert "topic v both" in text
    assert ("topic x out 2 meshwright-gone/" in text) == durable
