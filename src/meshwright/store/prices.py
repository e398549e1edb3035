"""The prices that a plan keeps as proof of how many links are needed: `prices.parquet`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from meshwright.store.tables import read_table, write_table

if TYPE_CHECKING:
    from pathlib import Path

    from meshwright.bounds import Prices

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


def read_prices(folder: Path) -> pa.Table:
    """Read the prices of a plan: `node, topic, price`, in any order.

    Raises
    ------
    FormatError
        If the table is missing or damaged.
    """
    return read_table(folder / FILE, PRICES)
