"""Change a federation: its folders on disk, and its brokers if they run here."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from meshwright.deploy.change import require_writable
from meshwright.deploy.delta import RELOAD, RESTART, START, STOP, Step, orphaned_sessions
from meshwright.deploy.folder_store import update_files, update_folders
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.proof.traffic import client_of
from meshwright.deploy.rollout import wave_files
from meshwright.deploy.settings import bridge_identity
from meshwright.deploy.targets.mosquitto.logs import GONE, RELOADED, bridge_up_lines
from meshwright.deploy.wiring import LOCAL, Wiring, client_id, find_former_topics

if TYPE_CHECKING:
    from pathlib import Path

    from meshwright.deploy.change import Change
    from meshwright.deploy.delta import Delta
    from meshwright.deploy.hosts.local import RunningFederation
    from meshwright.deploy.inventory import Inventory
    from meshwright.deploy.rollout import Rollout
    from meshwright.deploy.settings import BrokerSettings


def apply_change(change: Change, federation: RunningFederation) -> list[str]:
    """Apply a change to running brokers, wave by wave, and to their folders; return the files that changed.

    A change that was interrupted goes on with the wave that was written last: its brokers may not have acted.

    Raises
    ------
    OutputError
        If a file that we did not write is in the way; then nothing has changed.
    """
    require_writable(change)
    changed: set[str] = set()
    begin = max(change.rollout.done - 1, 0)
    for number, wave in enumerate(change.rollout.waves[begin:], start=begin + 1):
        rollout = replace(change.rollout, done=number)
        changed.update(apply_wave(wave, change.delta, change.inventory, federation, rollout))
    folder, settings = federation.brokers.folder, federation.settings
    changed.update(update_folders(change.trees, change.delta.new, change.inventory, settings, folder))
    return sorted(changed)


def apply_wave(
    wave: Iterable[Step],
    delta: Delta,
    inventory: Inventory,
    federation: RunningFederation,
    rollout: Rollout | None = None,
) -> list[str]:
    """Apply a wave to running brokers, and wait until it has taken effect; return the files that changed.

    The manifest notes the `rollout`, so that it can be resumed. The files are written first: if that
    fails, no broker was touched. A broker that cannot be started again counts as one that ended by itself.
    """
    brokers, logs, settings = federation.brokers, federation.logs, federation.settings
    rank = {broker: place for place, broker in enumerate(delta.new.order)}
    steps = sorted(wave, key=lambda step: rank.get(step.broker, -1))
    running = list(brokers.running)
    described = replace(read_federation(brokers.folder), rollout=rollout)
    files = wave_files(steps, delta, inventory, settings)
    changed = update_files(files, described, brokers.folder, only=True, secured=settings.secret is not None)
    # Stop all before starting any: otherwise a restarted bridge could log in at a broker about to stop.
    stopped = {
        step.broker: brokers.stop(step.broker)
        for step in steps
        if step.action in (STOP, START, RESTART) and step.broker in brokers.running
    }
    positions = logs.positions(running)
    try:
        for step in steps:
            if step.action in (START, RESTART):
                brokers.start(step.broker)
            elif step.action == RELOAD:
                _reload(step, delta, federation)
    except BaseException:
        # The supervisor finds these brokers ended, and starts them again from their new files.
        for step in steps:
            if step.action != STOP and step.broker in stopped:
                brokers.running.setdefault(step.broker, stopped[step.broker])
        raise
    logs.wait(expected_log_lines(steps, delta, brokers.running, settings.qos), positions, seconds=30.0)
    orphans = orphaned_sessions(delta, steps)
    end_sessions(orphans, inventory, settings, federation.certificate)
    return changed


def end_sessions(
    sessions: Mapping[str, Iterable[str]],
    inventory: Inventory,
    settings: BrokerSettings,
    certificate: Path | None = None,
) -> None:
    """End sessions at running brokers."""
    secret = settings.secret

    async def end(broker: str, name: str) -> None:
        local = name.startswith(LOCAL)
        session = (
            f"{LOCAL if local else ''}{bridge_identity(settings.identity_key, name.removeprefix(LOCAL))}"
        )
        place = inventory.endpoints[broker]
        async with client_of(broker, place, session, secret, clean_session=True, certificate=certificate):
            pass

    async def end_all() -> None:
        await asyncio.gather(*(end(broker, session) for broker, ids in sessions.items() for session in ids))

    if sessions:
        asyncio.run(end_all())


def _reload(step: Step, delta: Delta, federation: RunningFederation) -> None:
    """Make a broker read its files again, as often as necessary.

    When bridges are removed, Mosquitto 2.1.2 overlooks up to half of them each time: it moves the last bridge
    into the slot of a removed one and does not check that slot again.
    """
    brokers, logs = federation.brokers, federation.logs
    times = 1 if step.bridges is None else len(delta.old.dialled_by(step.broker)).bit_length()
    for _ in range(max(times, 1)):
        positions = logs.positions([step.broker])
        brokers.reload(step.broker)
        # A broker that is still reading its files ignores the signal: repeat it until the reload is logged.
        again = partial(brokers.reload, step.broker) if times > 1 else None
        logs.wait({step.broker: {RELOADED}}, positions, while_waiting=again)


def expected_log_lines(
    steps: Iterable[Step], delta: Delta, running: Collection[str], qos: int = 1
) -> dict[str, set[str]]:
    """Return the lines that each broker logs once a wave has taken effect; the next wave waits for them.

    - A broker that starts: its bridges are up at their listeners.
    - A broker that restarts: so are the bridges of its diallers.
    - A broker that reloads: it says so, and its changed bridges come up or go.
    """
    wanted: dict[str, set[str]] = {}

    def expect(lines_of: dict[str, set[str]]) -> None:
        for broker, lines in lines_of.items():
            wanted.setdefault(broker, set()).update(lines)

    acting = {step.broker: step for step in steps if step.action in (START, RESTART, RELOAD)}
    unchanged = _unchanged_lines(delta)
    for broker, step in acting.items():
        dialled = dict(step.bridges or {})
        if step.action == RELOAD:
            expect({broker: {RELOADED}})
            changed = step.changed_listeners
            # A listener that starts in this wave has forgotten the bridge and does not log its end.
            lost = [other for other in changed - dialled.keys() if _keeps_running(other, acting)]
            expect({other: {f"{GONE} {client_id(broker, other)}"} for other in lost})
            dialled = {other: topics for other, topics in dialled.items() if other in changed}
        own = Wiring(delta.new.order, {(broker, other): topics for other, topics in dialled.items()})
        expect(bridge_up_lines(own, own.bridges, qos))
        if delta.durable:
            # A bridge logs each topic that it unsubscribes from.
            for pair, topics in find_former_topics(delta.old, own).items():
                if pair in own.bridges:
                    expect({pair[1]: {f"{client_id(*pair)} {topic}" for topic in topics}})
        # The diallers of a broker that restarts reconnect by themselves, with their current topics. If its
        # address or password changed, they reconnect in their own step instead.
        if step.action == RESTART and broker not in delta.must_restart:
            diallers = unchanged.dialled_to(broker)
            pairs = [
                (other, broker) for other in diallers if other in running and _keeps_running(other, acting)
            ]
            expect(bridge_up_lines(unchanged, pairs, qos))
    return wanted


def _keeps_running(broker: str, acting: dict[str, Step]) -> bool:
    """Return whether a broker keeps its process and its bridges during a wave."""
    return broker not in acting or (acting[broker].action == RELOAD and acting[broker].bridges is None)


def _unchanged_lines(delta: Delta) -> Wiring:
    """Return the topic lines of both wirings: they exist before, between and after all waves."""
    bridges = {
        pair: {
            topic: way for topic, way in topics.items() if delta.new.bridges.get(pair, {}).get(topic) == way
        }
        for pair, topics in delta.old.bridges.items()
    }
    return Wiring(delta.old.order, {pair: topics for pair, topics in bridges.items() if topics})
