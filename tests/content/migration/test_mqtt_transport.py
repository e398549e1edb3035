"""Migration over a real Mosquitto."""

from __future__ import annotations

import asyncio
import socket
import sys

import pytest

from brokers import PROGRAM
from meshwright.content import synthetic
from meshwright.content.migration import Crash, Terms, migrate
from meshwright.content.migration.mqtt_transport import is_closed_socket
from meshwright.content.sequential import random
from meshwright.errors import InputError, MissingDependencyError

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")


@needs_broker
def test_over_a_real_broker() -> None:
    """Over a real broker, nothing is lost or doubled either, although broker agents' connections are cut."""
    workload = synthetic(24, 4, 6, capacity=4.0, seed=1)
    # Time is real: on a busy machine, a short patience floods the run with copies.
    terms = Terms(
        publications=300,
        seconds=1.0,
        decline=0.2,
        pause=0.02,
        patience=2.0,
        crashes=(Crash(4, "home"), Crash(8, "foreign")),
        limit=120.0,
    )
    run = migrate(workload, random(workload, seed=3), terms, seed=1, transport="mosquitto")
    assert len(run.crashed) == 2
    assert run.verdict.expected > 300
    assert run.sound
    assert run.messages["connect"] > 0
    assert sum(not step.paid for step in run.steps) > 0


def test_a_closed_socket_differs_from_other_failures() -> None:
    """The loop's error about a socket that was closed before is recognised, and no other error is."""
    loop, (one, other) = asyncio.new_event_loop(), socket.socketpair()
    number = one.fileno()
    one.close()
    other.close()
    with pytest.raises(OSError) as raised:  # noqa: PT011 the function under test checks the error
        loop.add_writer(number, print)
    loop.close()
    assert is_closed_socket(raised.value)
    assert not any(map(is_closed_socket, (None, ConnectionResetError(104, "reset"), ValueError())))


def test_too_many_agents_for_a_broker() -> None:
    """More agents than allowed connections are rejected before anything is started."""
    workload = synthetic(300, 3, 6, seed=1)
    with pytest.raises(InputError, match="303 users and brokers over mosquitto: take at most 250"):
        migrate(workload, random(workload), transport="mosquitto")


def test_a_missing_client_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the MQTT client, the error says how to install it."""
    monkeypatch.setitem(sys.modules, "aiomqtt", None)
    workload = synthetic(20, 3, 6, seed=1)
    with pytest.raises(MissingDependencyError, match=r"pip install 'meshwright\[mqtt\]'"):
        migrate(workload, random(workload), transport="mosquitto")
