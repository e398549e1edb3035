"""What subscribe and unsubscribe rows change, in order: the events that a live overlay takes.

A node joins with its first topics and leaves with its last one. Rows count in the order of time, sequence and
place; a row that is older than what is known already of its node and topic is too late and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

Stamp: TypeAlias = tuple[float, int]
"""Time and sequence; rows without one are before those with one."""

FIRST: Stamp = (float("-inf"), -(2**63))


@dataclass(frozen=True)
class Row:
    """One subscribe or unsubscribe of a node."""

    stamp: Stamp
    topic: str
    leaves: bool


@dataclass
class Change:
    """One event: what happens to the node, with which topics, from which row on."""

    event: str
    stamp: Stamp
    topics: list[str]
    rows: int = 1


@dataclass
class Node:
    """What is known of one node: of each topic, whether it is held, and since which stamp."""

    known: dict[str, tuple[Stamp, bool]] = field(default_factory=dict)
    unchanged: int = 0
    superseded: int = 0

    def take(self, rows: Iterable[Row]) -> Iterator[Change]:
        """Take rows in their order, and yield what they change; those of one moment go together."""
        holds = sum(held for _, held in self.known.values())
        open_change: Change | None = None
        for row in rows:
            stamp, held = self.known.get(row.topic, (None, False))
            if stamp is not None and row.stamp < stamp:
                self.superseded += 1
                continue
            self.known[row.topic] = (row.stamp, not row.leaves)
            if held != row.leaves:
                self.unchanged += 1
                continue
            holds += -1 if row.leaves else 1
            # A join takes up all topics of its moment; a leave needs none.
            event = (
                ("unsubscribe" if holds else "leave")
                if row.leaves
                else ("join" if holds == 1 else "subscribe")
            )
            same = open_change is not None and open_change.stamp[0] == row.stamp[0]
            follows = {"subscribe": ("join", "subscribe"), "unsubscribe": ("unsubscribe",)}.get(event, ())
            if open_change is not None and same and open_change.event in follows:
                open_change.topics.append(row.topic)
                open_change.rows += 1
                continue
            if open_change is not None:
                yield open_change
            open_change = Change(event, row.stamp, [] if event == "leave" else [row.topic])
        if open_change is not None:
            yield open_change
