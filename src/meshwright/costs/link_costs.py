"""Link costs: what each link costs, by a table of pairs or by places, and what an overlay costs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.arrays import Floats, Ids
from meshwright.arrow import to_numpy
from meshwright.costs.cost_tables import PairTable, Places, pair_table, places, refuse_detours
from meshwright.errors import InputError, first_five, first_rows
from meshwright.interest import Interest
from meshwright.names import name_array
from meshwright.overlay import Overlay


def node_ids(interest: Interest, names: Iterable[Any], what: str) -> Ids:
    """Return the ids of nodes by their names, compared as strings; raise for unknown ones."""
    try:
        column = names if isinstance(names, (pa.Array, pa.ChunkedArray)) else name_array(names)
        column = column.cast(pa.string())
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        raise InputError(
            f"{what} must be node names, all strings or all integers: {str(error).splitlines()[0]}"
        ) from error
    if column.null_count:
        rows = np.flatnonzero(to_numpy(column.is_null()))
        raise InputError(
            f"no {what} in {first_rows(rows)} (counted from 1): fill in the gap, or drop the row"
        )
    ids = pc.index_in(column, interest.node_names.cast(pa.string()))
    if ids.null_count:
        unknown = column.filter(ids.is_null()).unique().to_pylist()
        raise InputError(
            f"link costs name nodes {first_five(unknown)} that the interest does not know: "
            "correct or drop their rows"
        )
    return to_numpy(ids).astype(np.int32, copy=False)


def numbers(values: Iterable[Any], what: str, rows: int) -> Floats:
    """Return a column of numbers that must have this many rows."""
    try:
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            column = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        else:
            column = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise InputError(f"{what} must be all numbers: {str(error).splitlines()[0]}") from error
    if column.shape != (rows,):
        raise InputError(f"{what} has {len(column)} rows and not {rows}: give a number for each row")
    return np.asarray(column, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class LinkCosts:
    """What a link between any two nodes of an interest costs: the same both ways, and more than zero.

    Make one with `from_pairs` or `from_coordinates`.

    >>> interest = Interest.from_dict({"oslo": {"wind"}, "bergen": {"wind"}, "rome": {"wind"}})
    >>> LinkCosts.from_pairs(interest, ["oslo", "oslo", "rome"], ["bergen", "rome", "bergen"], [3, 20, 21])
    LinkCosts(3 pairs of 3 nodes)
    """

    interest: Interest
    source: PairTable | Places

    @classmethod
    def from_pairs(
        cls,
        interest: Interest,
        u_names: Iterable[Any],
        v_names: Iterable[Any],
        costs: Iterable[Any],
        *,
        check_triangle: bool = False,
    ) -> LinkCosts:
        """Take the cost of each pair from three parallel columns: node, node, cost.

        A pair may be listed in one direction or in both, and a node may have cost 0 to itself. Every two
        nodes that share a topic need a cost; other pairs may be left out.

        Parameters
        ----------
        interest
            The interest whose nodes are linked. Names are compared as strings.
        u_names, v_names, costs
            The columns.
        check_triangle
            Raise if a detour is cheaper than the direct link, by more than 1e-9 relatively. This looks at
            every three nodes: about a second for all pairs of 1000 nodes, a thousand times that for 10,000.

        Raises
        ------
        InputError
            For unknown nodes; costs that are zero, negative or not finite; a pair with two different costs; a
            pair that shares a topic and has no cost; a cheaper detour, with `check_triangle`.
        """
        u, v = node_ids(interest, u_names, "u"), node_ids(interest, v_names, "v")
        if len(u) != len(v):
            raise InputError(f"{len(u)} ends u but {len(v)} ends v: give two ends for each cost")
        table = pair_table(interest, u, v, numbers(costs, "cost", len(u)))
        if check_triangle:
            refuse_detours(interest, table)
        return cls(interest, table)

    @classmethod
    def from_coordinates(
        cls, interest: Interest, nodes: Iterable[Any], x: Iterable[Any], y: Iterable[Any]
    ) -> LinkCosts:
        """Take the Euclidean distance of its ends as the cost of a link; places are three parallel columns.

        Links between nodes at one place are not free: no distance counts less than a millionth of the
        diagonal of the map, or less than 1 where all nodes are at one place. So the triangle inequality
        always holds.

        Raises
        ------
        InputError
            For unknown nodes, nodes without a place or with several, and coordinates that are not finite
            numbers.
        """
        ids = node_ids(interest, nodes, "node")
        return cls(interest, places(interest, ids, numbers(x, "x", len(ids)), numbers(y, "y", len(ids))))

    def __repr__(self) -> str:
        kind = f"{len(self.source.cost)} pairs" if isinstance(self.source, PairTable) else "places"
        return f"LinkCosts({kind} of {self.interest.num_nodes} nodes)"

    def of(self, u: NDArray[Any], v: NDArray[Any]) -> Floats:
        """Return the costs of links between nodes, given by their ids.

        Raises
        ------
        InputError
            If the table lacks a pair.
        """
        low, high = np.minimum(u, v).astype(np.int64), np.maximum(u, v).astype(np.int64)
        costs = self.source.of(low, high)
        lost = np.isnan(costs)
        if lost.any():
            names = self.interest.node_names.to_pylist()
            ends = zip(low[lost].tolist(), high[lost].tolist(), strict=True)
            pairs = [(names[a], names[b]) for a, b in ends]
            raise InputError(f"the table of link costs lacks {first_five(pairs)}: add these pairs")
        return costs

    def fit(self, interest: Interest) -> bool:
        """Return whether these are the costs of that interest."""
        return interest is self.interest or interest.fingerprint == self.interest.fingerprint

    def rebase(self, interest: Interest) -> LinkCosts:
        """Return the same costs for another interest of the same nodes, such as one in groups of filters.

        Raises
        ------
        InputError
            If the nodes are others, or in another order.
        """
        if self.fit(interest):
            return self
        if not self.interest.node_names.cast(pa.string()).equals(interest.node_names.cast(pa.string())):
            raise InputError("the link costs are those of other nodes: make them for the same interest")
        return LinkCosts(interest, self.source)

    @property
    def description(self) -> str:
        """What a plan states about the costs it was made with: their kind and a short digest."""
        return f"{self.source.kind} {self.fingerprint[:12]}"

    def check_made(self, plan: str, stated: object) -> None:
        """Refuse costs other than those that a plan states it was made with, if it states any."""
        if stated not in (None, self.description):
            raise InputError(
                f"plan {plan} was made with other link costs ({stated}, these are {self.description}): "
                "give those"
            )

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the interest and of what its links cost; equal costs have equal digests."""
        digest = hashlib.sha256(f"meshwright link costs 1 {self.source.kind}".encode())
        digest.update(self.interest.fingerprint.encode())
        # As for interests, names count as strings, ordered by their bytes.
        rank = np.empty(self.interest.num_nodes, dtype=np.int32)
        rank[to_numpy(pc.sort_indices(self.interest.node_names.cast(pa.string())))] = np.arange(len(rank))
        for column in self.source.columns(rank):
            digest.update(column.tobytes())
        return digest.hexdigest()


def total_cost(overlay: Overlay, costs: LinkCosts) -> float:
    """Return the total cost of an overlay's links; the order of the links does not matter.

    Raises
    ------
    InputError
        If the costs are those of another interest, or lack a link.

    Examples
    --------
    >>> from meshwright import Interest, LinkCosts, design
    >>> interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
    >>> costs = LinkCosts.from_coordinates(interest, ["a", "b", "c"], [0, 3, 0], [0, 4, 2])
    >>> total_cost(design(interest, "ring").overlay, costs)
    7.0
    """
    if not costs.fit(overlay.interest):
        raise InputError("the link costs are those of another interest: make them for the overlay's")
    return math.fsum(costs.of(overlay.u, overlay.v).tolist())
