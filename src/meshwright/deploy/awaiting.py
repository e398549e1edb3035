"""What brokers will say in their logs once a wave of a delta has taken effect."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from meshwright.deploy.delta import RELOAD, RESTART, START
from meshwright.deploy.logs import GONE, RELOADED, arrivals
from meshwright.deploy.wiring import Wiring, client_id, taken_off

if TYPE_CHECKING:
    from meshwright.deploy.delta import Delta, Step


def awaited(
    steps: Iterable[Step], found: Delta, running: Collection[str], qos: int = 1
) -> dict[str, set[str]]:
    """Return what each broker says when a wave is done: the next one must not begin before.

    A broker that starts has its bridges up; one that restarts is found again by those that dial it. One that
    reloads says so, and its bridges with other topics than before come anew (from 2.1 on), or go.
    """
    wanted: dict[str, set[str]] = {}

    def add(more: dict[str, set[str]]) -> None:
        for broker, lines in more.items():
            wanted.setdefault(broker, set()).update(lines)

    acted = {step.broker: step for step in steps if step.action in (START, RESTART, RELOAD)}
    present = _present(found)
    for broker, step in acted.items():
        dialled = dict(step.bridges or {})
        if step.action == RELOAD:
            add({broker: {RELOADED}})
            changed = step.changed
            # Who starts anew in this wave has forgotten, and need not be told.
            lost = [other for other in changed - dialled.keys() if _stays(other, acted)]
            add({other: {f"{GONE} {client_id(broker, other)}"} for other in lost})
            dialled = {other: lines for other, lines in dialled.items() if other in changed}
        own = Wiring(found.new.order, {(broker, other): lines for other, lines in dialled.items()})
        add(arrivals(own, own.bridges, qos))
        if found.durable:
            for pair, topics in taken_off(found.old, own).items():
                if pair in own.bridges:
                    add({pair[1]: {f"{client_id(*pair)} {topic}" for topic in topics}})
        # Those who dial a broker that restarts come back by themselves, with what they carry at present; but
        # who does not know its new address or password comes with its own step.
        if step.action == RESTART and broker not in found.restless:
            diallers = present.heard_by(broker)
            pairs = [(other, broker) for other in diallers if other in running and _stays(other, acted)]
            add(arrivals(present, pairs, qos))
    return wanted


def _stays(broker: str, acted: dict[str, Step]) -> bool:
    """Say whether a broker goes on while a wave happens, with all that it knows."""
    return broker not in acted or (acted[broker].action == RELOAD and acted[broker].bridges is None)


def _present(found: Delta) -> Wiring:
    """Return the lines that are in both wirings: what is sure to be there before, after and in between."""
    bridges = {
        pair: {t: way for t, way in lines.items() if found.new.bridges.get(pair, {}).get(t) == way}
        for pair, lines in found.old.bridges.items()
    }
    return Wiring(found.old.order, {pair: lines for pair, lines in bridges.items() if lines})
