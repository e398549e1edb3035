"""Chaos: what fails when nodes do, and what its repair takes under each policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from meshwright.churn.kernels.damage import shatter
from meshwright.churn.live import LiveOverlay
from meshwright.churn.policy import Policy
from meshwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.names import Name
    from meshwright.overlay import Overlay


@dataclass(frozen=True)
class RepairCost:
    """What repairs took on average: links added and removed, links added alone, seconds."""

    links: float
    added: float
    seconds: float


@dataclass(frozen=True)
class Scenario:
    """Failures of one kind, and what they break."""

    kind: str
    nodes: int
    """How many fail at once."""
    tried: int
    splitting: int
    """How many of the failures split a topic."""
    mean_topics: float
    most_topics: int
    """Topics split."""
    mean_cut_off: float
    most_cut_off: int
    """Subscribers cut off from the largest part of their topic, over all topics."""
    worst: tuple[Name, ...]
    """The failure that cuts off most."""
    repairs: dict[str, RepairCost] = field(default_factory=dict)
    """By policy, over the failures that were repaired by way of trial."""


def chaos(
    overlay: Overlay,
    *,
    most: int = 3,
    samples: int = 100,
    policies: Sequence[str] = ("naive", "shadow", "tidy"),
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
) -> list[Scenario]:
    """Let nodes of an overlay fail and see what breaks.

    Each node on its own; then, for 2 nodes up to `most`, random sets, those of highest degree, and those
    whose own failures cut off most. Damage is exact. Repairs are tried for `samples` failures of each kind.

    Raises
    ------
    InputError
        If a topic is split already, or a number makes no sense.
    """
    if most < 1 or samples < 1:
        raise InputError(f"sets of up to {most} nodes, {samples} samples: give 1 or more of each")
    lives = [LiveOverlay(overlay, Policy(name), seed=seed) for name in policies]
    plain = LiveOverlay(overlay, "naive", seed=seed)
    chance = np.random.Generator(np.random.PCG64(seed))
    nodes = overlay.interest.num_nodes
    singles = [np.array([v], dtype=np.int32) for v in range(nodes)]
    damage = _damage(plain, singles)
    body = plain._body
    by_degree = np.argsort(-body.live.degree[:nodes], kind="stable").astype(np.int32)
    by_damage = np.lexsort((-damage[:, 0], -damage[:, 1])).astype(np.int32)
    kinds: list[tuple[str, list[NDArray[np.int32]]]] = [("each node", singles)]
    for size in range(2, min(most, nodes) + 1):
        drawn = [chance.choice(nodes, size, replace=False).astype(np.int32) for _ in range(samples)]
        kinds += [
            ("random nodes", drawn),
            ("highest degree", [by_degree[:size]]),
            ("worst cut nodes", [by_damage[:size]]),
        ]
    scenarios = []
    for number, (kind, failures) in enumerate(kinds):
        if progress is not None:
            progress(number / len(kinds), f"{kind} ({len(failures[0]) if failures else 0})")
        tried = failures if len(failures) <= samples else _some(failures, samples, chance)
        costs = {live.policy.name: _cost(live, tried) for live in lives if tried}
        scenarios.append(_summary(plain, kind, failures, costs))
    return scenarios


def _some(
    failures: list[NDArray[np.int32]], samples: int, chance: np.random.Generator
) -> list[NDArray[np.int32]]:
    return [failures[i] for i in np.sort(chance.choice(len(failures), samples, replace=False))]


def _damage(live: LiveOverlay, failures: Iterable[NDArray[np.int32]]) -> NDArray[np.int64]:
    body = live._body
    found = [shatter(body.live, body.groups, gone) for gone in failures]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _cost(live: LiveOverlay, failures: Sequence[NDArray[np.int32]]) -> RepairCost:
    """Repair each failure on a copy."""
    links, added, seconds = [], [], []
    for gone in failures:
        copy = live.copy()
        repair = copy.crash(copy._body.node_names(gone))
        links.append(len(repair.added) + len(repair.removed))
        added.append(len(repair.added))
        seconds.append(repair.seconds)
    return RepairCost(float(np.mean(links)), float(np.mean(added)), float(np.median(seconds)))


def _summary(
    live: LiveOverlay, kind: str, failures: Sequence[NDArray[np.int32]], costs: dict[str, RepairCost]
) -> Scenario:
    damage = _damage(live, failures)
    if not len(damage):
        return Scenario(kind, 1, 0, 0, 0.0, 0, 0.0, 0, (), costs)
    worst = failures[int(np.argmax(damage[:, 1]))]
    return Scenario(
        kind,
        len(failures[0]),
        len(failures),
        int(np.count_nonzero(damage[:, 0])),
        float(damage[:, 0].mean()),
        int(damage[:, 0].max()),
        float(damage[:, 1].mean()),
        int(damage[:, 1].max()),
        tuple(live._body.node_names(worst)) if damage[:, 1].any() else (),
        costs,
    )
