"""The files of a federation: all of them after a change, and those of each wave in the middle of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from meshwright.deploy.targets import START, STOP
from meshwright.deploy.wiring import Wiring, find_former_topics, folder_of

if TYPE_CHECKING:
    from meshwright.deploy.delta import Delta, Step
    from meshwright.deploy.inventory import Inventory
    from meshwright.deploy.named_trees import NamedTrees
    from meshwright.deploy.settings import BrokerSettings


def federation_files(
    trees: NamedTrees, wiring: Wiring, inventory: Inventory, settings: BrokerSettings
) -> dict[str, str]:
    """Return all files of a federation's folder except its manifest, by their paths in it."""
    target = settings.broker
    files = {
        f"{folder_of(broker)}/{name}": text
        for broker in wiring.order
        for name, text in {
            **target.broker_files(wiring, inventory, settings, broker),
            **target.unit_files(broker, settings),
        }.items()
    }
    return {
        **files,
        "start-order.txt": "".join(f"{folder_of(broker)}\n" for broker in wiring.order),
        **target.shared_files(trees, wiring, inventory, settings),
    }


def wave_files(
    wave: Iterable[Step], delta: Delta, inventory: Inventory, settings: BrokerSettings
) -> dict[str, str]:
    """Return the files of a wave, by their paths in the federation's folder."""
    files: dict[str, str] = {}
    for step in wave:
        if step.action != STOP:
            files |= step_files(step, delta, inventory, settings)
    return files


def step_files(step: Step, delta: Delta, inventory: Inventory, settings: BrokerSettings) -> dict[str, str]:
    """Return a broker's files as they must be for a step, by their paths in the federation's folder."""
    bridges = dict(delta.new.bridges)
    if step.bridges is not None:
        bridges = {pair: topics for pair, topics in bridges.items() if pair[0] != step.broker}
        bridges |= {(step.broker, listener): topics for listener, topics in step.bridges.items()}
    wiring = Wiring(delta.new.order, bridges)
    wiring = replace(wiring, former_topics=find_former_topics(delta.old, wiring))
    files = settings.broker.broker_files(wiring, inventory, settings, step.broker)
    if step.bridges is None:
        files.pop(settings.broker.links_file(settings), None)
    if step.action == START:
        files |= settings.broker.unit_files(step.broker, settings)
    return {f"{folder_of(step.broker)}/{name}": text for name, text in files.items()}


def mode_of(name: str, settings: BrokerSettings, *, secured: bool | None = None) -> int:
    """Return the mode of a file: only its owner reads passwords, and others never anything.

    `secured` says whether the files hold passwords, if that is not as in the settings.
    """
    target, file = settings.broker, name.rpartition("/")[2]
    secret = settings.secured if secured is None else secured
    return 0o600 if file in target.private_files or (secret and file in target.secret_files) else 0o640
