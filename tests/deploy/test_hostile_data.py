"""Manifests, requests and files with passwords are data: none of them becomes a line of a configuration."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from meshwright.brokers.mosquitto import MOSQUITTO
from meshwright.deploy.folder_store import write_federation
from meshwright.deploy.hosts import services
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import write_lines
from meshwright.deploy.targets.mosquitto import fragments, render
from meshwright.deploy.wiring import Wiring, wire
from meshwright.errors import FormatError, InputError
from meshwright.files.schema import HAS_CONTROL

PAIR = NamedTrees(("a", "b"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})
EVIL = "x\nconnection evil\naddress evil.example:1883\ntopic # both 0"
SECRET = b"0123456789abcdef"
STEP: dict[str, Any] = {"action": "restart", "broker": "b", "removed": [], "added": []}
ROLLOUT: dict[str, Any] = {"target": "0", "done": 0, "brokers": {}, "waves": []}

EDITS: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("brokers[0].host", lambda it: it["brokers"][0].update(host=EVIL)),
    ("brokers[0].port", lambda it: it["brokers"][0].update(port=f"1883\n{EVIL}")),
    ("brokers[0].bridge_port", lambda it: it["brokers"][0].update(bridge_port=EVIL)),
    ("brokers[0].user", lambda it: it["brokers"][0].update(user=EVIL)),
    ("brokers[0].ca_file", lambda it: it["brokers"][0].update(ca_file=EVIL)),
    ("brokers[0].password_file", lambda it: it["brokers"][0].update(password_file=EVIL)),
    ("brokers[0].config", lambda it: it["brokers"][0].update(config=EVIL)),
    ("brokers[0].folder", lambda it: it["brokers"][0].update(folder=EVIL)),
    ("brokers[0].broker", lambda it: it["brokers"][0].update(broker=EVIL)),
    ("gone[0].host", lambda it: it.update(gone=[{"broker": "c", "host": EVIL, "port": 1}])),
    ("bridges[0].dialler", lambda it: it["bridges"][0].update(dialler=EVIL)),
    ("bridges[0].listener", lambda it: it["bridges"][0].update(listener=EVIL)),
    ("bridges[0].topics", lambda it: it["bridges"][0].update(topics={EVIL: "both"})),
    ("bridges[0].topics['x']", lambda it: it["bridges"][0].update(topics={"x": f"both 0\n{EVIL}"})),
    (
        "taken_off[0].topics[0]",
        lambda it: it.update(taken_off=[{"dialler": "b", "listener": "a", "topics": [EVIL]}]),
    ),
    ("identity", lambda it: it.update(identity=EVIL)),
    ("files", lambda it: it["files"].update({EVIL: "0" * 64})),
    ("files", lambda it: it["files"].update({"../evil": "0" * 64})),
    (
        "rollout.brokers",
        lambda it: it.update(rollout={**ROLLOUT, "brokers": {EVIL: {"host": "h", "port": 1}}}),
    ),
    (
        "rollout.brokers['c'].host",
        lambda it: it.update(rollout={**ROLLOUT, "brokers": {"c": {"host": EVIL, "port": 1}}}),
    ),
    (
        "rollout.waves[0][0].broker",
        lambda it: it.update(rollout={**ROLLOUT, "waves": [[{**STEP, "broker": EVIL}]]}),
    ),
    (
        "rollout.waves[0][0].bridges['a']",
        lambda it: it.update(rollout={**ROLLOUT, "waves": [[{**STEP, "bridges": {"a": {EVIL: "both"}}}]]}),
    ),
    (
        "rollout.waves[0][0].bridges['a']['x']",
        lambda it: it.update(rollout={**ROLLOUT, "waves": [[{**STEP, "bridges": {"a": {"x": EVIL}}}]]}),
    ),
]


@pytest.mark.parametrize(
    ("field", "edit"), EDITS, ids=[f"{number}-{field}" for number, (field, _) in enumerate(EDITS)]
)
def test_a_manifest_writes_no_lines(
    tmp_path: Path, field: str, edit: Callable[[dict[str, Any]], object]
) -> None:
    """A text with line breaks in any field of federation.json is refused, with the name of the field."""
    folder = write_federation(
        PAIR, wire(PAIR), Inventory.on_loopback("ab"), BrokerSettings("durable"), tmp_path / "f"
    )
    content = json.loads((folder / "federation.json").read_text())
    edit(content)
    (folder / "federation.json").write_text(json.dumps(content))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(FormatError, match=r"federation\.json is damaged: ") as raised:
        read_federation(folder)
    assert f" {field} " in str(raised.value)
    assert "\n" not in str(raised.value)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


WRONG: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("it does not say where brokers 'c' are", lambda it: it["bridges"][0].update(listener="c")),
    ("it does not say where brokers 'c' are", lambda it: it["bridges"][0].update(dialler="c")),
    ("a broker or bridge is there twice", lambda it: it["brokers"].append({**it["brokers"][0], "port": 1})),
    ("a broker or bridge is there twice", lambda it: it["bridges"].append(it["bridges"][0])),
    ("1 of 0 waves are done", lambda it: it.update(rollout={**ROLLOUT, "done": 1})),
    (
        "it does not say where brokers 'c' are",
        lambda it: it.update(rollout={**ROLLOUT, "waves": [[{**STEP, "broker": "c", "action": "stop"}]]}),
    ),
    (
        "it does not say where brokers 'c' are",
        lambda it: it.update(rollout={**ROLLOUT, "waves": [[{**STEP, "bridges": {"c": {"x": "both"}}}]]}),
    ),
    (
        "a step stops 'b', which is not there",
        lambda it: it.update(rollout={**ROLLOUT, "waves": 2 * [[{**STEP, "action": "stop"}]]}),
    ),
    (
        "rollout.waves[0][0].action is 'explode', not reload, restart, start or stop",
        lambda it: it.update(rollout={**ROLLOUT, "waves": [[{**STEP, "action": "explode"}]]}),
    ),
]


@pytest.mark.parametrize(("said", "edit"), WRONG)
def test_a_manifest_names_what_it_has(
    tmp_path: Path, said: str, edit: Callable[[dict[str, Any]], object]
) -> None:
    """Bridges and steps of brokers that are not there, or there twice, are damage and no accident later."""
    folder = write_federation(PAIR, wire(PAIR), Inventory.on_loopback("ab"), BrokerSettings(), tmp_path / "f")
    content = json.loads((folder / "federation.json").read_text())
    edit(content)
    (folder / "federation.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match=rf"federation\.json is damaged: {re.escape(said)}; write it again"):
        read_federation(folder)


@pytest.mark.parametrize("control", ["\n", "\r", "\0", "\x0b", "\x7f", "\x85", "\u2028", "\ud800"])
def test_a_line_is_one_line(control: str) -> None:
    """Whatever reaches the writer of lines, a control character is refused, and a password is not shown."""
    with pytest.raises(InputError, match="begins with 'remote_password' would hold a control") as raised:
        write_lines(["connection a", f"remote_password word{control}topic # both 0"])
    assert "word" not in str(raised.value).replace("password", "")
    assert write_lines(["connection a", "", "topic ä/+ in"]) == "connection a\n\ntopic ä/+ in\n"


@pytest.mark.parametrize("topic", [EVIL, "x\rtopic # both 0"])
def test_every_file_of_a_broker_is_written_by_lines(topic: str) -> None:
    """What slipped through every check before is refused in configuration, access list, users and units."""
    wiring, inventory = Wiring(("a", "b"), {("b", "a"): {topic: "both"}}), Inventory.on_loopback("ab")
    places = Inventory({"a": Endpoint("h", 1, user="u"), "b": Endpoint("h", 2)})
    plain, secured, fragment = BrokerSettings(), BrokerSettings(secret=SECRET), BrokerSettings(fragment=True)
    writers: list[Callable[[], str | dict[str, str]]] = [
        lambda: render.configuration(wiring, inventory, plain, "b"),
        lambda: render.bridge_access(wiring, "a", secured),
        lambda: render.fragment(wiring, inventory, fragment, "b"),
        lambda: render.password_line(SECRET, topic, "word"),
        lambda: fragments.requirements(wiring, places, fragment, "a"),
        lambda: services.docker_compose(wiring, MOSQUITTO, topic),
        lambda: services.systemd_unit("a", replace(MOSQUITTO, command=topic)),
    ]
    for write in writers:
        with pytest.raises(InputError, match="would hold a control character"):
            write()


@pytest.mark.parametrize("module", [render, fragments, services])
def test_nothing_else_ends_a_line(module: ModuleType) -> None:
    """Where configurations and units are written, only the writer of lines puts values before line ends."""
    tree = ast.parse(inspect.getsource(module))
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    assert formatted
    parts = [part for node in formatted for part in node.values if isinstance(part, ast.Constant)]
    assert [part.value for part in parts if "\n" in str(part.value)] == []


@pytest.mark.parametrize("word", ["pass\nconnection evil", "pass\rword", "pass\x85word", "", "\n"])
def test_a_password_is_one_line(tmp_path: Path, word: str) -> None:
    """A file with more than one line, or with control characters, is no password."""
    (tmp_path / "word").write_text(word, encoding="utf-8", newline="")
    place = Endpoint("h", 1, user="u", password_file=str(tmp_path / "word"))
    with pytest.raises(InputError, match="must hold one password on one line"):
        fragments.remote_password(place)


def test_a_password_is_read_from_a_small_file(tmp_path: Path) -> None:
    """A device that never ends, or a pipe that nobody writes to, is no file with a password."""
    for file in ("/dev/zero", tmp_path):
        with pytest.raises(InputError, match="password"):
            fragments.remote_password(Endpoint("h", 1, user="u", password_file=str(file)))


@pytest.mark.parametrize("field", ["host", "user", "password_file", "ca_file", "config"])
def test_an_endpoint_made_in_python_is_checked(field: str) -> None:
    """The type itself refuses what a file may not hold."""
    with pytest.raises(InputError, match=rf"^{field} is 'x\\nconnection evil.*: correct it$"):
        msgspec.structs.replace(Endpoint("h", 1), **{field: EVIL})
    with pytest.raises(InputError, match=r"^port is 0, not a whole number from 1 to 65535: correct it$"):
        Endpoint("h", 0)


def test_exported_names_can_be_read_back(tmp_path: Path) -> None:
    """Brokers whose names hold line breaks are refused before anything is written."""
    for name in ("a\nconnection evil", "a\x85b", "a\u2028b", "a\x7f"):
        assert HAS_CONTROL.search(name)
        trees = NamedTrees((name, "b"), {"x": TopicTree(((name, "b"),), frozenset((name, "b")))})
        with pytest.raises(InputError, match="hold control characters or line breaks: rename them"):
            write_federation(
                trees, wire(trees), Inventory.on_loopback(trees.brokers), BrokerSettings(), tmp_path / "f"
            )
        assert not (tmp_path / "f").exists()
