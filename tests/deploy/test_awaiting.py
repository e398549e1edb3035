"""What is waited for after a wave: all that it changes, and nothing that will not be said."""

from __future__ import annotations

from meshwright.deploy import Wiring
from meshwright.deploy.config.delta import Delta, delta
from meshwright.deploy.federation.update import awaited

ORDER = ("a", "b", "c")
OLD = Wiring(ORDER, {("b", "a"): {"x": "both", "y": "both"}, ("c", "a"): {"z": "both"}})
NEW = Wiring(ORDER, {("b", "a"): {"x": "both"}, ("c", "b"): {"y": "both", "z": "both"}})


def of_waves(found: Delta) -> list[dict[str, set[str]]]:
    return [awaited(wave, found, ORDER) for wave in found.waves]


def test_reloads_are_waited_for() -> None:
    """With 2.1 a changed bridge comes anew without the topic, one that is gone goes; only then others add."""
    found = delta(OLD, NEW, version="2.1")
    assert [[step.broker for step in wave] for wave in found.waves] == [["b"], ["c"]]
    first, second = of_waves(found)
    assert first == {"b": {"Reloading config."}, "a": {"meshwright.b>a 1 x"}}
    assert second == {
        "c": {"Reloading config."},
        "a": {"gone meshwright.c>a"},
        "b": {"meshwright.c>b 1 y", "meshwright.c>b 1 z"},
    }


def test_new_access_is_waited_for() -> None:
    """With passwords, brokers first say that they have read who may do what, whatever the version."""
    first, *_ = of_waves(delta(OLD, NEW, secured=True))
    assert first == {"a": {"Reloading config."}, "b": {"Reloading config."}}


def test_what_is_taken_off_is_waited_for() -> None:
    """Where sessions last, a bridge is up when it has also unsubscribed from what it carries no more."""
    found = delta(OLD, NEW, durable=True)
    first, second = [awaited(wave, found, ORDER, qos=2) for wave in found.waves]
    assert first == {"a": {"meshwright.b>a 2 x", "meshwright.b>a y"}}
    assert second == {"b": {"meshwright.c>b 2 y", "meshwright.c>b 2 z"}}


def test_restarts_bring_diallers_back() -> None:
    """Who dials a broker that restarts is waited for, unless it looks for it at another address."""
    chain = Wiring(ORDER, {("b", "a"): {"x": "both"}, ("c", "b"): {"x": "both"}})
    more = Wiring(ORDER, {("b", "a"): {"x": "both", "y": "both"}, ("c", "b"): {"x": "both"}})
    assert of_waves(delta(chain, more)) == [
        {"a": {"meshwright.b>a 1 x", "meshwright.b>a 1 y"}, "b": {"meshwright.c>b 1 x"}}
    ]
    moved = of_waves(delta(chain, chain, restless={"b"}))
    assert moved == [{"a": {"meshwright.b>a 1 x"}}, {"b": {"meshwright.c>b 1 x"}}]
