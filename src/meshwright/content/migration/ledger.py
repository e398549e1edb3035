"""The ledger of moves, the same for all brokers, and the baton that lets one broker write at a time.

Only whoever holds the baton adds lines, on a ledger that is up to date. So every line is priced on exactly
what it changes, however many moves are under way, and no broker is ever promised more than it carries.

It brings the lines that its receiver lacks. When a whole round has passed in which nobody had anything to
write, to ask or to wait for, no move pays, and it rests. If it is lost with a broker, those left tell what
they know of it to the first of them, who makes a new one from the longest ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from meshwright.content.assignment.incremental_cost import RunningCost
from meshwright.content.migration.messages import Entry

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from meshwright.content.model.workload import Workload


GENERATION = 1_000_000_000
"""Versions of lines: the number of the line, and this for each time that a baton had to be made anew."""
WORTHWHILE = 1e-9
"""A move pays if it lowers the cost by more than this share of what it was at first: sums are rounded."""


class Ledger:
    """Lines since the start, and the cost after the last."""

    def __init__(self, workload: Workload, broker_of: ArrayLike) -> None:
        self.entries: list[Entry] = []
        self.running = RunningCost(workload, broker_of)
        self.least = WORTHWHILE * self.running.total

    def place(self, user: int) -> int:
        """Return the broker that a user is on."""
        return int(self.running.state.broker_of[user])

    def follow(self, start: int, entries: Sequence[Entry]) -> None:
        """Take over lines that somebody else has added; the first of them has this number."""
        for entry in entries[len(self.entries) - start :]:
            self._add(Entry(*entry))

    def add(self, user: int, broker: int, generation: int, *, paid: bool) -> Entry:
        """Add a line; there must be room."""
        entry = Entry(generation * GENERATION + len(self.entries) + 1, user, broker, paid)
        self._add(entry)
        return entry

    def holds(self, version: int) -> bool:
        """Say whether a line is among those here."""
        number = version % GENERATION
        return 0 < number <= len(self.entries) and self.entries[number - 1].version == version

    def _add(self, entry: Entry) -> None:
        self.running.move(entry.user, entry.broker)
        self.entries.append(entry)
