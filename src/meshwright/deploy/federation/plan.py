"""The plan that a federation runs: its trees, the links of its overlay, and a synthetic one to try out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from meshwright.deploy.config.named_trees import NamedTrees

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

ROUNDS = 3
"""Rounds of a synthetic plan with loops: each round builds the overlay again on links not yet used."""


@dataclass(frozen=True)
class FederationPlan:
    """A plan by name."""

    trees: NamedTrees
    links: Sequence[tuple[str, str]]
    """The links of the overlay: those that trees use, and others."""
    table: pa.Table
    """The trees as the plan stores them: topic, parent, child."""


def read_federation_plan(path: Path) -> FederationPlan:
    """Read a plan with trees.

    Raises
    ------
    InputError
        If the plan has no trees, or is not topic-connected.
    FormatError
        If the folder is not a plan, has a newer schema, or is damaged.
    """
    from meshwright.store import read_trees

    stored = read_trees(path)
    edges = stored.plan.edges
    links = zip(edges.column("u").to_pylist(), edges.column("v").to_pylist(), strict=True)
    return FederationPlan(NamedTrees.from_plan(stored), list(links), stored.trees)


def synthetic_plan(brokers: int, *, loops: bool = False, seed: int = 0) -> FederationPlan:
    """Return a plan of random subscriptions; with `loops`, the links of some topic contain a loop.

    A loop needs at least three brokers.
    """
    from meshwright.designs import design
    from meshwright.routes import route
    from meshwright.store.trees import TREES, roles_of
    from meshwright.workloads import zipf

    interest = zipf(brokers, max(3, brokers // 2), size=3, seed=seed)
    overlay = (design(interest, "gm", rounds=ROUNDS) if loops else design(interest, "low")).overlay
    trees = route(overlay)
    table = trees.to_arrow().cast(TREES)
    names: list[Any] = overlay.interest.node_names.to_pylist()
    named = NamedTrees.from_tables(table, roles_of(trees), names)
    return FederationPlan(named, overlay.edges, table)  # type: ignore[arg-type]
