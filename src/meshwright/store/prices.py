"""The prices that a plan keeps as its proof of how many links are needed, and what they prove indeed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright import measure
from meshwright.errors import InputError
from meshwright.files.header import PLAN, damaged
from meshwright.store.tables import read_table, write_table

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from meshwright.bounds import Prices
    from meshwright.interest import Interest
    from meshwright.store.plans import StoredPlan

FILE = "prices.parquet"
PRICES = pa.schema(
    [
        pa.field("node", pa.string(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("price", pa.int64(), nullable=False),
    ]
)


def write_prices(prices: Prices, folder: Path) -> None:
    """Write a price for each subscription, in units of 1/2³⁰."""
    interest = prices.interest
    columns = [
        interest.node_names.cast(pa.string()).take(pa.array(interest.node_of_slot)),
        interest.topic_names.cast(pa.string()).take(pa.array(interest.node_topics)),
        pa.array(prices.scaled),
    ]
    write_table(pa.table(columns, schema=PRICES), folder / FILE)


def stated_bound_of(stored: StoredPlan) -> int | None:
    """Return how many links a plan states to be needed."""
    stated = stored.figures.get("lower_bound")
    if stated is not None and type(stated) is not int:
        raise damaged(stored.path / PLAN.file, "figure 'lower_bound' is no whole number")
    return stated


def bound_found(stored: StoredPlan, interest: Interest) -> int | None:
    """Return how many links the prices of a plan prove to be needed; None if it states no such number."""
    if stated_bound_of(stored) is None:
        return None
    try:
        return measure.check_prices(interest, _by_slot(stored.path / FILE, interest))
    except InputError as error:
        raise damaged(stored.path / FILE, str(error)) from error


def _by_slot(file: Path, interest: Interest) -> NDArray[np.int64]:
    """Return the prices in the order of the interest's subscriptions, whatever their order in the file."""
    table = read_table(file, PRICES)
    nodes, topics = (
        pc.index_in(table.column(column), names.cast(pa.string())).combine_chunks()
        for column, names in (("node", interest.node_names), ("topic", interest.topic_names))
    )
    if nodes.null_count or topics.null_count:
        raise damaged(file, "it has prices for nodes or topics that there are not")
    width = max(interest.num_topics, 1)
    found = nodes.to_numpy().astype(np.int64) * width + topics.to_numpy()
    wanted = interest.node_of_slot.astype(np.int64) * width + interest.node_topics
    order = np.argsort(found, kind="stable")
    if not np.array_equal(found[order], wanted):
        raise damaged(file, "it does not have one price for each subscription")
    prices: NDArray[np.int64] = table.column("price").to_numpy()[order]
    return prices
