"""Plans: an overlay as a folder, with how it was made and for which dataset.

`prices.parquet` holds the prices that prove how many links are needed, if the plan states a bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrays import is_whole
from meshwright.arrow import as_text, from_numpy, to_numpy
from meshwright.errors import InputError, first_five
from meshwright.files.atomic import new_folder
from meshwright.files.header import PLAN, damaged, read_header, write_header
from meshwright.files.urls import require_local
from meshwright.overlay import Overlay
from meshwright.store.tables import read_table, write_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.bounds import Prices
    from meshwright.designs import Plan
    from meshwright.interest import Interest

EDGES = pa.schema(
    [
        pa.field("rank", pa.int32(), nullable=False),
        pa.field("u", pa.string(), nullable=False),
        pa.field("v", pa.string(), nullable=False),
        pa.field("contribution", pa.int32(), nullable=False),
    ]
)
PRICES_FILE = "prices.parquet"
PRICES = pa.schema(
    [
        pa.field("node", pa.string(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("price", pa.int64(), nullable=False),
    ]
)
BUDGETS = ("max_edges", "max_degree")
"""Parameters that limit a plan: whole numbers, or null."""
FIGURES = ("nodes", "topics", "edges", "average_degree", "max_degree", "support", "seconds")
"""The figures that every plan states."""


@dataclass(frozen=True, eq=False)
class StoredPlan:
    """A plan as it is on disk: its metadata, and its edges by name (`rank, u, v, contribution`)."""

    path: Path
    metadata: dict[str, Any]
    edges: pa.Table

    @property
    def figures(self) -> dict[str, int | float]:
        """What the plan states of itself."""
        figures: dict[str, int | float] = self.metadata["figures"]
        return figures

    @property
    def routes(self) -> dict[str, Any] | None:
        """What the plan states of its trees: `objective` and `figures`. None if it has no trees.

        Raises
        ------
        FormatError
            If that is not an object with an object of figures.
        """
        if "routes" not in self.metadata:
            return None
        routes = self.metadata["routes"]
        if not isinstance(routes, dict) or not isinstance(routes.get("figures"), dict):
            raise damaged(self.path / PLAN.file, "'routes' is not an object with figures")
        return routes

    def overlay_on(self, interest: Interest) -> Overlay:
        """Return the overlay over the interest that it was made for.

        Raises
        ------
        InputError
            If the plan was made for another dataset.
        FormatError
            If an edge names an unknown node or occurs twice.
        """
        if not interest.has_fingerprint(self.metadata["dataset"]):
            raise InputError(
                f"plan {self.path} was made for another dataset (fingerprint "
                f"{self.metadata['dataset'][:12]}…, this one has {interest.fingerprint[:12]}…): "
                "give the one it was made for"
            )
        names = as_text(interest.node_names)
        ends = [pc.index_in(self.edges.column(end), names).combine_chunks() for end in ("u", "v")]
        for end, ids in zip(("u", "v"), ends, strict=True):
            if ids.null_count:
                unknown = self.edges.column(end).filter(ids.is_null()).unique().to_pylist()
                raise damaged(self.path, f"it names the unknown nodes {first_five(unknown)}")
        a, b = (to_numpy(ids).astype(np.int32) for ids in ends)
        contributions = to_numpy(self.edges.column("contribution")).astype(np.int32)
        try:
            return Overlay(interest, np.minimum(a, b), np.maximum(a, b), contributions)
        except InputError as error:
            raise damaged(self.path, str(error)) from error


def write_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan as a folder, whole or not at all; it replaces a plan that is already there."""
    with new_folder(path, PLAN) as folder:
        write_table(_edge_table(plan.overlay), folder / "edges.parquet")
        if plan.prices is not None:
            write_prices(plan.prices, folder)
        content = {
            "algorithm": plan.algorithm,
            "parameters": plan.stated_parameters,
            "seed": plan.seed,
            "dataset": plan.overlay.interest.fingerprint,
            "figures": plan.figures,
        }
        write_header(folder, PLAN, content)
    return Path(path)


def read_plan(path: str | Path) -> StoredPlan:
    """Read a plan folder.

    Raises
    ------
    InputError
        If nothing is there.
    FormatError
        If it is something else, of a newer schema, or damaged.
    """
    folder = require_local(path)
    metadata = read_header(folder, PLAN, algorithm=str, parameters=dict, dataset=str, figures=dict)
    for name in FIGURES:
        if type(metadata["figures"].get(name)) not in (int, float):
            raise damaged(folder / PLAN.file, f"figure {name!r} is not a number")
    for name in BUDGETS:
        budget = metadata["parameters"].get(name)
        if budget is not None and (not is_whole(budget) or budget < 0):
            raise damaged(
                folder / PLAN.file, f"parameter {name!r} is {budget!r}, not a whole number of 0 or more"
            )
    edges = read_table(folder / "edges.parquet", EDGES)
    if not np.array_equal(to_numpy(edges.column("rank")), np.arange(edges.num_rows)):
        raise damaged(folder / "edges.parquet", "ranks are not 0, 1, 2 … in order")
    if not pc.all(pc.less(edges.column("u"), edges.column("v")), min_count=0).as_py():
        raise damaged(folder / "edges.parquet", "not every u < v")
    return StoredPlan(folder, metadata, edges)


def _edge_table(overlay: Overlay) -> pa.Table:
    """Return the edges by name, u < v by their UTF-8 bytes: integer names may sort the other way round."""
    names = overlay.interest.node_names.cast(pa.string())
    rank: Ids = np.empty(len(names), dtype=np.int32)
    rank[to_numpy(pc.sort_indices(names))] = np.arange(len(names), dtype=np.int32)
    in_order = rank[overlay.u] < rank[overlay.v]
    u = np.where(in_order, overlay.u, overlay.v)
    v = np.where(in_order, overlay.v, overlay.u)
    columns = [
        from_numpy(np.arange(len(overlay), dtype=np.int32)),
        names.take(from_numpy(u)),
        names.take(from_numpy(v)),
        from_numpy(overlay.contribution),
    ]
    return pa.table(columns, schema=EDGES)


def write_prices(prices: Prices, folder: Path) -> None:
    """Write a price for each subscription, in units of 1/2³⁰."""
    write_table(price_table(prices), folder / PRICES_FILE)


def price_table(prices: Prices) -> pa.Table:
    """Return a table `node, topic, price` of all subscriptions, in units of 1/2³⁰."""
    interest = prices.interest
    columns = [
        interest.node_names.cast(pa.string()).take(from_numpy(interest.node_of_slot)),
        interest.topic_names.cast(pa.string()).take(from_numpy(interest.node_topics)),
        from_numpy(prices.scaled),
    ]
    return pa.table(columns, schema=PRICES)


def prices_on(stored: StoredPlan, interest: Interest) -> NDArray[np.int64]:
    """Return the prices of a stored plan in the order of the interest's subscriptions.

    Raises
    ------
    FormatError
        If they are missing, damaged, or not one for each subscription.
    """
    table = read_prices(stored.path)
    places = [
        pc.index_in(table.column(name), names.cast(pa.string()))
        for name, names in (("node", interest.node_names), ("topic", interest.topic_names))
    ]
    if table.num_rows != interest.num_subscriptions or any(place.null_count for place in places):
        raise damaged(stored.path / PRICES_FILE, "it does not have one price for each subscription")
    node, topic = (to_numpy(place).astype(np.int64) for place in places)
    order = np.lexsort((topic, node))
    prices: NDArray[np.int64] = to_numpy(table.column("price"))[order]
    return prices


def read_prices(folder: Path) -> pa.Table:
    """Read the prices of a plan: `node, topic, price`, in any order.

    Raises
    ------
    FormatError
        If the table is missing or damaged.
    """
    return read_table(folder / PRICES_FILE, PRICES)
