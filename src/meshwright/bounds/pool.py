"""A pool of tight pairs: what the steps between two scans look at instead of all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids, Offsets
    from meshwright.bounds.kernels.loads import Floats
    from meshwright.bounds.loads import Loads, Scan

ENTRIES_PER_SLOT = 30
"""How large a pool may be: shared topics of its pairs, for each subscription."""
FEWEST_ENTRIES, MOST_ENTRIES = 20_000, 12_000_000
SAMPLE = 2_000
"""By so many pairs it is judged how many topics a pair shares."""


class Pool(NamedTuple):
    """Some pairs u < v, each with the topics that both subscribe to.

    Pair i stands for `weight[i]` like it, and shares the topics of the slots `ours[ptr[i]:ptr[i + 1]]` of u
    and `theirs[ptr[i]:ptr[i + 1]]` of v.
    """

    u: Ids
    v: Ids
    weight: Floats
    ptr: Offsets
    ours: Ids
    theirs: Ids


def make_pool(loads: Loads, scan: Scan, eta: float, care: float, older: Pool | None = None) -> Pool:
    """Make a pool of the pairs that a scan found, and of an older one's.

    Of those with a weight e^(η·(L − 1)) below e^−`care` only some are taken, which weigh more instead; and
    of others too where they would be too many.
    """
    mean = _shared_topics(loads, scan)
    entries = ENTRIES_PER_SLOT * loads.interest.num_subscriptions
    entries = min(max(entries, FEWEST_ENTRIES), MOST_ENTRIES)
    chance = chances(eta * (scan.load.astype(np.float64) - 1), care, entries / max(mean, 1.0))
    # Where the sum of chances passes a whole number a pair is taken: as many as are due, evenly spread.
    taken = np.diff(np.floor(np.cumsum(chance)), prepend=0.0) > 0
    u, v = scan.u[taken], scan.v[taken]
    weight = (scan.every / chance[taken]).astype(np.float32)
    if older is not None:
        u, v, weight = _joined(u, v, weight, older)
    return spelled_out(loads, u, v, weight)


def chances(exponent: NDArray[np.float64], care: float, most: float) -> NDArray[np.float64]:
    """Return with which chance to take each pair of weight e^exponent: e^(exponent + care), or 1.

    Where that would be more than `most` in all, `care` is less, but at least 1.
    """
    stride = 1 + len(exponent) // 20_000
    some = exponent[::stride]
    less = care
    while less > 1 and float(np.cumsum(_nearness(some + less), dtype=np.float64)[-1]) * stride > most:
        less = max(1.0, less - 0.25)
    return _nearness(exponent + less)


def _nearness(exponent: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return nearly e^exponent, but at most 1, in a way that every machine rounds alike."""
    near = np.maximum(1 + np.minimum(exponent, 0.0) / 64, 0.0)
    for _ in range(6):
        near *= near
    return np.maximum(near, 1e-9)


def spelled_out(loads: Loads, u: Ids, v: Ids, weight: Floats) -> Pool:
    """Find the slots of the topics that each pair shares; pairs with the same u stand together."""
    from meshwright.bounds.kernels.steps import count_shared, fill_shared

    ptr = np.zeros(len(u) + 1, dtype=np.int64)
    mark = loads.marks[0]
    count_shared(loads.relation, u, v, mark, ptr)
    ours, theirs = np.empty(ptr[-1], dtype=np.int32), np.empty(ptr[-1], dtype=np.int32)
    fill_shared(loads.relation, u, v, mark, ptr, ours, theirs)
    return Pool(u, v, weight, ptr, ours, theirs)


def _shared_topics(loads: Loads, scan: Scan) -> float:
    """Judge how many topics a pair shares on average."""
    stride = 1 + len(scan.u) // SAMPLE
    some = spelled_out(loads, scan.u[::stride].copy(), scan.v[::stride].copy(), scan.load[::stride])
    return len(some.ours) / max(len(some.u), 1)


def _joined(u: Ids, v: Ids, weight: Floats, older: Pool) -> tuple[Ids, Ids, Floats]:
    """Add the pairs of an older pool that are not there, each for itself."""
    us, vs = np.concatenate((u, older.u)), np.concatenate((v, older.v))
    weights = np.concatenate((weight, np.ones(len(older.u), dtype=np.float32)))
    order = np.lexsort((vs, us))  # stable: the newer of two equal ones comes first
    us, vs, weights = us[order], vs[order], weights[order]
    new = np.concatenate(([True], (us[1:] != us[:-1]) | (vs[1:] != vs[:-1])))[: len(us)]
    return us[new], vs[new], weights[new]
