"""Bridges that are refused: lint says so from the files of both ends, and a real broker does the same."""

from __future__ import annotations

import base64
import hashlib
import subprocess
from functools import partial
from pathlib import Path

import pytest

from brokers import PROGRAM, unused_ports, wait_until
from meshwright.brokers.certificates import Authority
from meshwright.deploy.findings import FAULT
from meshwright.deploy.folder_store import write_federation
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets.mosquitto.credentials import has_user
from meshwright.deploy.targets.mosquitto.lint import lint
from meshwright.deploy.targets.mosquitto.network import Network
from meshwright.deploy.targets.mosquitto.parse import read_configurations
from meshwright.deploy.targets.mosquitto.render import password_line
from meshwright.deploy.wiring import wire
from terminal import meshwright

SECRET = b"0123456789abcdef"
SERVER = "certfile certs/broker.crt\nkeyfile certs/broker.key\n"
PASSWORDS = "password_file passwords\n"
LISTENERS = {
    "open": "allow_anonymous true\n",
    "closed": f"allow_anonymous false\n{PASSWORDS}",
    "unstated": PASSWORDS,
    "both": f"allow_anonymous true\n{PASSWORDS}",
    "tls": f"allow_anonymous true\n{SERVER}",
    "certified": f"allow_anonymous true\n{SERVER}cafile certs/ca.crt\nrequire_certificate true\n",
    "half": "allow_anonymous true\ncertfile certs/broker.crt\n",
}
RIGHT, OLD = ("remote_username u", "remote_password w w"), ("username old", "password w")
TLS, OWN = (
    "bridge_cafile certs/ca.crt",
    ("bridge_certfile certs/broker.crt", "bridge_keyfile certs/broker.key"),
)
BRIDGES: dict[str, tuple[str, tuple[str, ...], str | None]] = {
    "anonymous to open": ("open", (), None),
    "user to open": ("open", RIGHT, None),
    "right": ("closed", RIGHT, None),
    "right, as sha512": ("closed", OLD, None),
    "right where anybody may": ("both", RIGHT, None),
    "right where nothing is said": ("unstated", RIGHT, None),
    "wrong password": ("closed", ("remote_username u", "remote_password w"), "login"),
    "wrong sha512": ("closed", ("username old", "password v"), "login"),
    "wrong where anybody may": ("both", ("remote_username u", "remote_password w"), "login"),
    "unknown user": ("closed", ("remote_username v", "remote_password w w"), "login"),
    "unknown where anybody may": ("both", ("remote_username v",), "login"),
    "user in clear text": ("closed", ("remote_username clear", "remote_password w"), "login"),
    "no password": ("closed", ("remote_username u",), "login"),
    "no user": ("closed", (), "login"),
    "no user where nothing is said": ("unstated", (), "login"),
    "no user where anybody may": ("both", (), None),
    "tls to tls": ("tls", (TLS,), None),
    "tls to plain": ("open", (TLS,), "tls"),
    "tls to half": ("half", (TLS,), "tls"),
    "plain to half": ("half", (), None),
    "plain to tls": ("tls", (), "tls"),
    "without a certificate": ("certified", (TLS,), "tls"),
    "with a certificate": ("certified", (TLS, *OWN), None),
}
"""The listener that each bridge dials, its options, and what is wrong with it."""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, dict[str, int]]:
    """Write a broker with all listeners and one with all bridges; return their folder, and the ports."""
    ports = dict(zip((*LISTENERS, "dialler"), unused_ports(len(LISTENERS) + 1), strict=True))
    Authority(tmp_path / "authority").issue("127.0.0.1", tmp_path / "certs")
    salt = b"s" * 12
    old = (base64.b64encode(each).decode() for each in (salt, hashlib.sha512(b"w" + salt).digest()))
    lines = [password_line(SECRET, "u", "w w"), f"old:$6${'$'.join(old)}\n", "clear:w\n", "# none\n"]
    (tmp_path / "passwords").write_text("".join(lines))
    general = "user root\nlog_type notice\nlog_type error\nlog_type information\nlog_dest stderr\n"
    own = (f"listener {ports[name]} 127.0.0.1\n{options}" for name, options in LISTENERS.items())
    (tmp_path / "hub.conf").write_text(f"{general}per_listener_settings true\n{''.join(own)}")
    bridges = []
    for number, (name, (listener, options, _)) in enumerate(BRIDGES.items()):
        client = name.replace(" ", "-")
        bridges += [
            f"connection {client}", f"address 127.0.0.1:{ports[listener]}", f"remote_clientid {client}",
            "notifications false", f"topic {number} out 1", *options,
        ]  # fmt: skip
    (tmp_path / "spoke.conf").write_text(
        f"{general}listener {ports['dialler']} 127.0.0.1\nallow_anonymous true\n" + "\n".join(bridges) + "\n"
    )
    return tmp_path, ports


def test_lint_says_which_bridges_are_refused(files: tuple[Path, dict[str, int]]) -> None:
    """Each bridge that cannot come up is one fault with its reason; no password is shown."""
    folder, _ = files
    found = [one for one in lint(Network(read_configurations([folder]))) if one.kind in ("login", "tls")]
    text = (folder / "spoke.conf").read_text().split("\n")
    named = {text[one.place.line - 1].removeprefix("connection "): one.kind for one in found}
    assert named == {name.replace(" ", "-"): kind for name, (_, _, kind) in BRIDGES.items() if kind}
    assert len(named) == len(found)
    assert {one.severity for one in found} == {FAULT}
    shown = "".join(map(str, found))
    assert "has a password for user 'u' that" in shown
    assert "w w" not in shown


@pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
def test_a_real_broker_refuses_the_same_bridges(files: tuple[Path, dict[str, int]]) -> None:
    """Exactly the bridges without a finding are accepted."""
    folder, _ = files
    up = {name.replace(" ", "-") for name, (_, _, kind) in BRIDGES.items() if kind is None}
    running: list[subprocess.Popen[bytes]] = []
    try:
        for name in ("hub", "spoke"):
            with (folder / f"{name}.log").open("wb") as output:
                command = [str(PROGRAM), "-c", f"{name}.conf"]
                running.append(subprocess.Popen(command, cwd=folder, stderr=output))
            started = partial(is_running, folder / f"{name}.log")
            wait_until(started, f"{name} runs", running)
        log = folder / "hub.log"
        wait_until(lambda: up <= accepted(log), "the right bridges are up", running)
        refused = len(BRIDGES) - len(up)
        wait_until(lambda: len(refusals(log)) >= refused, "the others were refused", running)
        assert accepted(log) == up
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait(timeout=10)


def is_running(log: Path) -> bool:
    """Return whether a broker has started."""
    return " running" in log.read_text()


def accepted(log: Path) -> set[str]:
    """Return the clients that a broker accepted."""
    lines = log.read_text().split("\n")
    return {line.split(" as ")[1].split(" ")[0] for line in lines if " connected from " in line}


def refusals(log: Path) -> list[str]:
    """Return what a broker says of clients that it refused."""
    words = ("not authorised", "rotocol error", " failed: error")
    return [line for line in log.read_text().split("\n") if any(word in line for word in words)]


STARTS = {
    "topic x/# out 2": True,
    "topic x/# out 3": False,
    "topic x/# out -1": False,
    'topic x/# in 1 "" a/': True,
    "topic x/# in 1 +/ a/": False,
    "topic x/# in 1 a/ b/#": False,
    'topic "" out 1 a/ b/': True,
    'topic "" out 1': False,
    "topic x\tout 1": False,
    "topic x sideways 1": False,
    "": False,
}
"""Lines of a bridge, and whether the broker starts with them."""


@pytest.mark.parametrize("line", STARTS)
def test_lines_with_which_a_broker_does_not_start(tmp_path: Path, line: str) -> None:
    """Lint finds a fault in the lines with which the program ends at once, and in no others."""
    port, other = unused_ports(2)
    text = f"user root\nlistener {port} 127.0.0.1\nallow_anonymous true\n"
    text += f"connection c\naddress 127.0.0.1:{other}\n"
    (tmp_path / "a.conf").write_text(f"{text}{line}\n")
    (tmp_path / "b.conf").write_text(f"listener {other} 127.0.0.1\nallow_anonymous true\n")
    found = [one for one in lint(Network(read_configurations([tmp_path]))) if one.severity == FAULT]
    assert [(one.kind, one.place.line) for one in found] == (
        [] if STARTS[line] else [("syntax", 6 if line else 4)]
    )
    if PROGRAM is not None:
        process = subprocess.Popen(
            [PROGRAM, "-c", str(tmp_path / "a.conf")], stderr=subprocess.PIPE, text=True
        )
        try:
            assert process.stderr is not None
            said = next(each for each in process.stderr if "running" in each or "Error" in each)
            assert ("running" in said) == STARTS[line], said
        finally:
            process.kill()
            process.communicate()


def test_numbers_that_mosquitto_guesses(tmp_path: Path) -> None:
    """Mosquitto starts with a QoS that is no number, or a too large one, and reads another: a fault, too."""
    text = "listener 1 127.0.0.1\nallow_anonymous true\nconnection c\naddress 127.0.0.1:2\n"
    (tmp_path / "a.conf").write_text(f"{text}topic x out 1x\ntopic y out 256\n")
    (tmp_path / "b.conf").write_text("listener 2 127.0.0.1\nallow_anonymous true\n")
    found = lint(Network(read_configurations([tmp_path])))
    assert [(one.kind, one.place.line) for one in found] == [("syntax", 5), ("syntax", 6)]


@pytest.mark.parametrize("apart", [True, False])
def test_what_export_writes_lets_its_bridges_in(tmp_path: Path, apart: bool) -> None:
    """A federation with a secret has no finding, and one with another password."""
    trees = NamedTrees(("a", "b"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})
    places = {
        name: Endpoint("127.0.0.1", 2 * number + 1, bridge_port=2 * number + 2 if apart else None)
        for number, name in enumerate("ab")
    }
    settings = BrokerSettings(secret=SECRET)
    folder = write_federation(trees, wire(trees), Inventory(places), settings, tmp_path / "f")
    assert meshwright("lint", folder).out == "2 brokers, 1 bridge: nothing found\n"
    users = folder / "a" / ("bridges.passwords" if apart else "passwords")
    users.write_text(
        "".join(f"{line.partition(':')[0]}:$7$101$AAAA$AAAA\n" for line in users.read_text().split("\n"))
    )
    answer = meshwright("lint", folder)
    assert answer.code == 0
    assert " fault: bridge 'meshwright.b>a." in answer.out
    assert f"that {users} does not have; correct one of the two" in answer.out


def test_password_files_that_are_not_judged(tmp_path: Path) -> None:
    """A file that is not text, far away, that takes too long, or beside a plugin, says nothing."""
    bridge = "connection c\naddress 127.0.0.1:1\ntopic x out 1\nremote_username u\nremote_password w\n"
    (tmp_path / "b.conf").write_text(f"listener 2 127.0.0.1\n{bridge}")
    (tmp_path / "slow").write_text("u:$7$1000000000$AAAA$AAAA\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for options in (
        "password_file binary", "password_file slow", "password_file none", "password_file /etc/none",
        f"password_file {tmp_path}/passwd", "password_file p\nplugin x.so", "use_identity_as_username true",
    ):  # fmt: skip
        (tmp_path / "passwd").write_text("v:$7$101$AAAA$AAAA\n")
        (tmp_path / "a.conf").write_text(f"listener 1 127.0.0.1\nallow_anonymous false\n{options}\n")
        assert lint(Network(read_configurations([tmp_path]))) == [], options
    assert has_user(tmp_path / "binary", "u")
    assert not has_user(tmp_path / "passwd", "u")
