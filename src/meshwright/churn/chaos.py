"""Chaos: what breaks when nodes fail, and what its repair takes under each policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from meshwright.arrays import Ids, Offsets
from meshwright.churn.kernels.damage import count_damage
from meshwright.churn.live import LiveOverlay
from meshwright.churn.repair import Policy
from meshwright.errors import InputError
from meshwright.names import Name
from meshwright.overlay import Overlay
from meshwright.progress import Progress


@dataclass(frozen=True)
class RepairCost:
    """What a repair takes."""

    links: float
    """The mean number of links added and removed."""
    added: float
    """The mean number of links added."""
    seconds: float
    """The median time."""


@dataclass(frozen=True)
class Scenario:
    """Failures of one kind, and what they break."""

    kind: str
    """Which nodes fail: `each node`, `random nodes`, `highest degree` or `worst cut nodes`."""
    nodes: int
    """How many nodes fail at once."""
    tried: int
    """How many failures were tried."""
    splitting: int
    """How many of these split a topic."""
    mean_topics: float
    """The mean number of topics split."""
    most_topics: int
    """The largest number of topics split."""
    mean_cut_off: float
    """The mean number of subscribers cut off from the largest fragment of their topic, over all topics."""
    most_cut_off: int
    """The largest number of subscribers cut off."""
    worst: tuple[Name, ...]
    """The nodes whose failure cuts off the most subscribers; empty if none does."""
    repairs: dict[str, RepairCost] = field(default_factory=dict)
    """By policy: what the repairs took."""


def chaos(
    overlay: Overlay,
    *,
    most: int = 3,
    samples: int = 100,
    policies: Sequence[str] = ("naive", "shadow", "tidy"),
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Scenario]:
    """Let nodes of an overlay fail, and return what that breaks.

    First each node fails alone. Then, for 2 nodes up to `most`, come random sets, the nodes of highest
    degree, and those whose own failures cut off the most. The damage is exact. Of each kind, `samples`
    failures are repaired on a copy. `progress` is called with the kinds done, their share, and the kind that
    comes next.

    Raises
    ------
    InputError
        If a topic is split, or `most` or `samples` is below 1.
    """
    if most < 1 or samples < 1:
        raise InputError(f"sets of up to {most} nodes, {samples} samples: give 1 or more of each")
    lives = [LiveOverlay(overlay, Policy(name), seed=seed) for name in policies]
    plain = LiveOverlay(overlay, "naive", seed=seed)
    chance = np.random.Generator(np.random.PCG64(seed))
    kinds = _failures(plain, most, samples, chance)
    scenarios = []
    for done, (kind, failures) in enumerate(kinds):
        if progress is not None:
            phase = f"{kind} ({len(failures[0]) if failures else 0})"
            progress(done, done / len(kinds), phase)
        tried = failures
        if len(failures) > samples:
            tried = [failures[i] for i in np.sort(chance.choice(len(failures), samples, replace=False))]
        costs = {live.policy.name: _repair_cost(live, tried) for live in lives if tried}
        scenarios.append(_scenario(plain, kind, failures, costs))
    return scenarios


def _failures(
    live: LiveOverlay, most: int, samples: int, chance: np.random.Generator
) -> list[tuple[str, list[Ids]]]:
    """Return the sets of slots that fail, by kind."""
    nodes = len(live)
    singles = [np.array([v], dtype=np.int32) for v in range(nodes)]
    damage = _damage(live, singles)
    by_degree = np.argsort(-live._state.arrays.degree[:nodes], kind="stable").astype(np.int32)
    by_damage = np.lexsort((-damage[:, 0], -damage[:, 1])).astype(np.int32)
    kinds: list[tuple[str, list[Ids]]] = [("each node", singles)]
    for size in range(2, min(most, nodes) + 1):
        drawn = [chance.choice(nodes, size, replace=False).astype(np.int32) for _ in range(samples)]
        kinds += [
            ("random nodes", drawn),
            ("highest degree", [by_degree[:size]]),
            ("worst cut nodes", [by_damage[:size]]),
        ]
    return kinds


def _damage(live: LiveOverlay, failures: Iterable[Ids]) -> Offsets:
    """Return the topics split and the subscribers cut off by each failure."""
    state = live._state
    found = [count_damage(state.arrays, state.groups, gone) for gone in failures]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _repair_cost(live: LiveOverlay, failures: Sequence[Ids]) -> RepairCost:
    """Repair each failure on a copy."""
    links, added, seconds = [], [], []
    for gone in failures:
        copy = live.copy()
        repair = copy.crash(copy._state.name_nodes(gone))
        links.append(len(repair.added) + len(repair.removed))
        added.append(len(repair.added))
        seconds.append(repair.seconds)
    return RepairCost(float(np.mean(links)), float(np.mean(added)), float(np.median(seconds)))


def _scenario(
    live: LiveOverlay, kind: str, failures: Sequence[Ids], costs: dict[str, RepairCost]
) -> Scenario:
    if not failures:
        return Scenario(kind, 1, 0, 0, 0.0, 0, 0.0, 0, (), costs)
    topics, cut_off = _damage(live, failures).T
    worst = failures[int(np.argmax(cut_off))]
    return Scenario(
        kind=kind,
        nodes=len(failures[0]),
        tried=len(failures),
        splitting=int(np.count_nonzero(topics)),
        mean_topics=float(topics.mean()),
        most_topics=int(topics.max()),
        mean_cut_off=float(cut_off.mean()),
        most_cut_off=int(cut_off.max()),
        worst=tuple(live._state.name_nodes(worst)) if cut_off.any() else (),
        repairs=costs,
    )
