"""Whether a table of costs keeps the triangle inequality."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.errors import InputError
from meshwright.interest import frozen

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.weighted.pairs import PairTable

TOLERANCE = 1e-9
"""By so much, relatively, a detour may be cheaper than the direct way: costs are rounded."""
STRIDE = 300_000_000
"""Triples between two looks at Ctrl-C: some tenths of a second."""


def refuse_detours(interest: Interest, table: PairTable) -> None:
    """Refuse costs that break the triangle inequality: a detour cheaper than the direct way."""
    from scipy.sparse import csr_array

    from meshwright.weighted.kernels.tables import broken_triangle

    nodes = interest.num_nodes
    upper = csr_array((table.cost, table.partners, table.ptr), shape=(nodes, nodes))
    both = (upper + upper.T).tocsr()
    both.sort_indices()
    ptr, partners = frozen(both.indptr, np.int64), frozen(both.indices, np.int32)
    cost = frozen(both.data, np.float64)
    triple, direct = np.zeros(3, dtype=np.int32), np.zeros(nodes)
    rows = max(1, STRIDE // max(1, int(np.diff(ptr).max(initial=0)) ** 2))
    for first in range(0, nodes, rows):
        last = min(first + rows, nodes)
        if broken_triangle(
            ptr, partners, cost, np.int64(first), np.int64(last), 1 - TOLERANCE, direct, triple
        ):
            a, b, way = triple.tolist()
            names = [interest.node_names[node].as_py() for node in (a, b, way)]
            direct_cost, out, on = (float(both[ends]) for ends in ((a, b), (a, way), (way, b)))
            raise InputError(
                f"link costs break the triangle inequality: {names[0]!r} to {names[1]!r} costs "
                f"{direct_cost}, by way of {names[2]!r} only {out} + {on}: correct them, or do not "
                "ask for this check"
            )
