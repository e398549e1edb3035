"""The tables of a plan: its links, the prices that prove its bounds, and groups of MQTT filters.

`prices.parquet` holds the prices that prove how many links are needed, if the plan states a bound, and
`degree_prices.parquet` those that prove what a limit of the degree takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import from_numpy, to_numpy
from meshwright.plan_tables import DEGREE_PRICES, EDGES, PRICES

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.bounds import DegreeProof, Prices
    from meshwright.overlay import Overlay

EDGES_FILE, TREES_FILE, ROLES_FILE = "edges.parquet", "trees.parquet", "roles.parquet"
PRICES_FILE, DEGREE_PRICES_FILE = "prices.parquet", "degree_prices.parquet"
GROUPS_FILE, HOLDERS_FILE = "groups.parquet", "holders.parquet"


def edge_table(overlay: Overlay) -> pa.Table:
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


def price_table(prices: Prices) -> pa.Table:
    """Return a table `node, topic, price` of all subscriptions, in units of 1/2³⁰."""
    interest = prices.interest
    columns = [
        interest.node_names.cast(pa.string()).take(from_numpy(interest.node_of_slot)),
        interest.topic_names.cast(pa.string()).take(from_numpy(interest.node_topics)),
        from_numpy(prices.scaled),
    ]
    return pa.table(columns, schema=PRICES)


def degree_price_table(proof: DegreeProof) -> pa.Table:
    """Return a table of the prices of all subscriptions and, without a topic, the allowances of all nodes."""
    interest = proof.links.interest
    nodes = interest.node_names.cast(pa.string())
    topics = interest.topic_names.cast(pa.string()).take(from_numpy(interest.node_topics))
    columns = [
        pa.concat_arrays([nodes.take(from_numpy(interest.node_of_slot)), nodes]),
        pa.concat_arrays([topics, pa.nulls(len(nodes), pa.string())]),
        *(from_numpy(np.concatenate((own.scaled, own.allowance))) for own in (proof.links, proof.lowest)),
    ]
    return pa.table(columns, schema=DEGREE_PRICES)
