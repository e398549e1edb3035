"""Remove the links that no topic needs to stay 2-connected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.arrays import frozen
from meshwright.designs.resilient.growth import needed_links, slots_of
from meshwright.measure import contributions
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.designs.resilient.kernels.prune import Product


def remove_spare_links(overlay: Overlay) -> Overlay:
    """Remove, from the last link to the first, each one that no topic needs to stay 2-connected.

    Every topic of the overlay must be 2-connected. Afterwards no single link can be removed.
    """
    from meshwright.designs.resilient.kernels.prune import Search, drop_spare_links

    interest, slots = overlay.interest, overlay.interest.num_subscriptions
    product = _lay_out_product(overlay)
    search = Search(
        seen=np.zeros(slots, dtype=np.int64),
        before=np.empty(slots, dtype=np.int32),
        place=np.full(slots, -1, dtype=np.int32),
        path=np.empty(slots, dtype=np.int32),
        queue=np.empty(slots, dtype=np.int32),
    )
    drop_spare_links(product, search, frozen(needed_links(interest), np.int32))
    u, v = overlay.u[product.kept], overlay.v[product.kept]
    return Overlay(interest, u, v, contributions(interest, u, v))


def _lay_out_product(overlay: Overlay) -> Product:
    """Return the sub-overlays of all topics as one graph over slots."""
    from meshwright.designs.resilient.kernels.prune import Product, count_neighbours, fill_neighbours

    interest = overlay.interest
    empty = np.zeros(0, dtype=np.int32)
    mine, yours = (np.empty(np.diff(interest.node_ptr).max(initial=0), dtype=np.int32) for _ in range(2))
    product = Product(
        node_ptr=frozen(interest.node_ptr, np.int64),
        node_topics=frozen(interest.node_topics, np.int32),
        slot=frozen(slots_of(interest), np.int32),
        u=frozen(overlay.u, np.int32),
        v=frozen(overlay.v, np.int32),
        kept=np.ones(len(overlay), dtype=np.bool_),
        degree=np.zeros(interest.num_subscriptions, dtype=np.int32),
        ptr=np.zeros(interest.num_subscriptions + 2, dtype=np.int64),
        slots=empty,
        links=empty,
        mine=mine,
        yours=yours,
    )
    count_neighbours(product)
    # Shifted by one: filling moves entry s + 1 from the begin of slot s to its end.
    product.ptr[2:] = np.cumsum(product.degree)
    slots, links = (np.empty(product.ptr[-1], dtype=np.int32) for _ in range(2))
    product = product._replace(slots=slots, links=links)
    fill_neighbours(product)
    return product
