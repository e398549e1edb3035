"""Fragments for brokers that exist: what their own configuration must provide, and whether it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from meshwright.deploy.inventory import Inventory
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets.mosquitto.fragments import (
    access_lines,
    check_existing,
    remote_password,
    requirements,
)
from meshwright.deploy.wiring import client_id, wire
from meshwright.errors import InputError

CHAIN = NamedTrees(tuple("abc"), {"x": TopicTree((("a", "b"), ("b", "c")), frozenset("abc"))})
WIRING = wire(CHAIN)
PLAIN, DURABLE = BrokerSettings("plain"), BrokerSettings("durable")


def dialled() -> str:
    """Return a broker that others dial, and that dials others."""
    return next(broker for broker in WIRING.order if WIRING.dialled_to(broker) and WIRING.dialled_by(broker))


def test_passwords_are_one_line(tmp_path: Path) -> None:
    """A password file has one printable line; without a file there is no password."""
    endpoint = Inventory.on_loopback("a").endpoints["a"]
    assert remote_password(endpoint) == []
    file = tmp_path / "word"
    secured = structs.replace(endpoint, password_file=str(file))
    with pytest.raises(
        InputError, match=f"cannot read the password file {file} of .*: correct the inventory"
    ):
        remote_password(secured)
    for text in ("", "\n", "two\nlines", "a\tb"):
        file.write_text(text)
        with pytest.raises(InputError, match="must hold one password on one line"):
            remote_password(secured)
    file.write_text("secret\r\n")
    assert remote_password(secured) == ["remote_password secret"]


def test_a_broker_needs_what_its_links_need() -> None:
    """Who is dialled needs a listener, who dials the fragment, and durable sessions need persistence."""
    inventory = Inventory.on_loopback("abc")
    for settings in (PLAIN, DURABLE):
        needs = check_existing(WIRING, inventory, settings)
        for broker in "abc":
            port = inventory.endpoints[broker].port
            assert ("needs include_dir with meshwright.conf" in needs[broker]) == bool(
                WIRING.dialled_by(broker)
            )
            assert (f"needs a listener on port {port}" in needs[broker]) == bool(WIRING.dialled_to(broker))
            assert ("needs persistence true" in needs[broker]) == settings.durable
            text = requirements(WIRING, inventory, settings, broker)
            assert (f"It listens on port {port}, where" in text) == bool(WIRING.dialled_to(broker))
            assert ("without a user" in text) == bool(WIRING.dialled_to(broker))
            assert ("persistence true" in text) == settings.durable
            assert ("1,000 is Mosquitto's default" in text) != settings.durable


def test_users_have_access_lines() -> None:
    """A user of bridges may do what all bridges that dial the broker do, and the text lists it."""
    broker = dialled()
    endpoints = dict(Inventory.on_loopback("abc").endpoints)
    endpoints[broker] = structs.replace(endpoints[broker], user="bridges", tls=True)
    inventory = Inventory(endpoints)
    assert access_lines(WIRING, broker) == ["topic readwrite x"]
    [_, listener, user] = check_existing(WIRING, inventory, PLAIN)[broker]
    assert listener.endswith("with TLS")
    assert user == "needs user bridges, with 1 access lines if it has an access list"
    text = requirements(WIRING, inventory, PLAIN, broker)
    assert "with TLS, and a certificate for `127.0.0.1`" in text
    assert "user bridges\ntopic readwrite x\n" in text


def test_configurations_are_checked(tmp_path: Path) -> None:
    """What a configuration lacks is named; one that has all of it is checked, one that is not here is not."""
    broker, file, words = dialled(), tmp_path / "own.conf", tmp_path / "words"
    endpoints = dict(Inventory.on_loopback("abc").endpoints)
    endpoints[broker] = structs.replace(endpoints[broker], user="bridges", config=str(file))
    inventory, port = Inventory(endpoints), endpoints[broker].port
    ours = client_id(broker, next(iter(WIRING.dialled_by(broker))))

    def found(settings: BrokerSettings, *lines: str) -> list[str]:
        file.write_text("".join(f"{line}\n" for line in lines))
        needed = 4 if settings.durable else 3
        return check_existing(WIRING, inventory, settings)[broker][needed:]

    assert check_existing(WIRING, inventory, PLAIN)[broker][3:] == [
        f"not checked: there is no {file} on this machine"
    ]
    (tmp_path / "more").mkdir()
    missing = [f"MISSING in {file}: an include_dir", f"MISSING in {file}: a listener on port {port}"]
    assert found(PLAIN, "allow_anonymous true") == missing
    assert found(DURABLE, "allow_anonymous true") == [*missing, f"MISSING in {file}: persistence true"]
    complete = (f"include_dir {tmp_path / 'more'}", f"listener {port}", "persistence true")
    assert found(DURABLE, *complete) == [f"checked: {file} provides it"]
    assert found(DURABLE, *complete, f"password_file {words}") == [f"checked: {file} provides it"]
    words.write_text("bridge:x\nother:y\n")
    assert found(PLAIN, *complete, f"password_file {words}") == [f"MISSING in {words}: the user bridges"]
    words.write_text("other:y\nbridges:x\n")
    assert found(PLAIN, *complete, f"password_file {words}") == [f"checked: {file} provides it"]
    words.write_bytes(b"\xff")
    assert found(PLAIN, *complete, f"password_file {words}") == [f"checked: {file} provides it"]
    bridge = (f"connection {ours}", "address 127.0.0.1:1", "topic x both")
    assert found(PLAIN, *complete, *bridge) == [f"already in {file}: {ours}; the fragment replaces them"]
