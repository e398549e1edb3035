"""Planning on a cluster: exact where it can be, divided where it must be."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright import measure
from meshwright.designs import Plan, find
from meshwright.errors import InputError
from meshwright.greedy import prepare, prepare_more, rules, waves
from meshwright.overlay import Overlay
from meshwright.pipeline.planning.divide import Loss, divide, loss
from meshwright.pipeline.planning.executors import ClusterParts, ClusterWaves
from meshwright.pipeline.session.failures import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from meshwright.designs.plan import Parameter
    from meshwright.greedy.rules import Rule
    from meshwright.interest import Interest
    from meshwright.progress import Progress


DRIVER, WAVES, PARTS = "driver", "waves", "parts"
WORK_A_SECOND = 1.7e9
"""Words of bits that a core goes through in a second, roughly; only words to people depend on it."""
ROOM_SHARE = 0.8
"""The engine may take this part of the memory that is free."""


@dataclass(frozen=True)
class Choice:
    """One of three ways, why it was chosen, and in how many parts."""

    way: str
    """`driver`: the engine alone; `waves`: exact, rows rebuilt on executors; `parts`: divide and conquer."""
    why: str
    parts: int = 1


def choose(interest: Interest, rule: Rule, parts: int | None = None, *, free: int | None = None) -> Choice:
    """Choose how to plan an interest; `free` is the memory here in bytes, looked up unless told."""
    if parts is not None:
        return Choice(PARTS, f"{parts} parts were asked for", parts)
    needed = engine_bytes(interest, calm=rule.k is not None)
    room = ROOM_SHARE * (free_memory() if free is None else free)
    if needed > room:
        # As many parts as cores are planned at once where the workers are this machine's.
        enough = max(2, -int(-needed * (os.cpu_count() or 1) // max(room, 1)))
        why = f"the exact design needs about {_size(needed)} here and {_size(room)} are free"
        return Choice(PARTS, why, enough)
    seconds = first_wave(interest) / WORK_A_SECOND
    if first_wave(interest) < waves.LEAST_WORK:
        return Choice(DRIVER, f"all rows are counted in about {seconds:.2g} s here: too little to send away")
    return Choice(WAVES, f"counting all rows takes about {seconds:,.0f} s of one core: executors share it")


def first_wave(interest: Interest) -> int:
    """Return the work of the first wave, over all rows, in words of bits."""
    rows, words = np.arange(interest.num_nodes) >> 6, -(-interest.num_nodes // 64)
    return int(((np.diff(interest.node_ptr) + 16) * (words - rows)).sum())


def engine_bytes(interest: Interest, *, calm: bool) -> int:
    """Return about how much memory the engine takes at its peak: labels, bit rows, windows, edges.

    `calm` is for the rules that look at degrees: they have a second set of windows.
    """
    nodes, subscriptions = interest.num_nodes, interest.num_subscriptions
    popularity = np.bincount(interest.node_topics, minlength=interest.num_topics)
    heavy = int((popularity >= max(2, nodes // 400)).sum())
    rows = 3 * heavy + 16
    return subscriptions * 28 + rows * (nodes // 8 + 64) + nodes * (280 * (2 if calm else 1) + 24 + 96)


def free_memory() -> int:
    """Return how many bytes are free on this machine."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _size(count: float) -> str:
    """Spell a number of bytes."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


RULES: dict[str, Callable[..., Rule]] = {
    "gm": lambda **_: rules.gm,
    "gpa": lambda **_: rules.gm,
    "minmax": lambda **_: rules.minmax,
    "gpm": lambda **_: rules.minmax,
    "low": lambda k=3.0, **_: rules.low(k),
}
"""The designs that run on a cluster, and the rule of each."""
DIVISIBLE = ("gm", "minmax", "low")
"""Those that can be planned in parts; without budgets, which no part could keep for all."""
COVERAGE = 3
"""How many representatives a part has for each topic, unless told."""


@dataclass(frozen=True, eq=False)
class Construction:
    """A plan, how it was made, how many rows each wave had, and what dividing costs if it was divided."""

    plan: Plan
    choice: Choice
    waves: tuple[int, ...] = ()
    loss: Loss | None = None


def construct(
    interest: Interest,
    algorithm: str,
    start: Callable[[], SparkSession],
    *,
    parameters: Mapping[str, Parameter] | None = None,
    parts: int | None = None,
    coverage: int | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
    choice: Choice | None = None,
) -> Construction:
    """Plan on a cluster; where it is exact, edge by edge as `design` does.

    Parameters
    ----------
    interest
        Who subscribes to what.
    algorithm
        `gm`, `minmax`, `low`, `gpa` or `gpm`.
    start
        Gives the Spark session; not called where the cluster is not needed.
    parameters
        The design's own, by name; None means its default.
    parts
        Divide the nodes into so many parts; otherwise chosen by size, and one if memory allows.
    coverage
        How many representatives each part has for each of its topics.
    seed
        Decides which node is in which part.
    threads
        How many threads to use where the cluster is not needed.
    choice
        How to plan, if that is not to be chosen by size.

    Raises
    ------
    InputError
        For a design that does not run on a cluster, or parameters that do not go together.
    ClusterError
        If Spark fails.
    """
    given = {name: value for name, value in (parameters or {}).items() if value is not None}
    rule = check(algorithm, given, parts, coverage)
    chosen = choice or choose(interest, rule, parts)
    prepare(progress)
    prepare_more(progress)
    measure.prepare(progress)
    if chosen.way == PARTS:
        check(algorithm, given, chosen.parts, coverage)
        stated = {**given, "parts": chosen.parts, "coverage": COVERAGE if coverage is None else coverage}
        return _divided(interest, algorithm, rule, start(), chosen, stated, seed, progress)
    # Threads here would rebuild, at the start of each level, the rows that executors are to rebuild.
    waves = ClusterWaves(start(), progress) if chosen.way == WAVES else None
    running = {"threads": threads} if waves is None else {"elsewhere": waves}
    began = time.perf_counter()
    with spark_errors():
        overlay = find(algorithm).build(interest, **given, progress=progress, **running)
    assert isinstance(overlay, Overlay)  # as all designs that run on a cluster give
    plan = Plan(overlay, algorithm, given, seed, time.perf_counter() - began)
    return Construction(plan, chosen, tuple(waves.rows) if waves is not None else ())


def _divided(
    interest: Interest,
    algorithm: str,
    rule: Rule,
    spark: SparkSession,
    chosen: Choice,
    stated: Mapping[str, Any],
    seed: int,
    progress: Progress | None,
) -> Construction:
    """Plan in parts, and a sample of the nodes both ways to tell what that costs."""
    division = {"parts": stated["parts"], "coverage": stated["coverage"], "seed": seed}
    began = time.perf_counter()
    with spark_errors():
        overlay = divide(interest, rule, solver=ClusterParts(spark, progress), **division)
    plan = Plan(overlay, algorithm, stated, seed, time.perf_counter() - began)
    return Construction(plan, chosen, loss=loss(interest, rule, **division))


def check(algorithm: str, given: Mapping[str, Parameter], parts: int | None, coverage: int | None) -> Rule:
    """Refuse what cannot be planned on a cluster, or not in parts, and return the rule of what can."""
    if algorithm not in RULES:
        known = ", ".join(RULES)
        raise InputError(f"{algorithm} does not run on a cluster: leave --master out, or take one of {known}")
    for name, value in (("parts", parts), ("coverage", coverage)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}: give at least 1")
    barred = [algorithm] if algorithm not in DIVISIBLE else sorted(given.keys() - {"k"})
    if parts is not None and barred:
        raise InputError(
            f"{' and '.join(barred)} cannot be planned in parts: take gm, minmax or low without budgets and "
            "rounds, or leave --parts out"
        )
    return RULES[algorithm](**given)
