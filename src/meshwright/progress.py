"""Progress: the one callback through which long work reports how far it is.

The library calls it; the command line draws it. Whatever the callback raises ends the work.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A callback that takes the progress of long work, now and then."""

    def __call__(self, done: int, share: float, phase: str, /) -> None:
        """Take how much is done, as a count and as a share from 0 to 1, and the name of the phase.

        The count is in the unit of the work: links for a design, events for a replay, tasks on Spark. While
        the engine is `linking`, the share is the support so far.
        """


def announce_phase(progress: Progress | None, phase: str) -> None:
    """Report that a phase begins; it may have nothing to count."""
    if progress is not None:
        progress(0, 0.0, phase)


def titled(progress: Progress | None, title: str) -> Progress | None:
    """Return a callback for one piece of work among several: its phases become `title: phase`."""
    if progress is None:
        return None
    return lambda done, share, phase: progress(done, share, f"{title}: {phase}")


def part_of(progress: Progress | None, begin: float, end: float, before: int = 0) -> Progress | None:
    """Return a callback for one part of a work: its shares lie from `begin` to `end`, after `before` counted.

    >>> part_of(lambda done, share, phase: print(done, share, phase), 0.5, 1.0, before=3)(1, 0.5, "linking")
    4 0.75 linking
    """
    if progress is None:
        return None
    return lambda done, share, phase: progress(before + done, begin * (1 - share) + end * share, phase)
