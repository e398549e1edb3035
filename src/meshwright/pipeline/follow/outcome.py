"""Outcomes of batches: the counts that a batch writes last, and the report of those that end."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path


@dataclass(frozen=True)
class BatchOutcome:
    """The counts of a batch: read = applied + unchanged + superseded + quarantined."""

    batch: int
    files: int
    read: int
    applied: int
    unchanged: int
    superseded: int
    quarantined: int
    events: int
    next_sequence: int
    """The number of the next event."""


class BatchReporter:
    """Reports the batches that end after it is created.

    A killed run leaves its last batch to be done again. Then its file gets a new modification time, and the
    batch is reported too.
    """

    def __init__(self, place: Path, report: Callable[[BatchOutcome], None] | None) -> None:
        self.place = place
        self.latest, self.stamp = 0, 0
        self._report_new(None)
        self.report = report

    def __call__(self) -> None:
        """Report the batches that ended since the last call."""
        self._report_new(self.report)

    def _report_new(self, report: Callable[[BatchOutcome], None] | None) -> None:
        for number in count(self.latest):
            file = outcome_file(self.place, number)
            if not file.exists():
                return
            stamp = file.stat().st_mtime_ns
            if (number, stamp) == (self.latest, self.stamp):
                continue
            self.latest, self.stamp = number, stamp
            if report is not None:
                report(read_outcome(self.place, number))


def read_outcome(place: Path, number: int) -> BatchOutcome:
    """Return the outcome of a batch that ended."""
    return BatchOutcome(**json.loads(outcome_file(place, number).read_text(encoding="utf-8")))


def outcome_file(place: Path, number: int) -> Path:
    """Return the file with the outcome of a batch, which is written last."""
    return place / "batches" / f"{batch_name(number)}.json"


def batch_name(number: int) -> str:
    """Return the name of the files of a batch.

    >>> batch_name(7)
    'batch-00000007'
    """
    return f"batch-{number:08}"
