"""A change of a deployed federation: from what is in its files now to a new plan, at once or wave by wave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from meshwright.deploy.delta import Delta, explain_cut, explain_delta, explain_orphaned_sessions
from meshwright.deploy.drift import BrokerDrift, Drift
from meshwright.deploy.folder_store import write_new_folder
from meshwright.deploy.inventory import Inventory, extend_inventory
from meshwright.deploy.manifest import DeployedFederation, describe
from meshwright.deploy.named_trees import NamedTrees
from meshwright.deploy.rollout import (
    Rollout,
    acts_on_intermediate_files,
    target_digest,
)
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import federation_files, require_capable, wave_files
from meshwright.deploy.waves import compute_delta, join_waves
from meshwright.deploy.wiring import check_broker_names, rewire
from meshwright.errors import InputError, first_five
from meshwright.files.header import Kind, header_text

STAGES = Kind("staged rollout", "rollout.json", 1)
"""A folder with the files of each wave."""


class FederationStore(Protocol):
    """Where the state of a federation and its files are kept: a folder, or a database."""

    def read(self) -> DeployedFederation:
        """Return what is deployed."""

    def drift(
        self, deployed: DeployedFederation, secret: bytes | None
    ) -> tuple[list[Drift], dict[str, BrokerDrift]]:
        """Return how files differ from what was written, and what that means for the links of brokers."""

    def require_free(self, files: Mapping[str, str]) -> None:
        """Refuse files in whose place is something that is not ours."""

    def update(
        self,
        files: Mapping[str, str],
        described: DeployedFederation,
        *,
        overwrite_edits: bool = True,
        only: bool = False,
        secured: bool | None = None,
    ) -> list[str]:
        """Bring files up to date, with the manifest, and return those that changed."""


@dataclass(frozen=True)
class Change:
    """What to change, and how."""

    store: FederationStore
    before: DeployedFederation
    trees: NamedTrees
    inventory: Inventory
    settings: BrokerSettings
    delta: Delta
    drift: tuple[Drift, ...]
    rollout: Rollout
    """The waves, and how many of them have been written."""

    @property
    def new_secret(self) -> bool:
        """Whether passwords change."""
        return self.before.settings.fingerprint != self.settings.fingerprint

    @property
    def steps(self) -> list[str]:
        """Lines that explain the steps of the waves that have not been written, and what they cut."""
        delta, done = self.delta, self.rollout.done
        return [*explain_delta(delta, done), *explain_cut(delta, self.settings.broker, done)]

    @property
    def cut(self) -> dict[str, float]:
        """The seconds for which the waves that are left cut each topic, estimated."""
        return self.delta.estimate_cut(self.settings.broker, self.rollout.done)

    @property
    def sessions(self) -> list[str]:
        """A line that lists the sessions to end afterwards, if there are any."""
        return explain_orphaned_sessions(self.delta, self.settings.identity_key)

    @property
    def files(self) -> dict[str, str]:
        """The texts of all files after the change, by their paths."""
        return federation_files(self.trees, self.delta.new, self.inventory, self.settings)

    @property
    def described(self) -> DeployedFederation:
        """What the manifest says after the change, but for its list of files."""
        return describe(self.delta.new, self.inventory, self.settings)


def plan_change(
    store: FederationStore,
    trees: NamedTrees,
    settings: BrokerSettings,
    inventory: Inventory | None = None,
    *,
    to_write: bool = True,
    together: bool = False,
) -> Change:
    """Compute the change of a federation to new trees, including the repair of drift.

    With `together`, one process runs the brokers and can stop and start them together. A rollout to the same
    target is resumed. Without an inventory, brokers keep their endpoints, and new ones
    get free ports if all are on this machine. A change that is only shown needs no addresses of new brokers.
    """
    before, differences, repairs = _read_at_rest(store, settings)
    drift = tuple(differences)

    def places(order: Iterable[str]) -> Inventory:
        if inventory is not None:
            return inventory.for_brokers(order)
        known = before.current_inventory if begun is None else begun.inventory
        return extend_inventory(known, order, must_place=to_write)

    begun = before.rollout
    if begun is not None:
        # The order of brokers, and with it who dials whom, is that of the beginning.
        wiring = rewire(trees, before.wiring)
        endpoints = places(wiring.order)
        if begun.target == target_digest(wiring, endpoints, settings):
            delta = Delta(before.wiring, wiring, begun.waves, (), durable=settings.durable)
            return Change(store, before, trees, endpoints, settings, delta, drift, begun)
    current = before.current
    wiring = rewire(trees, current)
    check_broker_names(wiring.order)
    require_capable(wiring, settings)
    endpoints = places(wiring.order)
    now = replace(before, inventory=before.current_inventory)
    delta = compute_delta(
        current, wiring, settings, must_restart=now.must_restart(endpoints, settings),
        drift=repairs,
    )  # fmt: skip
    if together:
        delta = join_waves(delta)
    rollout = Rollout.begin(delta, endpoints, settings)
    return Change(store, before, trees, endpoints, settings, delta, drift, rollout)


def _read_at_rest(
    store: FederationStore, settings: BrokerSettings
) -> tuple[DeployedFederation, list[Drift], dict[str, BrokerDrift]]:
    """Return what is deployed, and its drift, of one moment: what a wave writes meanwhile is no drift."""
    while True:
        before = store.read()
        differences, repairs = store.drift(before, settings.secret if before.settings.secured else None)
        if not differences or store.read() == before:
            return before, differences, repairs


def write_everything(change: Change, *, overwrite_edits: bool = True) -> list[str]:
    """Write the last files of all brokers, for a change whose brokers act once each; return what changed.

    Raises
    ------
    InputError
        If a broker acts in several waves: it needs other files in between.
    """
    left = replace(change.delta, waves=change.rollout.waves[change.rollout.done :])
    twice = acts_on_intermediate_files(left, reloads=change.settings.reloads)
    if twice:
        raise InputError(
            f"brokers {first_five(twice)} act in several waves and need other files in each: write one wave "
            "after the other with meshwright apply --wave next, or all of them with apply --staged DIR"
        )
    return change.store.update(change.files, change.described, overwrite_edits=overwrite_edits)


def write_wave(change: Change, wave: str) -> tuple[int, list[str]]:
    """Write the files of the next wave, or of the last one again; return its number and what changed.

    With the last wave, everything else that changes is written, too, and the rollout ends.

    Raises
    ------
    InputError
        If the wave is not `next`, nor the number of the next one or the last one.
    """
    rollout = change.rollout
    total = len(rollout.waves)
    if wave != "next" and not wave.isdecimal():
        raise InputError(f"no wave {wave!r}: give its number, or next")
    number = rollout.done + 1 if wave == "next" else int(wave)
    if number not in (rollout.done, rollout.done + 1) or (total and number > total):
        raise InputError(
            f"cannot write wave {wave}: {rollout.done} of {total} waves are written; "
            "give the number of the next one, or next"
        )
    change.store.require_free(change.files)  # a change is refused as a whole, before its first wave
    if number >= total:
        return total, change.store.update(change.files, change.described)
    described = change.before.during(replace(rollout, done=number))
    files = wave_files(rollout.waves[number - 1], change.delta, change.inventory, change.settings)
    secured = change.settings.secret is not None
    return number, change.store.update(files, described, only=True, secured=secured)


def write_stages(change: Change, path: Path) -> Path:
    """Write the files of all waves that are left, each wave in a folder, with its steps; return the folder.

    The folder of the federation does not change. `last` holds all files as they are after the last wave.
    """
    rollout, staged = change.rollout, {f"last/{name}": text for name, text in change.files.items()}
    for number, wave in enumerate(rollout.waves[rollout.done :], start=rollout.done + 1):
        files = wave_files(wave, change.delta, change.inventory, change.settings)
        files["steps.txt"] = "".join(f"{step}\n" for step in wave)
        staged |= {f"wave-{number}/{name}": text for name, text in files.items()}
    staged[STAGES.file] = header_text(STAGES, {"federation": str(change.store), **rollout.record()})
    return write_new_folder(path, STAGES, staged, change.settings)
