"""What crosses each core link, and the trees that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.content.cost import Cost, distinct_sets
from meshwright.interest import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.content.demand import Floats
    from meshwright.interest import Ids


class CoreTrees(NamedTuple):
    """The links of the trees by which messages cross the core, one row for each.

    Channels with the same brokers share their trees: `set_of_channel` says which. `source` is the broker that
    a tree starts from, −1 for the one that all brokers of the set share.
    """

    set_of_channel: NDArray[np.int64]
    tree_set: Ids
    source: Ids
    u: Ids
    v: Ids


def link_traffic(cost: Cost) -> Floats:
    """Return the traffic on each core link, both ways together: brokers × brokers, above the diagonal."""
    return _walked(cost, listed=False)[0]


def core_trees(cost: Cost) -> CoreTrees:
    """Return the trees that carry traffic."""
    return _walked(cost, listed=True)[1]


def _walked(cost: Cost, *, listed: bool) -> tuple[Floats, CoreTrees]:
    from meshwright.content.kernels.tallies import link_traffic as walk

    which, sets = distinct_sets(cost.audience)
    rate = np.zeros(sets.shape)
    np.add.at(rate, which, cost.rate)
    brokers = cost.workload.num_brokers
    order, up = np.zeros(brokers, dtype=np.int64), np.zeros(brokers, dtype=np.int64)
    length = np.zeros(brokers)
    rows = 0
    while True:
        traffic = np.zeros((brokers, brokers))
        set_of, source = np.zeros(rows, dtype=np.int32), np.zeros(rows, dtype=np.int32)
        ends = np.zeros((rows, 2), dtype=np.int32)
        held = frozen(sets, np.uint8)
        needed = walk(cost.workload.core, held, rate, order, up, length, traffic, set_of, source, ends)
        if not listed or needed <= rows:
            return traffic, CoreTrees(which, set_of, source, ends[:, 0], ends[:, 1])
        rows = needed
