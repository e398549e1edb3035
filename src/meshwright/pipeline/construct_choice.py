"""How to plan on a cluster: by the size of the interest, said and explained."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from meshwright.greedy import waves

if TYPE_CHECKING:
    from meshwright.greedy.rules import Rule
    from meshwright.interest import Interest

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
