"""Change a federation: its folders on disk, and its brokers if they run here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from meshwright.deploy.change import Change
from meshwright.deploy.delta import Delta, Step, orphaned_sessions
from meshwright.deploy.folder_store import FederationFolder
from meshwright.deploy.hosts.local import RunningFederation
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.observations import REVISION, Observation, expected_observations
from meshwright.deploy.proof.traffic import client_of
from meshwright.deploy.rollout import Rollout
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import RELOAD, RESTART, START, STOP, wave_files
from meshwright.deploy.wiring import bridge_identity


def apply_change(change: Change, federation: RunningFederation) -> list[str]:
    """Apply a change to running brokers, wave by wave, and to their folders; return the files that changed.

    A change that was interrupted goes on with the wave that was written last: its brokers may not have acted.

    Raises
    ------
    OutputError
        If a file that we did not write is in the way; then nothing has changed.
    """
    change.store.require_free(change.files)
    changed: set[str] = set()
    begin = max(change.rollout.done - 1, 0)
    for number, wave in enumerate(change.rollout.waves[begin:], start=begin + 1):
        rollout = replace(change.rollout, done=number)
        changed.update(apply_wave(wave, change.delta, change.inventory, federation, rollout))
    changed.update(change.store.update(change.files, change.described))
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
    brokers, watch, settings = federation.brokers, federation.watch, federation.settings
    rank = {broker: place for place, broker in enumerate(delta.new.order)}
    steps = sorted(wave, key=lambda step: rank.get(step.broker, -1))
    running = list(brokers.running)
    store = FederationFolder(brokers.folder)
    described = replace(store.read(), rollout=rollout)
    files = wave_files(steps, delta, inventory, settings)
    changed = store.update(files, described, only=True, secured=settings.secret is not None)
    # Stop all before starting any: otherwise a restarted bridge could log in at a broker about to stop.
    stopped = {
        step.broker: brokers.stop(step.broker)
        for step in steps
        if step.action in (STOP, START, RESTART) and step.broker in brokers.running
    }
    positions = watch.positions(running)
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
    watch.wait(expected_observations(steps, delta, brokers.running), positions, seconds=30.0)
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
        session, place = bridge_identity(settings.identity_key, name), inventory.endpoints[broker]
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
    brokers, watch = federation.brokers, federation.watch
    times = 1 if step.bridges is None else len(delta.old.dialled_by(step.broker)).bit_length()
    for _ in range(max(times, 1)):
        positions = watch.positions([step.broker])
        brokers.reload(step.broker)
        # A broker that is still reading its files ignores the signal: repeat it until the reload is logged.
        again = partial(brokers.reload, step.broker) if times > 1 else None
        watch.wait({step.broker: {Observation(REVISION)}}, positions, while_waiting=again)
