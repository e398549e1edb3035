"""A federation that nobody asked for, to try things out with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.deploy.config.routed import Routed
from meshwright.store.trees import TREES, roles_of

if TYPE_CHECKING:
    import pyarrow as pa

ROUNDS = 3
"""As often is the overlay made again on links not yet used, where it is to have loops."""


def made_up(
    brokers: int, *, loops: bool = False, seed: int = 0
) -> tuple[Routed, list[tuple[str, str]], pa.Table]:
    """Return ways, links and trees of made-up brokers; with `loops`, topics have more links than they need.

    Three brokers or more are needed for a loop.
    """
    from meshwright.designs import design
    from meshwright.routes import route
    from meshwright.workloads import zipf

    interest = zipf(brokers, max(3, brokers // 2), size=3, seed=seed)
    overlay = (design(interest, "gm", rounds=ROUNDS) if loops else design(interest, "low")).overlay
    trees = route(overlay)
    table = trees.to_arrow().cast(TREES)
    names: list[Any] = overlay.interest.node_names.to_pylist()
    return Routed.from_tables(table, roles_of(trees), names), overlay.edges, table  # type: ignore[return-value]
