"""Broken and clean set-ups: lint finds the fault of each, and real brokers do what it says."""

from __future__ import annotations

import asyncio
import subprocess
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from brokers import PROGRAM, count_deliveries, subscriptions, unused_ports, wait_until
from meshwright.deploy.findings import Finding
from meshwright.deploy.targets.mosquitto.lint import lint
from meshwright.deploy.targets.mosquitto.network import Network
from meshwright.deploy.targets.mosquitto.parse import read_configurations

BOTH = "topic # both 1"


@dataclass(frozen=True)
class SetUp:
    """Brokers by name, each with its bridges: the broker that it dials, and lines."""

    bridges: dict[str, list[tuple[str, list[str]]]]
    kinds: tuple[str, ...]
    """The findings that must be there, apart from warnings about `#` and second bridges."""
    publish: tuple[str, str] = ("a", "x/y")
    """Where a message is published, and under which topic."""
    copies: dict[str, int] = field(default_factory=dict)
    """How often it then arrives at each broker: 2 for at least twice, 9 for a storm."""


X, Y, Z = "topic x/#", "topic +/y", "topic z/#"
V311, V50 = "bridge_protocol_version mqttv311", "bridge_protocol_version mqttv50"


def ring(*lines: str) -> dict[str, list[tuple[str, list[str]]]]:
    """Return three brokers, each of which dials the next one."""
    return {broker: [(other, [line])] for broker, other, line in zip("abc", "bca", lines, strict=True)}


SET_UPS = {
    # mosquitto issue 3011
    "ring with #": SetUp(ring(BOTH, BOTH, BOTH), ("loop",), copies={"b": 9}),
    # emqx issue 4619
    "pair dialled from both ends": SetUp(
        {"a": [("b", [BOTH])], "b": [("a", [BOTH])]}, ("loop",), copies={"a": 9}
    ),
    # MQTT 5, 3.3.4: a server may deliver once for each subscription that matches; Mosquitto does.
    "mqtt 5 overlaps": SetUp(
        {"a": [("b", [V50, f"{X} out 1", "topic x/y out 1"])], "b": []}, ("overlap",), copies={"b": 2}
    ),
    "mqtt 3.1.1 overlaps": SetUp(
        {"a": [("b", [V311, f"{X} out 1", "topic x/y out 1"])], "b": []}, (), copies={"b": 1}
    ),
    # Mosquitto's bridge__remap_topic: the first line with a prefix renames what crosses.
    "a line that renames beside one that does not": SetUp(
        {"a": [("b", ["topic x/+ both 1", 'topic + in 1 "" x/'])], "b": []},
        (),
        ("b", "x/y"),
        {"a": 1, "b": 1},
    ),
    "mqtt 5 overlaps under other names": SetUp(
        {"a": [("b", [V50, "topic + in 1 p/ x/", "topic # in 1 q/ x/"])], "b": []},
        ("overlap",),
        ("b", "x/y"),
        {"a": 2},
    ),
    "the same filter twice": SetUp(
        {"a": [("b", [V50, f"{X} in 1", f"{X} in 1"])], "b": []}, (), ("b", "x/y"), {"a": 1}
    ),
    "ring of filters that only overlap": SetUp(
        ring(f"{X} both 1", f"{Y} both 1", "topic x/+ both 1"), ("loop",), copies={"c": 9}
    ),
    "ring of filters that share one topic": SetUp(
        ring("topic x/+/+ both 1", "topic +/y/+ both 1", "topic +/+/z both 1"),
        ("loop",),
        ("a", "x/y/z"),
        {"b": 9},
    ),
    "ring that renames there and back": SetUp(
        ring('topic +/y both 1 "" r/', "topic r/x/+ both 1", 'topic # both 1 r/ ""'),
        ("loop",),
        copies={"b": 9},
    ),
    "ring of filters apart": SetUp(
        ring(f"{X} both 1", f"{Z} both 1", f"{X} both 1"), (), copies={"b": 1, "c": 1}
    ),
    "one-way ring": SetUp(ring(f"{X} out 1", f"{X} out 1", f"{X} out 1"), ("loop",), copies={"b": 9}),
    "ring cut by a direction": SetUp(
        ring(f"{X} out 1", f"{X} out 1", f"{X} in 1"), ("two ways",), copies={"b": 1, "c": 2}
    ),
    "diamond": SetUp(
        {
            "a": [("b", [f"{X} out 1"]), ("c", [f"{X} out 1"])],
            "b": [("d", [f"{X} out 1"])],
            "c": [("d", [f"{X} out 1"])],
            "d": [],
        },
        ("two ways",),
        copies={"b": 1, "d": 2},
    ),
    "two links, opposite ways": SetUp(
        {"a": [("b", [f"{X} out 1"])], "b": [("a", [f"{X} out 1"])]}, ("loop",), copies={"b": 9}
    ),
    "two links, one way each": SetUp(
        {"a": [("b", [f"{X} out 1"])], "b": [("a", [f"{Z} out 1"])]}, (), copies={"b": 1}
    ),
    "two links, same way": SetUp(
        {"a": [("b", [f"{X} out 1"])], "b": [("a", ["topic x/y in 1"])]}, ("two ways",), copies={"b": 2}
    ),
    "echo": SetUp(
        {"a": [("b", ["try_private false", V311, f"{X} both 1"])], "b": []},
        ("echo",),
        copies={"a": 2, "b": 1},
    ),
    "tree": SetUp(
        {"a": [], "b": [("a", [f"{X} both 1"])], "c": [("a", [f"{X} both 1"])]},
        (),
        copies={"a": 1, "b": 1, "c": 1},
    ),
    "ring that renames": SetUp(
        ring("topic # both 1 x/ x/", f"{X} both 1", f"{X} both 1"), ("loop",), copies={"b": 9}
    ),
}
IN_THE_FAST_TESTS = (
    "ring with #",
    "pair dialled from both ends",
    "mqtt 5 overlaps",
    "tree",
    "a line that renames beside one that does not",
)


def write(set_up: SetUp, folder: Path, ports: dict[str, int]) -> list[Path]:
    """Write a configuration for each broker."""
    files = []
    for broker, bridges in set_up.bridges.items():
        lines = [f"listener {ports[broker]} 127.0.0.1", "allow_anonymous true", "log_dest stderr"]
        lines += ["log_type notice", "log_type subscribe"]
        for other, options in bridges:
            lines += [
                f"connection {broker}-{other}", f"address 127.0.0.1:{ports[other]}",
                f"remote_clientid {broker}-{other}", "restart_timeout 1", "notifications false", *options,
            ]  # fmt: skip
        files.append(folder / f"{broker}.conf")
        files[-1].write_text("\n".join(lines) + "\n")
    return files


def found_in(files: list[Path]) -> list[Finding]:
    """Return what lint finds."""
    return lint(Network(read_configurations(files)))


@pytest.mark.parametrize("name", SET_UPS)
def test_the_fault_is_found(tmp_path: Path, name: str) -> None:
    """Each set-up has the findings that it should, each with a line of its files, and no others."""
    set_up = SET_UPS[name]
    files = write(set_up, tmp_path, {broker: 20000 + place for place, broker in enumerate(set_up.bridges)})
    findings = found_in(files)
    assert {one.kind for one in findings} - {"everything", "dialled twice"} == set(set_up.kinds)
    for one in findings:
        lines = Path(one.place.file).read_text().splitlines()
        assert lines[one.place.line - 1].split()[0] in ("topic", "connection")
        if one.kind == "loop":
            assert set(one.brokers) <= set(set_up.bridges)


def wait_for_bridges(set_up: SetUp, folder: Path, running: list[subprocess.Popen[bytes]]) -> None:
    """Wait until every bridge has connected and subscribed."""
    for broker, bridges in set_up.bridges.items():
        for other, options in bridges:
            name, log = f"{broker}-{other}", folder / f"{other}.log"
            asked = sum(
                line.split()[2:3] in (["both"], ["in"]) for line in options if line.startswith("topic")
            )
            wait_until(partial(is_up, log, name, asked), f"{name} is up", running)


def is_up(log: Path, bridge: str, asked: int) -> bool:
    """Return whether a bridge has connected, and holds its subscriptions."""
    return f" as {bridge} (" in log.read_text() and subscriptions(log, bridge) >= asked


@pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
@pytest.mark.parametrize(
    "name",
    [name if name in IN_THE_FAST_TESTS else pytest.param(name, marks=pytest.mark.slow) for name in SET_UPS],
)
def test_real_brokers_do_what_lint_says(tmp_path: Path, name: str) -> None:
    """A storm storms for a bounded second, duplicates arrive twice, and what is clean arrives once."""
    set_up = SET_UPS[name]
    ports = dict(zip(set_up.bridges, unused_ports(len(set_up.bridges)), strict=True))
    running: list[subprocess.Popen[bytes]] = []
    try:
        for file in write(set_up, tmp_path, ports):
            with file.with_suffix(".log").open("wb") as log:
                running += [subprocess.Popen([str(PROGRAM), "-c", str(file)], stderr=log)]
        wait_for_bridges(set_up, tmp_path, running)
        origin, topic = set_up.publish
        least = {broker: 10 if times == 9 else times for broker, times in set_up.copies.items()}
        seen = asyncio.run(count_deliveries(ports, origin, topic, least))
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait(timeout=10)
    for broker, times in set_up.copies.items():
        if times == 9:
            assert seen[broker] > 9, seen
        elif times == 2:
            assert 2 <= seen[broker] <= 9, seen
        else:
            assert seen[broker] == 1, seen
