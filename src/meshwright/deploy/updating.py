"""Changing a federation: its folders on disk, and its brokers if they run here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.deploy.delta import RELOAD, RESTART, START, STOP, Step
from meshwright.deploy.folders import SECRET_FILES, federation_files, write_described, write_file
from meshwright.deploy.logs import arrivals
from meshwright.deploy.mosquitto import broker_files
from meshwright.deploy.wiring import Wiring, folder_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from meshwright.deploy.brokers import Brokers
    from meshwright.deploy.delta import Delta
    from meshwright.deploy.inventory import Inventory
    from meshwright.deploy.logs import Logs
    from meshwright.deploy.routed import Routed
    from meshwright.deploy.settings import Settings


def update_folders(
    routed: Routed, wiring: Wiring, inventory: Inventory, settings: Settings, folder: Path
) -> list[str]:
    """Bring a federation's folders up to date, file by file, each whole; return the files that changed.

    What describes the federation is written last: if this is cut short, doing it again does the rest. The
    folders of brokers that are gone stay, without their configuration.
    """
    changed = []
    for name, text in federation_files(routed, wiring, inventory, settings).items():
        if _put(folder / name, text, settings):
            changed.append(name)
    there = {folder_of(broker) for broker in wiring.order}
    for own in sorted(path for path in folder.iterdir() if path.is_dir() and path.name not in there):
        for file in sorted(path for path in own.iterdir() if path.name in GONE):
            file.unlink()
            changed.append(f"{own.name}/{file.name}")
    if write_described(folder, wiring, inventory, settings):
        changed.append("federation.json")
    return changed


GONE = ("mosquitto.conf", "mosquitto.service", "passwords", "access", "client.password")


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
) -> None:
    """Do one wave of a delta to brokers that run here, and wait until every bridge of it is up."""
    rank = {broker: place for place, broker in enumerate(found.new.order)}
    steps = sorted(wave, key=lambda step: rank.get(step.broker, -1))
    running = list(brokers.running)
    # All stop before any starts: who comes back early would be seen at one that is about to go.
    for step in steps:
        if step.action in (STOP, RESTART) and step.broker in brokers.running:
            brokers.stop(step.broker)
        if step.action != STOP:
            _write_step(step, found.new, inventory, settings, brokers.folder)
    marks = logs.marks(running)
    for step in steps:
        if step.action in (START, RESTART):
            brokers.start(step.broker)
        elif step.action == RELOAD:
            brokers.reload(step.broker)
    _wait(steps, found, marks, brokers, logs)


def _write_step(step: Step, new: Wiring, inventory: Inventory, settings: Settings, folder: Path) -> None:
    """Write a broker's files as they are to be after a step."""
    bridges = dict(new.bridges)
    if step.bridges is not None:
        bridges = {pair: lines for pair, lines in bridges.items() if pair[0] != step.broker}
        bridges |= {(step.broker, other): lines for other, lines in step.bridges.items()}
    wiring = Wiring(new.order, bridges)
    names = broker_files(wiring, inventory, settings, step.broker)
    if step.bridges is None:
        del names["mosquitto.conf"]
    for name, text in names.items():
        _put(folder / folder_of(step.broker) / name, text, settings)


def _wait(steps: list[Step], found: Delta, marks: dict[str, int], brokers: Brokers, logs: Logs) -> None:
    acted = {step.broker: step for step in steps if step.action in (START, RESTART)}
    wanted: dict[str, set[str]] = {}
    present = _present(found)
    for broker, step in acted.items():
        own = Wiring(
            found.new.order, {(broker, other): lines for other, lines in (step.bridges or {}).items()}
        )
        _add(wanted, arrivals(own, own.bridges))
        # Those who dial a broker that restarts come back by themselves, with what they carry at present.
        if step.action == RESTART:
            diallers = present.heard_by(broker)
            pairs = [(other, broker) for other in diallers if other in brokers.running and other not in acted]
            _add(wanted, arrivals(present, pairs))
    logs.wait(wanted, {broker: marks.get(broker, 0) for broker in brokers.running}, seconds=30.0)


def _present(found: Delta) -> Wiring:
    """Return the lines that are in both wirings: what is sure to be there before, after and in between."""
    bridges = {
        pair: {t: way for t, way in lines.items() if found.new.bridges.get(pair, {}).get(t) == way}
        for pair, lines in found.old.bridges.items()
    }
    return Wiring(found.old.order, {pair: lines for pair, lines in bridges.items() if lines})


def _add(wanted: dict[str, set[str]], more: dict[str, set[str]]) -> None:
    for broker, lines in more.items():
        wanted.setdefault(broker, set()).update(lines)
