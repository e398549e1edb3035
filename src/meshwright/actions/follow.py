"""Follow: turn the rows that appear in a folder into events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from meshwright.actions.spark import SparkOptions
from meshwright.formatting import counted

if TYPE_CHECKING:
    from meshwright.pipeline.follow.folder import BatchOutcome
    from meshwright.pipeline.readers.formats import Reading
    from meshwright.progress import Progress

COUNTS = ("read", "applied", "unchanged", "superseded", "quarantined", "events")


@dataclass(frozen=True)
class Followed:
    """The batches that were read, and the folder with their events."""

    batches: tuple[BatchOutcome, ...]
    out: str

    @property
    def counts(self) -> dict[str, int]:
        """The sums over all batches: read = applied + unchanged + superseded + quarantined; and events."""
        return {name: sum(getattr(batch, name) for batch in self.batches) for name in COUNTS}

    @property
    def events(self) -> str:
        """Where the events are."""
        from meshwright.files.urls import inside

        return inside(self.out, "events")

    def to_dict(self) -> dict[str, Any]:
        """Return the number of batches and the counts."""
        return {"batches": len(self.batches), **self.counts, "out": self.out}


@dataclass(frozen=True)
class Watch:
    """How a folder is followed."""

    start: str | None = None
    """A dataset whose subscriptions hold from the beginning."""
    once: bool = False
    """Whether to read the files that are there, then end."""
    every: float = 5.0
    """The seconds between two checks for new files."""
    max_files: int | None = None
    """The most files in a batch; all by default."""
    forget: float = 30.0
    """Unsubscribes older than this many days, by their times, are forgotten."""


def follow(
    source: str,
    out: str,
    reading: Reading,
    watch: Watch | None = None,
    *,
    spark: SparkOptions | None = None,
    say: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Followed:
    """Turn the rows of a folder into join, leave, subscribe and unsubscribe events, each exactly once.

    `say` takes a line after each batch. An interrupted or killed run continues where it stopped.
    """
    from meshwright.pipeline.follow import stream as pipeline

    watch = watch or Watch()
    done: list[BatchOutcome] = []
    every = None if watch.once else watch.every
    pipeline.check_request(source, out, reading, start=watch.start, every=every)

    def keep(batch: BatchOutcome) -> None:
        done.append(batch)
        if say is not None:
            say(
                f"batch {batch.batch}: read {counted(batch.read, 'row')} = {batch.applied:,} applied + "
                f"{batch.unchanged:,} unchanged + {batch.superseded:,} superseded + "
                f"{batch.quarantined:,} quarantined; {counted(batch.events, 'event')}"
            )

    pipeline.follow(
        (spark or SparkOptions()).open(progress),
        source,
        out,
        reading,
        start=watch.start,
        every=every,
        max_files=watch.max_files,
        forget=watch.forget * 86400,
        report=keep,
    )
    return Followed(tuple(done), out)
