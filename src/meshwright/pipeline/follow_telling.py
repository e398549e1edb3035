"""Who follows a folder is told of its batches, wherever they are worked on: by what they leave."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path


@dataclass(frozen=True)
class Followed:
    """What became of the rows of a batch: read = applied + unchanged + superseded + quarantined."""

    batch: int
    files: int
    read: int
    applied: int
    unchanged: int
    superseded: int
    quarantined: int
    events: int
    next_sequence: int
    """The number that the next event will have."""


class Telling:
    """Tells of the batches that end after it was made; the latest one before may be done again."""

    def __init__(self, place: Path, told_of: Callable[[Followed], None] | None) -> None:
        self.place, self.told_of = place, told_of
        self.latest, self.stamp = 0, 0
        self._look(None)

    def __call__(self) -> None:
        """Tell of what is new."""
        self._look(self.told_of)

    def _look(self, told_of: Callable[[Followed], None] | None) -> None:
        for number in count(self.latest):
            file = file_of(self.place, number)
            if not file.exists():
                return
            stamp = file.stat().st_mtime_ns
            if (number, stamp) == (self.latest, self.stamp):
                continue
            self.latest, self.stamp = number, stamp
            if told_of is not None:
                told_of(left_by(self.place, number))


def left_by(place: Path, number: int) -> Followed:
    """Return what a batch that ended says of itself."""
    return Followed(**json.loads(file_of(place, number).read_text(encoding="utf-8")))


def file_of(place: Path, number: int) -> Path:
    """Return the file that a batch leaves last."""
    return place / "batches" / f"{name_of(number)}.json"


def name_of(number: int) -> str:
    """Return under which name a batch leaves what it gives.

    >>> name_of(7)
    'batch-00000007'
    """
    return f"batch-{number:08}"
