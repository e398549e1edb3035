"""Change a federation: its folders on disk, and its brokers if they run here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from meshwright.deploy.change import Change
from meshwright.deploy.delta import Delta, Step, orphaned_sessions
from meshwright.deploy.folder_store import FederationFolder
from meshwright.deploy.hosts.local import RunningFederation
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.observations import LISTENING, REVISION, Observation, expected_observations
from meshwright.deploy.proof.traffic import client_of
from meshwright.deploy.rollout import Rollout
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import RELOAD, RESTART, START, STOP, wave_files
from meshwright.deploy.wiring import bridge_identity


@dataclass(frozen=True)
class Update:
    """What a change has done to running brokers so far."""

    changed: list[str]
    """The files that changed."""
    cut: dict[str, tuple[float, float]]
    """When each topic was cut, and when its links were up again, by the steady clock."""
    waves: int = 1
    """How many waves are done."""
    stopped: bool = False
    """Whether somebody stopped the change before its last wave."""


def apply_change(
    change: Change, federation: RunningFederation, *, stop: Callable[[], bool] = lambda: False
) -> Update:
    """Apply a change to running brokers, wave by wave, and to their folders.

    A change that was interrupted goes on with the wave that was written last: its brokers may not have acted.
    If `stop` returns true after a wave, the change ends there and can go on later.

    Raises
    ------
    OutputError
        If a file that we did not write is in the way; then nothing has changed.
    """
    change.store.require_free(change.files)
    changed: set[str] = set()
    cut: dict[str, tuple[float, float]] = {}
    waves = change.rollout.waves
    for number in range(max(change.rollout.done, 1), len(waves) + 1):
        rollout = replace(change.rollout, done=number)
        update = apply_wave(waves[number - 1], change.delta, change.inventory, federation, rollout)
        changed.update(update.changed)
        for topic, (began, ended) in update.cut.items():
            cut[topic] = cut.get(topic, (began, ended))[0], ended
        if number < len(waves) and stop():
            return Update(sorted(changed), cut, number, stopped=True)
    changed.update(change.store.update(change.files, change.described))
    return Update(sorted(changed), cut, len(waves))


def apply_wave(
    wave: Iterable[Step],
    delta: Delta,
    inventory: Inventory,
    federation: RunningFederation,
    rollout: Rollout | None = None,
) -> Update:
    """Apply a wave to running brokers, and wait until it has taken effect.

    The manifest notes the `rollout`, so that it can be resumed. The files are written first: if that
    fails, no broker was touched. A broker that cannot be started again counts as one that ended by itself.
    """
    brokers, watch, settings = federation.brokers, federation.watch, federation.settings
    rank = {broker: place for place, broker in enumerate(delta.new.order)}
    steps = sorted(wave, key=lambda step: rank.get(step.broker, -1))
    store = FederationFolder(brokers.folder)
    described = store.read().during(rollout)
    files = wave_files(steps, delta, inventory, settings)
    changed = store.update(files, described, only=True, secured=settings.secret is not None)
    began = time.monotonic()
    # Stop all before starting any: otherwise a restarted bridge could log in at a broker about to stop.
    stopped = brokers.stop_together(
        step.broker
        for step in reversed(steps)
        if step.action in (STOP, START, RESTART) and step.broker in brokers.running
    )
    positions = watch.positions({*brokers.running, *(step.broker for step in steps)})
    try:
        for step in steps:
            if step.action in (START, RESTART):
                # A bridge that is refused tries again only after seconds: its listeners start before it.
                watch.wait(_listening(step, steps, inventory), positions)
                brokers.start(step.broker)
            elif step.action == RELOAD:
                _reload(step, delta, federation)
    except BaseException:
        # The supervisor finds these brokers ended, and starts them again from their new files.
        for step in steps:
            if step.action != STOP and step.broker in stopped:
                brokers.running.setdefault(step.broker, stopped[step.broker])
        raise
    ended = dict.fromkeys(delta.cut_by(steps), time.monotonic())
    shown = watch.wait(expected_observations(steps, delta, brokers.running), positions, seconds=30.0)
    for (_, seen), moment in shown.items():
        for topic in [seen.what] if seen.what else delta.new.bridges.get(seen.link or ("", ""), ()):
            if topic in ended:
                ended[topic] = max(ended[topic], moment)
    end_sessions(orphaned_sessions(delta, steps), inventory, settings, federation.certificate)
    return Update(changed, {topic: (began, moment) for topic, moment in ended.items()})


def _listening(step: Step, steps: Iterable[Step], inventory: Inventory) -> dict[str, set[Observation]]:
    """Return what the listeners of a broker show that start with it, before it dials them."""
    starting = {other.broker for other in steps if other.action in (START, RESTART)}
    return {
        other: {Observation(LISTENING, what=str(place.bridge_port or place.port))}
        for other in starting & (step.bridges or {}).keys()
        for place in [inventory.endpoints[other]]
    }


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
