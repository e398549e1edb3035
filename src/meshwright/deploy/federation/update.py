"""Change a federation: its folders on disk, and its brokers if they run here."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.deploy.config.delta import RELOAD, RESTART, START, STOP, Step
from meshwright.deploy.config.folders import SECRET_FILES, federation_files, write_described, write_file
from meshwright.deploy.config.mosquitto import broker_files
from meshwright.deploy.config.wiring import Wiring, client_id, folder_of, taken_off
from meshwright.deploy.federation.logs import GONE, RELOADED, arrivals
from meshwright.deploy.federation.sessions import end_sessions, outlived

if TYPE_CHECKING:
    from meshwright.brokers.processes import Brokers
    from meshwright.deploy.config.delta import Delta
    from meshwright.deploy.config.inventory import Inventory, Settings
    from meshwright.deploy.config.routed import Routed
    from meshwright.deploy.federation.logs import Logs


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


def update_folders(
    routed: Routed, wiring: Wiring, inventory: Inventory, settings: Settings, folder: Path
) -> list[str]:
    """Bring a federation's folders up to date, file by file, each whole; return the files that changed.

    What describes the federation is written last: if this is cut short, doing it again does the rest. The
    folders of brokers that are gone stay, without their configuration and what they had queued.
    """
    changed = []
    for name, text in federation_files(routed, wiring, inventory, settings).items():
        if _put(folder / name, text, settings):
            changed.append(name)
    there = {folder_of(broker) for broker in wiring.order}
    for own in sorted(path for path in folder.iterdir() if path.is_dir() and path.name not in there):
        for name in OWN_FILES:
            if (own / name).is_file():
                (own / name).unlink()
                changed.append(f"{own.name}/{name}")
    if write_described(folder, wiring, inventory, settings):
        changed.append("federation.json")
    return changed


OWN_FILES = (
    "access", "client.password", "data/mosquitto.db", "mosquitto.conf", "mosquitto.service", "passwords",
)  # fmt: skip


def _put(file: Path, text: str, settings: Settings) -> bool:
    """Write a file beside its place and rename it, if its text is another; say whether it was."""
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.writing")
    beside.unlink(missing_ok=True)  # left by one that was cut short
    write_file(beside, text, private=settings.secret is not None and file.name in SECRET_FILES)
    if os.getuid() == 0:
        owner = file.parent.stat()  # perhaps the user that the broker became: it must be able to read it
        os.chown(beside, owner.st_uid, owner.st_gid)
    beside.replace(file)
    return True


def perform(
    wave: Iterable[Step],
    found: Delta,
    inventory: Inventory,
    settings: Settings,
    brokers: Brokers,
    logs: Logs,
) -> list[str]:
    """Do one wave of a delta to brokers that run here, and wait until all of it has taken effect.

    Return the files that changed.
    """
    rank = {broker: place for place, broker in enumerate(found.new.order)}
    steps = sorted(wave, key=lambda step: rank.get(step.broker, -1))
    running, changed = list(brokers.running), []
    # All stop before any starts: who comes back early would be seen at one that is about to go.
    for step in steps:
        if step.action in (STOP, RESTART) and step.broker in brokers.running:
            brokers.stop(step.broker)
        if step.action != STOP:
            changed += _write_step(step, found, inventory, settings, brokers.folder)
    marks = logs.marks(running)
    for step in steps:
        if step.action in (START, RESTART):
            brokers.start(step.broker)
        elif step.action == RELOAD:
            _reload(step, found, brokers, logs)
    logs.wait(awaited(steps, found, brokers.running, settings.qos), marks, seconds=30.0)
    end_sessions(outlived(found, steps), inventory, settings.secret)
    return changed


def _reload(step: Step, found: Delta, brokers: Brokers, logs: Logs) -> None:
    """Let a broker read its files again, as often as it takes.

    Where bridges go, Mosquitto 2.1.2 overlooks up to half of them each time: it puts the last one into the
    place of one that goes, and does not look at that place again.
    """
    times = 1 if step.bridges is None else len(found.old.dialled_by(step.broker)).bit_length()
    for _ in range(max(times, 1)):
        marks = logs.marks([step.broker])
        brokers.reload(step.broker)
        # A signal that comes while it still reads is overlooked, too.
        again = partial(brokers.reload, step.broker) if times > 1 else None
        logs.wait({step.broker: {RELOADED}}, marks, idle=again)


def _write_step(
    step: Step, found: Delta, inventory: Inventory, settings: Settings, folder: Path
) -> list[str]:
    """Write a broker's files as they are to be after a step; return those that changed."""
    new, bridges = found.new, dict(found.new.bridges)
    if step.bridges is not None:
        bridges = {pair: lines for pair, lines in bridges.items() if pair[0] != step.broker}
        bridges |= {(step.broker, other): lines for other, lines in step.bridges.items()}
    wiring = Wiring(new.order, bridges)
    wiring = replace(wiring, taken_off=taken_off(found.old, wiring))
    names = broker_files(wiring, inventory, settings, step.broker)
    if step.bridges is None:
        del names["mosquitto.conf"]
    own = folder_of(step.broker)
    return [f"{own}/{name}" for name, text in names.items() if _put(folder / own / name, text, settings)]
