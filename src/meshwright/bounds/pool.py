"""A pool of tight pairs: what the steps between two scans use instead of all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.bounds.kernels.loads import Floats
    from meshwright.bounds.kernels.steps import Pool
    from meshwright.bounds.loads import Loads, Scan

ENTRIES_PER_SLOT = 30
"""How large a pool may be: shared topics of its pairs, for each subscription."""
FEWEST_ENTRIES, MOST_ENTRIES = 20_000, 12_000_000
"""But always at least and at most this many."""
SAMPLE = 2_000
"""The number of pairs from which to estimate how many topics a pair shares."""


def make_pool(loads: Loads, scan: Scan, eta: float, care: float, older: Pool | None = None) -> Pool:
    """Return a pool of the pairs that a scan found and of those of an older pool.

    Of the pairs with a weight e^(η·(L − 1)) below e^−`care` only a sample is taken, with a higher weight
    instead; likewise of heavier ones if there are too many.
    """
    mean = _shared_topics(loads, scan)
    entries = ENTRIES_PER_SLOT * loads.interest.num_subscriptions
    entries = min(max(entries, FEWEST_ENTRIES), MOST_ENTRIES)
    chance = sampling_chances(eta * (scan.load.astype(np.float64) - 1), care, entries / max(mean, 1.0))
    # Take a pair wherever the running sum of chances passes a whole number: an even sample without
    # randomness.
    taken = np.diff(np.floor(np.cumsum(chance)), prepend=0.0) > 0
    u, v = scan.u[taken], scan.v[taken]
    weight = (scan.every / chance[taken]).astype(np.float32)
    if older is not None:
        u, v, weight = _add_older(u, v, weight, older)
    return list_shared_topics(loads, u, v, weight)


def sampling_chances(exponent: NDArray[np.float64], care: float, most: float) -> NDArray[np.float64]:
    """Return the chance of taking each pair of weight e^exponent: e^(exponent + care), at most 1.

    If that takes more than `most` pairs in all, `care` is lowered, down to 1.
    """
    stride = 1 + len(exponent) // 20_000
    some = exponent[::stride]
    less = care
    while less > 1 and float(np.cumsum(_nearness(some + less), dtype=np.float64)[-1]) * stride > most:
        less = max(1.0, less - 0.25)
    return _nearness(exponent + less)


def _nearness(exponent: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return nearly e^exponent, but at most 1, rounded alike by every machine."""
    near = np.maximum(1 + np.minimum(exponent, 0.0) / 64, 0.0)
    for _ in range(6):
        near *= near
    return np.maximum(near, 1e-9)


def list_shared_topics(loads: Loads, u: Ids, v: Ids, weight: Floats) -> Pool:
    """Return a pool of these pairs, with the topics that each shares; pairs with the same u are adjacent."""
    from meshwright.bounds.kernels.steps import Pool, count_shared, fill_shared

    ptr = np.zeros(len(u) + 1, dtype=np.int64)
    mark = loads.marks[0]
    count_shared(loads.relation, u, v, mark, ptr)
    ours, theirs = np.empty(ptr[-1], dtype=np.int32), np.empty(ptr[-1], dtype=np.int32)
    fill_shared(loads.relation, u, v, mark, ptr, ours, theirs)
    return Pool(u, v, weight, ptr, ours, theirs)


def _shared_topics(loads: Loads, scan: Scan) -> float:
    """Estimate how many topics a pair shares on average."""
    stride = 1 + len(scan.u) // SAMPLE
    some = list_shared_topics(loads, scan.u[::stride].copy(), scan.v[::stride].copy(), scan.load[::stride])
    return len(some.ours) / max(len(some.u), 1)


def _add_older(u: Ids, v: Ids, weight: Floats, older: Pool) -> tuple[Ids, Ids, Floats]:
    """Add the pairs of an older pool that are missing, each with weight 1."""
    us, vs = np.concatenate((u, older.u)), np.concatenate((v, older.v))
    weights = np.concatenate((weight, np.ones(len(older.u), dtype=np.float32)))
    # A stable sort: of two equal pairs the newer one comes first, and stays.
    order = np.lexsort((vs, us))
    us, vs, weights = us[order], vs[order], weights[order]
    new = np.concatenate(([True], (us[1:] != us[:-1]) | (vs[1:] != vs[:-1])))[: len(us)]
    return us[new], vs[new], weights[new]
