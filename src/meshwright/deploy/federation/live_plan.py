"""The plan of a federation that lives: an overlay that repairs itself, its trees, and how it is wired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from meshwright.churn import LiveOverlay, happen
from meshwright.deploy.config.routed import Routed
from meshwright.deploy.config.wiring import rewire, wire
from meshwright.interest import Interest
from meshwright.overlay import Overlay
from meshwright.routes import route
from meshwright.store.trees import TREES, roles_of, tree_ids

if TYPE_CHECKING:
    import pyarrow as pa

    from meshwright.churn import Event, Policy
    from meshwright.deploy.config.wiring import Wiring


def interest_of(routed: Routed) -> Interest:
    """Return who subscribes to what, from the ways that topics take."""
    pairs = [(broker, topic) for topic, way in routed.ways.items() for broker in sorted(way.subscribers)]
    return Interest.from_pairs(
        [broker for broker, _ in pairs], [topic for _, topic in pairs], all_nodes=routed.brokers
    )


def overlay_of(routed: Routed, links: Iterable[tuple[str, str]]) -> Overlay:
    """Return an overlay of these links, by name, over those who subscribe."""
    interest = interest_of(routed)
    place = {name: number for number, name in enumerate(interest.node_names.to_pylist())}
    pairs = sorted({tuple(sorted((place[a], place[b]))) for a, b in links})
    u, v = np.array(pairs, dtype=np.int32).reshape(-1, 2).T.copy()
    return Overlay(interest, u, v, np.zeros(len(u), dtype=np.int32))


class LivingPlan:
    """A live overlay with stable trees: after each event, the ways and the wiring that follow from it.

    All kernels are compiled, or loaded from the cache, when the plan is made: no repair waits for that.
    """

    def __init__(
        self,
        routed: Routed,
        links: Iterable[tuple[str, str]],
        trees: pa.Table,
        *,
        policy: Policy | str = "shadow",
        seed: int = 0,
    ) -> None:
        _warm_up(policy)
        self.live = LiveOverlay(overlay_of(routed, links), policy, seed=seed)
        self.trees = trees
        self.routed = routed
        self.wiring: Wiring = wire(routed)

    def happen(self, events: Sequence[Event]) -> None:
        """Let something happen, repair the overlay, and change as little of the trees as that allows."""
        happen(self.live, events)
        overlay = self.live.overlay()
        trees = route(overlay, "stable", today=tree_ids(self.trees, overlay.interest))
        self.trees = trees.to_arrow().cast(TREES)
        names = overlay.interest.node_names.to_pylist()
        self.routed = Routed.from_tables(self.trees, roles_of(trees), names)
        self.wiring = rewire(self.routed, self.wiring)


def _warm_up(policy: Policy | str) -> None:
    """Call every kernel of repairs and routes once: every kind of event, on the smallest overlay."""
    pair = Interest.from_dict({"a": ["t"], "b": ["t"]})
    end = np.zeros(1, dtype=np.int32)
    live = LiveOverlay(Overlay(pair, end, end + 1, end + 1), policy)
    live.join("c", ["t", "s"])
    live.subscribe("a", ["s"])
    live.unsubscribe("c", ["t"])
    live.leave("b")
    overlay = live.overlay()
    trees = route(overlay).to_arrow().cast(TREES)
    route(overlay, "stable", today=tree_ids(trees, overlay.interest))
