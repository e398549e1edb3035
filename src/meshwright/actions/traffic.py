"""Traffic: sum up publish logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.spark import SparkOptions
from meshwright.errors import InputError
from meshwright.files.atomic import check_target
from meshwright.pipeline.readers.formats import Publications

if TYPE_CHECKING:
    from meshwright.pipeline.dataset.publications import Summary
    from meshwright.progress import Progress


__all__ = ["Publications", "TrafficSums", "sum_traffic"]


@dataclass(frozen=True)
class TrafficSums:
    """What publish logs add up to, and the folder with the sums."""

    summary: Summary
    traffic: str

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, and where the sums are."""
        made = self.summary
        found = {"publishers": made.publishers, "channels": made.channels, "reasons": made.reasons}
        stated = {"seconds": made.described["seconds"], "traffic": self.traffic}
        return {**made.described["counts"], **found, **stated}


def sum_traffic(
    sources: Sequence[str | Path],
    out: str | Path,
    asked: Publications | None = None,
    *,
    max_bad: float = 0.1,
    spark: SparkOptions | None = None,
    progress: Progress | None = None,
) -> TrafficSums:
    """Sum up messages, bytes and rates of publish logs, for each publisher and channel, into a folder.

    Small logs are read in this process, unless the user asks for Spark; see `ingest` for the parameters.
    """
    from meshwright.pipeline.dataset import publications as pipeline
    from meshwright.pipeline.dataset.ingest import TooManyBadError
    from meshwright.pipeline.readers.shares import CHECKED_HEADERS, check_headers, fits_here
    from meshwright.pipeline.readers.sources import list_files

    spark, asked = spark or SparkOptions(), asked or Publications()
    check_target(out, "traffic")
    # A service lists the files itself.
    files = [] if spark.is_service else list_files(None, sources)
    if files:
        check_headers(files[:CHECKED_HEADERS], asked.reading_of(files))
    session = spark.open_unless(fits_here(files), progress)
    try:
        made = pipeline.sum_traffic(session, sources, out, asked, max_bad=max_bad, progress=progress)
    except TooManyBadError as error:
        raise InputError(f"{error.finding}; correct them, or raise --max-bad") from error
    return TrafficSums(made, str(out))
