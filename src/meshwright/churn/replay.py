"""Replay: apply rounds of events to a live overlay, and keep a record of each.

What repairs are compared with is Low-ODA from scratch, made at regular intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright import measure
from meshwright.churn.events import CRASH, JOIN, LEAVE, Event
from meshwright.churn.live import LiveOverlay
from meshwright.churn.repair import Repair
from meshwright.errors import InputError
from meshwright.formatting import counted, shown
from meshwright.greedy import grow, rules
from meshwright.jit.announce import working_seconds
from meshwright.progress import Progress


@dataclass(frozen=True)
class Scratch:
    """The overlay that Low-ODA(ρ) makes of the nodes of one round."""

    max_degree: int
    average_degree: float
    seconds: float
    """How long Low-ODA took."""


class FromScratch:
    """Low-ODA from scratch at regular intervals of one sequence of events.

    It depends on the events and ρ only. So the runs of several policies can share one object, and each round
    is designed once. One design takes as long as hundreds or thousands of repairs.

    Parameters
    ----------
    every
        Design after each `every`-th round; 1 is every round, as the paper's Fig. 6 has it; None is never.

    Raises
    ------
    InputError
        If `every` is below 1.
    """

    def __init__(self, every: int | None = None) -> None:
        if every is not None and every < 1:
            raise InputError(f"Low-ODA from scratch every {every} rounds: give 1 or more, or None for never")
        self.every = every
        self._known: dict[tuple[int, float], Scratch] = {}

    def after(self, rounds: int, live: LiveOverlay) -> Scratch | None:
        """Return the design of the nodes after some rounds, if it is due then."""
        if self.every is None or rounds % self.every:
            return None
        return self.design(rounds, live)

    def design(self, rounds: int, live: LiveOverlay) -> Scratch:
        """Return the design of the nodes after some rounds."""
        key = (rounds, live.policy.rho)
        if key not in self._known:
            interest = live.interest()
            began = working_seconds()
            overlay = grow(interest, rules.low(live.policy.rho))
            seconds = working_seconds() - began
            degrees = measure.degrees(overlay)
            self._known[key] = Scratch(degrees.maximum, degrees.average, seconds)
        return self._known[key]


OF_REPAIR: dict[str, tuple[pa.DataType, Callable[[Repair], Any]]] = {
    "event": (pa.string(), lambda repair: repair.event),
    "node": (pa.string(), lambda repair: ", ".join(map(str, repair.nodes))),
    "seconds": (pa.float64(), lambda repair: repair.seconds),
    "edges_added": (pa.int32(), lambda repair: len(repair.added)),
    "edges_removed": (pa.int32(), lambda repair: len(repair.removed)),
    "max_degree": (pa.int32(), lambda repair: repair.max_degree),
    "average_degree": (pa.float64(), lambda repair: repair.average_degree),
    "repair_ratio": (pa.float64(), lambda repair: repair.ratio),
    "shadow_size": (pa.int32(), lambda repair: repair.shadow_size),
    "greedy_seconds": (pa.float64(), lambda repair: repair.greedy_seconds),
}
"""The columns of `rounds.parquet` that say what a repair did."""
OF_SCRATCH = {"max_degree": pa.int32(), "average_degree": pa.float64(), "seconds": pa.float64()}
"""Those of Low-ODA from scratch, which are null where it was not designed."""
ROUNDS = pa.schema(
    [
        ("round", pa.int32()),
        *((name, kind) for name, (kind, _) in OF_REPAIR.items()),
        *((f"scratch_{name}", kind) for name, kind in OF_SCRATCH.items()),
    ]
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
    scratch: FromScratch = field(default_factory=FromScratch)
    """Low-ODA from scratch, after the rounds for which it was asked."""
    scratches: Sequence[Scratch | None] = ()
    """By round: Low-ODA from scratch, or None."""

    @cached_property
    def rounds(self) -> pa.Table:
        """A table with one row per round; the names of nodes that changed at once are joined by commas."""
        columns = [
            list(range(len(self.repairs))),
            *([value(repair) for repair in self.repairs] for _, value in OF_REPAIR.values()),
            *([each and getattr(each, name) for each in self._scratches] for name in OF_SCRATCH),
        ]
        return pa.table(columns, schema=ROUNDS)

    def __repr__(self) -> str:
        return f"Replay({counted(len(self.repairs), 'round')} of {self.live!r})"

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_bars, html_table

        rows = [(name, shown(value)) for name, value in self.figures.items() if value is not None]
        degrees = [repair.max_degree for repair in self.repairs]
        return html_table(rows) + html_bars(degrees, label="maximum degree after each round")

    @property
    def _scratches(self) -> Sequence[Scratch | None]:
        return self.scratches or [None] * len(self.repairs)

    @cached_property
    def figures(self) -> dict[str, str | int | float | None]:
        """Means over the rounds, next to the overlay that Low-ODA makes of the same nodes from scratch.

        Edges are those added and removed. Where several nodes join or leave at once, edges, seconds and
        ratios are divided by their number. Means and medians of nothing are None. Gaps are means over the
        rounds for which Low-ODA from scratch was asked, `rebuild_…` is Low-ODA after the last round.
        """
        live = self.live
        rebuilt = self.scratch.design(len(self.repairs), live)
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
            "mean_join_repair_ratio": _ratio(joins),
            "mean_leave_repair_ratio": _ratio(leaves),
            "median_join_greedy_seconds": _median([each.greedy_seconds / len(each.nodes) for each in joins]),
            "median_leave_greedy_seconds": _median(
                [each.greedy_seconds / len(each.nodes) for each in leaves]
            ),
            **_shadow_figures(self.repairs),
            **_backup_figures(live),
            **_gap_figures(self.repairs, self._scratches),
            "nodes": len(live),
            "edges": live.num_edges,
            "max_degree": live.max_degree,
            "average_degree": live.average_degree,
            "rebuild_seconds": rebuilt.seconds,
            "rebuild_max_degree": rebuilt.max_degree,
            "rebuild_average_degree": rebuilt.average_degree,
        }


def replay(
    live: LiveOverlay,
    rounds: Iterable[Sequence[Event]],
    *,
    scratch: FromScratch | int | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Apply rounds of events; the events of one round happen at once.

    `scratch` also designs the overlay from scratch by Low-ODA at regular intervals, to compare degrees:
    a number of rounds, or a `FromScratch` that several replays of the same events share. By default that
    happens once, when `Replay.figures` is first read.

    `progress` is called after each round with the rounds done, their share if the number of rounds is known
    and otherwise 0, and `repairing`.
    """
    total = len(rounds) if isinstance(rounds, Sized) else 0
    repairs: list[Repair] = []
    compared = scratch if isinstance(scratch, FromScratch) else FromScratch(scratch)
    scratches: list[Scratch | None] = []
    for events in rounds:
        try:
            repairs.append(happen(live, events))
        except InputError as error:
            raise InputError(f"round {len(repairs) + 1}: {error}") from error
        scratches.append(compared.after(len(repairs), live))
        if progress is not None:
            progress(len(repairs), len(repairs) / total if total else 0.0, REPAIRING)
    return Replay(live, repairs, compared, scratches)


def happen(live: LiveOverlay, events: Sequence[Event]) -> Repair:
    """Apply one round. A single event keeps its name; nodes that leave at once are a crash."""
    first = events[0]
    if len(events) > 1:
        if all(event.event in (LEAVE, CRASH) for event in events):
            return live.crash([event.node for event in events])
        done = live.apply(events)
        return replace(done, event=JOIN) if all(event.event == JOIN for event in events) else done
    # An event was checked when it was made, so it is applied as it is.
    return live.crash([first.node]) if first.event == CRASH else live._apply_one(first)


def _nodes(repairs: Sequence[Repair]) -> int:
    return sum(len(repair.nodes) for repair in repairs)


def _edges(repairs: Sequence[Repair]) -> float | None:
    """Return the mean number of edges added and removed per node."""
    edges = sum(len(repair.added) + len(repair.removed) for repair in repairs)
    return edges / _nodes(repairs) if repairs else None


def _ratio(repairs: Sequence[Repair]) -> float | None:
    """Return the mean repair ratio per node."""
    return sum(repair.ratio for repair in repairs) / _nodes(repairs) if repairs else None


def _shadow_figures(repairs: Sequence[Repair]) -> dict[str, float | None]:
    """Return the mean and the largest shadow set; None without any."""
    sizes = [each.shadow_size for each in repairs if each.shadow_size is not None]
    return {"mean_shadow_size": _mean(sizes), "max_shadow_size": max(sizes, default=None)}


def _backup_figures(live: LiveOverlay) -> dict[str, int | float | None]:
    """Return how many backups and primaries nodes have after the last round; None without backups."""
    table = live.node_table()
    found: dict[str, int | float | None] = {}
    for name in ("backups", "primaries"):
        counts = table.column(name).to_pylist() if live.policy.keeps_backups else []
        found |= {
            f"mean_{name}": _mean(counts),
            f"min_{name}": min(counts, default=None),
            f"max_{name}": max(counts, default=None),
        }
    return found


def _gap_figures(
    repairs: Sequence[Repair], scratches: Sequence[Scratch | None]
) -> dict[str, int | float | None]:
    """Return how far degrees are above those of Low-ODA from scratch, on average."""
    both = [(repair, each) for repair, each in zip(repairs, scratches, strict=True) if each is not None]
    return {
        "scratch_rounds": len(both),
        "mean_max_degree_gap": _mean([mine.max_degree - low.max_degree for mine, low in both]),
        "mean_average_degree_gap": _mean([mine.average_degree - low.average_degree for mine, low in both]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None
