"""Replay: apply rounds of events to a live overlay, and keep a record of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright import measure
from meshwright.churn.events import CRASH, JOIN, LEAVE, Event
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.jit.announce import working_seconds

if TYPE_CHECKING:
    from meshwright.churn.live import LiveOverlay
    from meshwright.churn.repair import Repair
    from meshwright.progress import Progress

ROUNDS = pa.schema(
    {
        "round": pa.int32(),
        "event": pa.string(),
        "node": pa.string(),
        "seconds": pa.float64(),
        "edges_added": pa.int32(),
        "edges_removed": pa.int32(),
        "max_degree": pa.int32(),
        "average_degree": pa.float64(),
    }
)
"""The columns of `rounds.parquet`."""

REPAIRING = "repairing"
"""The phase that `replay` reports."""


@dataclass(frozen=True, eq=False)
class Replay:
    """A live overlay after some rounds, and the repair of each round."""

    live: LiveOverlay
    """The overlay after the last round."""
    repairs: Sequence[Repair]
    """What each round did."""

    @cached_property
    def rounds(self) -> pa.Table:
        """A table with one row per round; the names of nodes that changed at once are joined by commas."""
        columns = [
            list(range(len(self.repairs))),
            [repair.event for repair in self.repairs],
            [", ".join(map(str, repair.nodes)) for repair in self.repairs],
            [repair.seconds for repair in self.repairs],
            [len(repair.added) for repair in self.repairs],
            [len(repair.removed) for repair in self.repairs],
            [repair.max_degree for repair in self.repairs],
            [repair.average_degree for repair in self.repairs],
        ]
        return pa.table(columns, schema=ROUNDS)

    @cached_property
    def figures(self) -> dict[str, str | int | float | None]:
        """Means over the rounds, next to the overlay that Low-ODA makes of the same nodes from scratch.

        Edges are those added and removed. Where several nodes join or leave at once, edges and seconds are
        divided by their number. Means and medians of nothing are None.
        """
        live = self.live
        interest = live.interest()
        began = working_seconds()
        rebuilt = measure.degrees(grow(interest, rules.low(live.policy.rho)))
        took = working_seconds() - began
        joins = [repair for repair in self.repairs if repair.event == JOIN]
        leaves = [repair for repair in self.repairs if repair.event in (LEAVE, CRASH)]
        return {
            "policy": live.policy.name,
            "rounds": len(self.repairs),
            "joins": _nodes(joins),
            "leaves": _nodes(leaves),
            "mean_join_edges": _edges(joins),
            "mean_leave_edges": _edges(leaves),
            "median_join_seconds": _median([repair.seconds / len(repair.nodes) for repair in joins]),
            "median_leave_seconds": _median([repair.seconds / len(repair.nodes) for repair in leaves]),
            "mean_tidied_links": _mean([repair.tidied for repair in self.repairs]),
            "nodes": interest.num_nodes,
            "edges": live.num_edges,
            "max_degree": live.max_degree,
            "average_degree": live.average_degree,
            "rebuild_seconds": took,
            "rebuild_max_degree": rebuilt.maximum,
            "rebuild_average_degree": rebuilt.average,
        }


def replay(
    live: LiveOverlay,
    rounds: Iterable[Sequence[Event]],
    *,
    progress: Progress | None = None,
) -> Replay:
    """Apply rounds of events; the events of one round happen at once.

    `progress` is called after each round with the rounds done, their share if the number of rounds is known
    and otherwise 0, and `repairing`.
    """
    total = len(rounds) if isinstance(rounds, Sized) else 0
    repairs: list[Repair] = []
    for events in rounds:
        try:
            repairs.append(happen(live, events))
        except InputError as error:
            raise InputError(f"round {len(repairs) + 1}: {error}") from error
        if progress is not None:
            progress(len(repairs), len(repairs) / total if total else 0.0, REPAIRING)
    return Replay(live, repairs)


def happen(live: LiveOverlay, events: Sequence[Event]) -> Repair:
    """Apply one round. A single event keeps its name; nodes that leave at once are a crash."""
    first = events[0]
    if len(events) > 1:
        if all(event.event in (LEAVE, CRASH) for event in events):
            return live.crash([event.node for event in events])
        done = live.apply(events)
        return replace(done, event=JOIN) if all(event.event == JOIN for event in events) else done
    if first.event == LEAVE:
        return live.leave(first.node)
    if first.event == CRASH:
        return live.crash([first.node])
    change = {"join": live.join, "subscribe": live.subscribe, "unsubscribe": live.unsubscribe}
    return change[first.event](first.node, first.topics)


def _nodes(repairs: Sequence[Repair]) -> int:
    return sum(len(repair.nodes) for repair in repairs)


def _edges(repairs: Sequence[Repair]) -> float | None:
    """Return the mean number of edges added and removed per node."""
    edges = sum(len(repair.added) + len(repair.removed) for repair in repairs)
    return edges / _nodes(repairs) if repairs else None


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None
