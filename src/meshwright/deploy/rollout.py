"""A rollout: a change that is made wave by wave and can be resumed.

Until its own wave, the files of a broker stay as they are. So the steps of a wave may run in any order, any
broker may restart by itself at any time, and a rollout may stop after any step: there is never a loop.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from meshwright.deploy.delta import Delta, Step
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets import RELOAD, START, STOP
from meshwright.deploy.wiring import Wiring
from meshwright.files.schema import Count, Line


@dataclass(frozen=True)
class Rollout:
    """A change that is under way."""

    target: str
    """A digest of what the change leads to."""
    inventory: Inventory
    """The endpoints after the change."""
    waves: tuple[tuple[Step, ...], ...]
    done: int = 0
    """How many waves have been written."""

    @classmethod
    def begin(cls, delta: Delta, inventory: Inventory, settings: BrokerSettings) -> Rollout:
        """Return a rollout of which nothing is written yet."""
        return cls(target_digest(delta.new, inventory, settings), inventory, delta.waves)

    @property
    def finished(self) -> bool:
        """Whether all waves have been written."""
        return self.done >= len(self.waves)

    def current(self, before: Wiring) -> Wiring:
        """Return the wiring in the files after the waves that were written."""
        bridges, order = dict(before.bridges), list(before.order)
        for step in (step for wave in self.waves[: self.done] for step in wave):
            if step.action == STOP:
                order.remove(step.broker)
            if step.action == START:
                order.append(step.broker)
            if step.action == STOP or step.bridges is not None:
                bridges = {pair: topics for pair, topics in bridges.items() if pair[0] != step.broker}
                bridges |= {(step.broker, other): topics for other, topics in (step.bridges or {}).items()}
        return Wiring(tuple(order), bridges, before.former_topics)

    def record(self) -> dict[str, Any]:
        """Return the rollout as a record for the manifest."""
        return {
            "target": self.target,
            "done": self.done,
            "brokers": {name: endpoint.record() for name, endpoint in self.inventory.endpoints.items()},
            "waves": msgspec.to_builtins(self.waves),
        }


class RolloutRecord(Struct, forbid_unknown_fields=True):
    """A rollout in the manifest."""

    target: Line
    done: Count
    brokers: dict[Line, Endpoint]
    waves: tuple[tuple[Step, ...], ...]

    @property
    def rollout(self) -> Rollout:
        """The rollout itself."""
        return Rollout(self.target, Inventory(self.brokers), self.waves, self.done)


def target_digest(wiring: Wiring, inventory: Inventory, settings: BrokerSettings) -> str:
    """Return a digest of what a change leads to."""
    bridges = [[*pair, dict(topics)] for pair, topics in sorted(wiring.bridges.items())]
    places = {name: endpoint.record() for name, endpoint in inventory.endpoints.items()}
    chosen = [settings.profile, settings.version, settings.fingerprint]
    text = json.dumps([sorted(wiring.order), bridges, places, chosen], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def acts_on_intermediate_files(delta: Delta, *, reloads: bool) -> list[str]:
    """Return the brokers that act in several waves and would, with their last files, act too early.

    A broker that first reads passwords and access lists again may have its last files, unless a reload also
    loads bridges.
    """
    steps: dict[str, list[Step]] = {}
    for step in delta.steps:
        steps.setdefault(step.broker, []).append(step)
    return sorted(
        broker
        for broker, own in steps.items()
        if len([step for step in own if step.bridges is not None or (reloads and step.action == RELOAD)]) > 1
    )
