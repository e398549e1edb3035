"""Ingest: read raw subscriptions of any source into a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.spark import SparkOptions
from meshwright.errors import InputError
from meshwright.files.atomic import check_target
from meshwright.pipeline.readers.formats import BRIDGES, Reading

if TYPE_CHECKING:
    from meshwright.pipeline.dataset.ingest import Outcome
    from meshwright.progress import Progress

__all__ = ["BRIDGES", "Ingested", "Reading", "SparkOptions", "ingest"]


@dataclass(frozen=True)
class Ingested:
    """What became of all rows, and the dataset with those that were kept."""

    outcome: Outcome
    dataset: str | None
    """The path or URL of the dataset; None if no row was kept, so that nothing was written."""
    on_spark: bool
    first_quarantined: tuple[str, ...] = ()
    """If no row was kept: the first rows that cannot be used, each with its source, line and reason."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, and where the dataset is."""
        aside = {} if self.dataset else {"first_quarantined": list(self.first_quarantined)}
        return {**self.outcome.described(), "dataset": self.dataset, **aside}


def ingest(
    sources: Sequence[str | Path],
    out: str | Path,
    reading: Reading | None = None,
    *,
    as_of: str | None = None,
    max_bad: float = 0.1,
    allow_empty: bool = False,
    spark: SparkOptions | None = None,
    progress: Progress | None = None,
) -> Ingested:
    """Read subscriptions, or subscribe and unsubscribe events, and write them as a dataset.

    Small sources are read in this process, unless the user asks for Spark.

    Parameters
    ----------
    sources
        Files, folders and globs, plain or compressed, as paths or URLs.
    out
        The dataset folder to write, as a path or URL.
    reading
        How to read the sources.
    as_of
        The state at this time: ISO 8601, or seconds.
    max_bad
        The largest share of rows that may be quarantined.
    allow_empty
        Write a dataset without subscriptions if no row is kept; otherwise nothing is written.
    spark
        Where Spark runs, if it is needed.
    progress
        A callback for the progress.
    """
    from meshwright.pipeline.dataset import ingest as pipeline
    from meshwright.pipeline.readers.shares import CHECKED_HEADERS, check_headers, fits_here
    from meshwright.pipeline.readers.sources import list_files

    spark, reading = spark or SparkOptions(), _read_as_of(reading or Reading(), as_of)
    check_target(out, "dataset")
    # A service lists the files itself.
    files = [] if spark.is_service else list_files(None, sources, exclude=out)
    if files:
        reading = reading.for_files(files)
        check_headers(files[:CHECKED_HEADERS], reading)
    session = spark.open_unless(fits_here(files), progress)
    on_spark = session is not None
    try:
        outcome = pipeline.ingest(
            session, sources, out, reading, max_bad=max_bad, allow_empty=allow_empty, progress=progress
        )
    except pipeline.TooManyBadError as error:
        raise InputError(f"{error.finding}; correct them, or raise --max-bad") from error
    except pipeline.NothingKeptError as error:
        note = f"{error.finding}, or accept an empty dataset with --allow-empty"
        return Ingested(error.outcome, None, on_spark, tuple(error.examples), (note,))
    return Ingested(outcome, str(out), on_spark)


def _read_as_of(reading: Reading, as_of: str | None) -> Reading:
    """Return the reading with the state at a time, and check the kind of its topics."""
    from meshwright.names import check_topic_kind
    from meshwright.pipeline.readers.times import parse_time

    if reading.topic_kind is not None:
        check_topic_kind(reading.topic_kind)
    if as_of is None:
        return reading
    moment = parse_time(as_of)
    if moment is None:
        raise InputError(
            f"--as-of {as_of} is not a time: give ISO 8601, as in 2026-01-31T12:00:00Z, or seconds"
        )
    return replace(reading, as_of=moment)
