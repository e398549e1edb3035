"""Planning on a cluster: exact if memory allows, otherwise divided into parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.designs.plan import Plan
from meshwright.designs.registry import find
from meshwright.errors import InputError
from meshwright.greedy import Tuning, rules, waves
from meshwright.greedy.candidates import everything
from meshwright.greedy.level_run import Task
from meshwright.greedy.pair_lists import PAIRS_A_SUBSCRIPTION, most_places
from meshwright.greedy.path_choice import EVERY_LEVEL, LISTED, highest_level, index_seconds
from meshwright.jit.announce import working_seconds
from meshwright.overlay import Overlay
from meshwright.pipeline.planning.divide import Loss, divide, loss
from meshwright.pipeline.planning.executors import ClusterParts, ClusterWaves, warm_up
from meshwright.pipeline.session.failures import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from meshwright.designs.plan import Parameter
    from meshwright.greedy.rules import Rule
    from meshwright.interest import Interest
    from meshwright.progress import Progress


DRIVER, WAVES, PARTS = "driver", "waves", "parts"
WORK_A_SECOND = 1.7e9
"""Roughly how many words of bits a core processes per second; used in messages only."""
ROOM_SHARE = 0.8
"""The share of the free memory that the engine may use."""


@dataclass(frozen=True)
class Choice:
    """One of three ways to plan, the reason for it, and the number of parts."""

    way: str
    """`driver`: the engine alone; `waves`: exact, rows rebuilt on executors; `parts`: divide and conquer."""
    why: str
    parts: int = 1


def choose(
    interest: Interest, rule: Rule, parts: int | None = None, *, free: int | None = None, threads: int = 1
) -> Choice:
    """Choose how to plan an interest; `free` is the free memory in bytes, by default that of this machine."""
    if parts is not None:
        return Choice(PARTS, f"--parts {parts} was given", parts)
    task = Task(interest, rule, everything, None, Tuning())
    listed = highest_level(task) == EVERY_LEVEL
    needed = index_bytes(task, threads) if listed else engine_bytes(interest, sparing=rule.k is not None)
    room = ROOM_SHARE * (free_memory() if free is None else free)
    if needed > room:
        # If the workers run on this machine, each core plans a part at the same time.
        enough = max(2, -int(-needed * (os.cpu_count() or 1) // max(room, 1)))
        why = f"the exact design needs about {_format_bytes(needed)}, and {_format_bytes(room)} are available"
        return Choice(PARTS, why, enough)
    if listed:
        seconds = index_seconds(task)
        why = f"the pairs are listed from the index in about {seconds:.2g} s here: rows need not be counted"
        return Choice(DRIVER, why)
    seconds = first_wave(interest) / WORK_A_SECOND
    if first_wave(interest) < waves.LEAST_WORK:
        return Choice(DRIVER, f"all rows are counted in about {seconds:.2g} s here: too little to send away")
    return Choice(WAVES, f"counting all rows takes about {seconds:,.0f} s of one core: executors share it")


def first_wave(interest: Interest) -> int:
    """Return the work of the first wave, which has all rows, in words of bits."""
    rows, words = np.arange(interest.num_nodes) >> 6, -(-interest.num_nodes // 64)
    return int(((np.diff(interest.node_ptr) + 16) * (words - rows)).sum())


def engine_bytes(interest: Interest, *, sparing: bool) -> int:
    """Return about how much memory the engine needs at its peak: labels, bit rows, windows, edges.

    `sparing` is for the rules that consider degrees: they have a second set of windows.
    """
    nodes, subscriptions = interest.num_nodes, interest.num_subscriptions
    popularity = np.bincount(interest.node_topics, minlength=interest.num_topics)
    heavy = int((popularity >= max(2, nodes // 400)).sum())
    rows = 3 * heavy + 16
    return subscriptions * 28 + rows * (nodes // 8 + 64) + nodes * (280 * (2 if sparing else 1) + 24 + 96)


def index_bytes(task: Task, threads: int) -> int:
    """Return about how much memory the engine needs where every level is listed from the index.

    That is labels and lists, the pairs that contribute more than can be listed later, and for each thread
    what it notes of the later topics of a topic's subscribers.
    """
    held = task.interest
    lists = held.num_subscriptions * (36 + 12 * PAIRS_A_SUBSCRIPTION) + held.num_nodes * 40
    above = float(task.shared_topics[LISTED + 1 :].sum())
    return int(lists + 36 * above + threads * 44 * most_places(held))


def free_memory() -> int:
    """Return the free memory of this machine in bytes."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _format_bytes(count: float) -> str:
    """Return a number of bytes as text."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


RULES: dict[str, Callable[..., Rule]] = {
    "gm": lambda **_: rules.gm,
    "gpa": lambda **_: rules.gm,
    "minmax": lambda **_: rules.minmax,
    "gpm": lambda **_: rules.minmax,
    "low": lambda k=3.0, strict=False, **_: rules.low(k, strict=strict),
}
"""The designs that run on a cluster, and the rule of each."""
DIVISIBLE = ("gm", "minmax", "low")
"""The designs that can be planned in parts, without budgets, which parts cannot respect together."""
COVERAGE = 3
"""The default number of representatives of a part for each topic."""


@dataclass(frozen=True, eq=False)
class Construction:
    """A plan, the way it was made, the rows of each wave, and the loss if it was divided."""

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
    """Plan on a cluster; unless it is divided, the plan has the same edges as that of `design`.

    Parameters
    ----------
    interest
        Who subscribes to what.
    algorithm
        `gm`, `minmax`, `low`, `gpa` or `gpm`.
    start
        Returns the Spark session; called only if the cluster is needed.
    parameters
        The parameters of the design, by name; None means the default.
    parts
        The number of parts; by default, the plan is divided only if memory is short.
    coverage
        The number of representatives of each part for each of its topics.
    seed
        The seed of the random assignment of nodes to parts.
    threads
        The number of threads if the cluster is not needed.
    choice
        How to plan; chosen by size by default.

    Raises
    ------
    InputError
        If the design does not run on a cluster, or parameters cannot be combined.
    ClusterError
        If Spark fails.
    """
    given = {name: value for name, value in (parameters or {}).items() if value is not None}
    rule = check(algorithm, given, parts, coverage)
    chosen = choice or choose(interest, rule, parts, threads=threads)
    if chosen.way != DRIVER:
        warm_up(rule)
    if chosen.way == PARTS:
        check(algorithm, given, chosen.parts, coverage)
        stated = {**given, "parts": chosen.parts, "coverage": COVERAGE if coverage is None else coverage}
        return _construct_parts(interest, algorithm, rule, start(), chosen, stated, seed, progress)
    # No threads with waves: they would rebuild the rows that executors are about to rebuild.
    waves = ClusterWaves(start(), progress) if chosen.way == WAVES else None
    running = {"threads": threads} if waves is None else {"elsewhere": waves}
    began = working_seconds()
    with spark_errors():
        overlay = find(algorithm).build(interest, **given, progress=progress, **running)
    # All designs that run on a cluster return an overlay.
    assert isinstance(overlay, Overlay)
    plan = Plan(overlay, algorithm, given, seed, working_seconds() - began)
    return Construction(plan, chosen, tuple(waves.rows) if waves is not None else ())


def _construct_parts(
    interest: Interest,
    algorithm: str,
    rule: Rule,
    spark: SparkSession,
    chosen: Choice,
    stated: Mapping[str, Any],
    seed: int,
    progress: Progress | None,
) -> Construction:
    """Plan in parts, and plan a sample of the nodes both ways to measure the loss."""
    division = {"parts": stated["parts"], "coverage": stated["coverage"], "seed": seed}
    began = working_seconds()
    with spark_errors():
        overlay = divide(interest, rule, solver=ClusterParts(spark, progress), **division)
    plan = Plan(overlay, algorithm, stated, seed, working_seconds() - began)
    return Construction(plan, chosen, loss=loss(interest, rule, **division))


def check(algorithm: str, given: Mapping[str, Parameter], parts: int | None, coverage: int | None) -> Rule:
    """Return the rule of a design, or refuse a design that cannot run on a cluster or in parts."""
    if algorithm not in RULES:
        known = ", ".join(RULES)
        raise InputError(
            f"{algorithm} does not run on a cluster: leave --master out, or choose one of {known}"
        )
    for name in sorted(given.keys() & {"literal", "ratio"}):
        raise InputError(
            f"{name} does not work on a cluster: leave --{name} out, or plan without the options of Spark"
        )
    for name, value in (("parts", parts), ("coverage", coverage)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}: give at least 1")
    barred = [algorithm] if algorithm not in DIVISIBLE else sorted(given.keys() - {"k", "strict"})
    if parts is not None and barred:
        raise InputError(
            f"{' and '.join(barred)} cannot be planned in parts: use gm, minmax or low without budgets and "
            "rounds, or leave --parts out"
        )
    return RULES[algorithm](**given)
