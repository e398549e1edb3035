"""The plan that a federation runs: read from a folder, synthetic, or live, with an overlay under repair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.deploy.named_trees import NamedTrees
from meshwright.deploy.wiring import rewire, wire
from meshwright.interest import Interest
from meshwright.overlay import Overlay, unchecked_overlay

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from meshwright.churn import Event, Policy
    from meshwright.deploy.wiring import Wiring
    from meshwright.routes import Trees

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
    from meshwright.store.plan_check import require_meaning
    from meshwright.store.trees import read_trees

    stored = read_trees(path)
    require_meaning(stored)
    edges = stored.plan.edges
    links = zip(edges.column("u").to_pylist(), edges.column("v").to_pylist(), strict=True)
    return FederationPlan(NamedTrees.from_plan(stored), list(links), stored.trees)


def synthetic_plan(brokers: int, *, loops: bool = False, seed: int = 0) -> FederationPlan:
    """Return a plan of random subscriptions; with `loops`, the links of some topic contain a loop.

    A loop needs at least three brokers.
    """
    from meshwright.designs.design import design
    from meshwright.routes import route
    from meshwright.workloads import zipf

    interest = zipf(brokers, max(3, brokers // 2), size=3, seed=seed)
    overlay = (design(interest, "gm", rounds=ROUNDS) if loops else design(interest, "low")).overlay
    named, table = _by_name(route(overlay))
    return FederationPlan(named, overlay.edges, table)  # type: ignore[arg-type]


def _by_name(trees: Trees) -> tuple[NamedTrees, pa.Table]:
    """Return trees by name, and as the table that a plan stores."""
    from meshwright.plan_tables import TREES
    from meshwright.store.trees import roles_of

    table = trees.to_arrow().cast(TREES)
    names = trees.overlay.interest.node_names.to_pylist()
    return NamedTrees.from_tables(table, roles_of(trees), names), table


class LivePlan:
    """A live overlay with stable trees: `apply` updates trees and wiring after events.

    Events name the filters that brokers subscribe to. The groups of filters stay as they were planned, so a
    filter that joins several groups is refused. Kernels are compiled, or loaded, before the first event, so
    that no repair waits for the compiler.
    """

    def __init__(
        self,
        plan: FederationPlan,
        *,
        policy: Policy | str = "shadow",
        seed: int = 0,
    ) -> None:
        from meshwright import churn

        _warm_up(policy)
        self.live_overlay = churn.LiveOverlay(_overlay(plan.trees, plan.links), policy, seed=seed)
        self.trees = plan.trees
        self.wiring: Wiring = wire(plan.trees)
        self._table = plan.table
        group_of = {
            one: topic for topic, tree in plan.trees.trees.items() for one in tree.all_filters or (topic,)
        }
        held = plan.trees.held_filters()
        self._filters = churn.FilterEvents(
            group_of, {broker: held.get(broker, set()) for broker in plan.trees.brokers}
        )

    def interest(self) -> Interest:
        """Return which broker holds which filters now."""
        return Interest.from_dict({broker: sorted(held) for broker, held in self._filters.held.items()})

    def apply(self, events: Sequence[Event]) -> None:
        """Repair the overlay after events that happen together, and change as few tree links as possible."""
        from meshwright.churn import happen
        from meshwright.routes import route
        from meshwright.store.trees import tree_ids

        on_groups = self._filters.on_groups(events)
        if on_groups:
            happen(self.live_overlay, on_groups)
        overlay = self.live_overlay.overlay()
        trees = route(overlay, "stable", today=tree_ids(self._table, overlay.interest))
        named, self._table = _by_name(trees)
        holders = ((broker, one) for broker, held in self._filters.held.items() for one in sorted(held))
        self.trees = named.with_filters(self._filters.group_of, holders)
        self.wiring = rewire(self.trees, self.wiring)


def _overlay(trees: NamedTrees, links: Iterable[tuple[str, str]]) -> Overlay:
    """Return the overlay of these links over the subscriptions of the trees."""
    pairs = [(broker, topic) for topic, tree in trees.trees.items() for broker in sorted(tree.subscribers)]
    interest = Interest.from_pairs(
        [broker for broker, _ in pairs], [topic for _, topic in pairs], all_nodes=trees.brokers
    )
    node = {name: number for number, name in enumerate(interest.node_names.to_pylist())}
    ends = sorted({tuple(sorted((node[a], node[b]))) for a, b in links})
    u, v = np.array(ends, dtype=np.int32).reshape(-1, 2).T.copy()
    return unchecked_overlay(interest, u, v, np.zeros(len(u), dtype=np.int32))


def _warm_up(policy: Policy | str) -> None:
    """Call every kernel of repairs and routes once: every kind of event, on the smallest overlay."""
    from meshwright.churn import LiveOverlay
    from meshwright.plan_tables import TREES
    from meshwright.routes import route
    from meshwright.store.trees import tree_ids

    pair = Interest.from_dict({"a": ["t"], "b": ["t"]})
    end = np.zeros(1, dtype=np.int32)
    live = LiveOverlay(unchecked_overlay(pair, end, end + 1, end + 1), policy)
    live.join("c", ["t", "s"])
    live.subscribe("a", ["s"])
    live.unsubscribe("c", ["t"])
    live.leave("b")
    overlay = live.overlay()
    trees = route(overlay).to_arrow().cast(TREES)
    route(overlay, "stable", today=tree_ids(trees, overlay.interest))
