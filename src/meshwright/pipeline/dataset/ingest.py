"""Ingest: raw subscription data to a dataset, by reading, quarantine, folding, encoding and writing.

Every row ends in exactly one of four ways. The events of a node and topic are ordered by time, then sequence,
then position:

- *quarantined*: the row cannot be used.
- *superseded*: the row is not after the last unsubscribe, or it is later than the requested time.
- *kept*: one of the subscribes after the last unsubscribe.
- *duplicate*: the other ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.formatting import percentage
from meshwright.pipeline.dataset.encode import Encoded, Names, collect_names, encode
from meshwright.pipeline.readers.formats import BROKER_FORMATS, Reading, common_format, read_rows
from meshwright.pipeline.readers.name_blocks import cache_blocks, encode_blocks
from meshwright.pipeline.readers.parquet_files import pair_blocks
from meshwright.pipeline.readers.rows import count_reasons, name_reasons, quarantine_table
from meshwright.pipeline.readers.sources import SourceFile, check_unchanged, list_files
from meshwright.pipeline.session.failures import spark_errors
from meshwright.pipeline.session.stages import report_stages
from meshwright.store.datasets import QUARANTINE, write_relation
from meshwright.store.tables import read_parts

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.progress import Progress


def fold_events(rows: DataFrame, as_of: float | None = None) -> DataFrame:
    """Return the rows that hold at `as_of` (seconds since 1970), or at the end; the others are superseded.

    Duplicates are all returned; a later step counts and drops them. Rows without a time come before all rows
    with one.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    seen = rows if as_of is None else rows.where(sf.col("time").isNull() | (sf.col("time") <= as_of))
    latest_first = [
        sf.col(name).desc_nulls_last() for name in ("time", "sequence", "source", "block", "place")
    ]
    of_the_same = Window.partitionBy("broker", "node", sf.coalesce("held", "topic")).orderBy(*latest_first)
    leaves = sf.coalesce("leaves", sf.lit(False))
    undone = sf.max(leaves).over(of_the_same.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return seen.withColumn("undone", undone).where(~sf.col("undone")).drop("undone")


ROLE_COLUMNS = {"time": "time", "operation": "leaves", "sequence": "sequence"}
"""The optional roles, each with the column that is not null if a row states it."""
MOST_BAD = 0.1
"""The default for the largest share of rows that may be quarantined."""


@dataclass(frozen=True)
class Outcome:
    """The counts of an ingest: read = kept + duplicates + superseded + quarantined."""

    read: int
    kept: int
    duplicates: int
    superseded: int
    quarantined: int
    nodes: int
    topics: int
    format: str
    node_from: str | None

    def described(self) -> dict[str, Any]:
        """Return all fields, for a JSON answer."""
        return asdict(self)

    @property
    def counts(self) -> dict[str, int]:
        """The counts that the manifest has in addition to those of the dataset itself."""
        return {
            "read": self.read,
            "kept": self.kept,
            "duplicates": self.duplicates,
            "superseded": self.superseded,
        }


def ingest(
    spark: SparkSession,
    sources: Sequence[str | Path],
    out: str | Path,
    reading: Reading | None = None,
    *,
    max_bad: float = MOST_BAD,
    progress: Progress | None = None,
) -> Outcome:
    """Read subscriptions, or subscribe and unsubscribe events, and write them as a dataset.

    The dataset has the same bytes, regardless of how the sources are split or ordered and where this runs.

    Parameters
    ----------
    spark
        The Spark session, as `session` returns it.
    sources
        Files, folders and globs, plain or compressed.
    out
        The dataset folder to write.
    reading
        How to read the sources; by default, the format follows from the file names.
    max_bad
        The largest share of rows that may be quarantined.
    progress
        A callback for the progress.

    Raises
    ------
    InputError
        If there are no rows, a column is missing, or too many rows are bad.
    FormatError
        If a file is truncated or unreadable, or changes while it is read.
    """
    if not 0 <= max_bad <= 1:
        raise InputError(f"--max-bad {max_bad} is not a share: give a number from 0 to 1")
    with spark_errors(), report_stages(spark, "reading", progress):
        files = list_files(spark, sources, exclude=out)
        chosen = reading or Reading(common_format(files))
        given = sorted(str(source) for source in sources)
        if chosen.format == "parquet" and chosen.as_of is None:
            done = _ingest_clean_pairs(spark, files, chosen, Path(out), given)
            if done is not None:
                return done
        rows = read_rows(spark, files, chosen)
        if chosen.format != "parquet":
            rows = rows.persist()
        try:
            return _ingest_rows(rows, files, chosen, max_bad, Path(out), given)
        finally:
            rows.unpersist()


def _ingest_rows(
    rows: DataFrame,
    files: Sequence[SourceFile],
    reading: Reading,
    max_bad: float,
    out: Path,
    sources: list[str],
) -> Outcome:
    """Ingest rows of any format."""
    from pyspark.sql import functions as sf

    # Rows without a place are not records of a log, so they do not count.
    seen = rows.agg(
        sf.count("place").alias("read"),
        sf.count(sf.when(sf.col("place").isNotNull(), sf.col("reason"))).alias("bad"),
        *(sf.count(column).alias(what) for what, column in ROLE_COLUMNS.items()),
        sf.coalesce(sf.max("leaves"), sf.lit(False)).alias("leaves"),
        sf.min("broker").alias("first"),
        sf.max("broker").alias("last"),
    ).collect()[0]
    if not seen.read:
        raise InputError(f"no rows in {', '.join(sources[:5])}: give files that have some")
    check_bad(rows, files, seen.read, seen.bad, max_bad, both_ways=reading.both_ways)
    check_columns_used(reading, seen.asDict())
    aside = quarantine_table(rows, files) if seen.bad else QUARANTINE.empty_table()
    chosen = reading
    if reading.format in BROKER_FORMATS and reading.node_from is None:
        chosen = replace(reading, node_from="client" if seen.first == seen.last else "broker")
    good = rows.where(sf.col("reason").isNull())
    folds = seen.leaves or chosen.as_of is not None
    standing = fold_events(good, chosen.as_of) if folds else good
    node = sf.col("broker" if chosen.node_from == "broker" else "node")
    with cache_blocks(encode_blocks(standing.select(node.alias("node"), "topic"))) as blocks:
        encoded = encode(blocks, collect_names(blocks))
    outcome = _outcome(seen.read, seen.bad, encoded, chosen, folds=folds)
    return _write(encoded, files, outcome, aside, chosen, out, sources)


def _ingest_clean_pairs(
    spark: SparkSession, files: Sequence[SourceFile], reading: Reading, out: Path, sources: list[str]
) -> Outcome | None:
    """Ingest Parquet pairs by checking distinct names only; return None if that is not possible.

    It is not possible for events, and for files in which some name cannot be used.
    """
    pairs = pair_blocks(spark, files, reading)
    if pairs is None:
        return None
    with cache_blocks(pairs) as blocks:
        names = collect_names(blocks)
        if not names.rows or not _all_usable(names):
            return None
        encoded = encode(blocks, names)
    outcome = _outcome(names.rows, 0, encoded, reading, folds=False)
    return _write(encoded, files, outcome, QUARANTINE.empty_table(), reading, out, sources)


def _all_usable(names: Names) -> bool:
    """Return whether every name can be used."""
    import pyarrow as pa

    try:
        for column in (names.nodes, names.topics):
            column.validate(full=True)
    except pa.ArrowInvalid:
        # Some name is not UTF-8.
        return False
    reasons = (name_reasons(names.nodes, "node"), name_reasons(names.topics, "topic"))
    return all(found.null_count == len(found) for found in reasons)


def _write(
    encoded: Encoded,
    files: Sequence[SourceFile],
    outcome: Outcome,
    aside: pa.Table,
    reading: Reading,
    out: Path,
    sources: list[str],
) -> Outcome:
    """Write the dataset, unless a source changed meanwhile."""
    try:
        check_unchanged(encoded.pieces.sparkSession, files)
        write_relation(
            out,
            encoded.node_names,
            encoded.topic_names,
            encoded.node_ptr,
            encoded.topics(),
            counts=outcome.counts,
            sources=sources,
            made_by={"command": "ingest", **reading.described()},
            quarantine=aside,
        )
    finally:
        encoded.release()
    return outcome


def _outcome(read: int, bad: int, encoded: Encoded, reading: Reading, *, folds: bool) -> Outcome:
    """Return the counts, which must add up."""
    kept = int(encoded.node_ptr[-1])
    superseded = read - bad - kept - encoded.duplicates
    if superseded and not folds:
        raise AssertionError(f"{superseded} rows were lost: this is a bug in Meshwright, please report it")
    return Outcome(
        read=read,
        kept=kept,
        duplicates=encoded.duplicates,
        superseded=superseded,
        quarantined=bad,
        nodes=len(encoded.node_names),
        topics=len(encoded.topic_names),
        format=reading.format,
        node_from=reading.node_from,
    )


def quarantine_reasons(dataset: str | Path) -> dict[str, int]:
    """Return the number of quarantined records for each reason, the most frequent first."""
    return count_reasons(read_parts(Path(dataset) / "quarantine", QUARANTINE))


def check_bad(
    rows: DataFrame,
    files: Sequence[SourceFile],
    read: int,
    bad: int,
    max_bad: float,
    *,
    both_ways: bool = False,
) -> None:
    """Refuse too large a share of bad rows, and name the first one.

    With `both_ways`, a good line makes two rows, so lines are counted instead.
    """
    records = bad + (read - bad) // 2 if both_ways else read
    if bad <= max_bad * records:
        return
    first = quarantine_table(rows, files, most=1).to_pylist()[0]
    raise InputError(
        f"{bad} of {records} rows cannot be used, more than --max-bad {percentage(max_bad)}: "
        f"the first is line {first['line']} of {first['source']} ({first['reason']}); "
        "correct them, or raise --max-bad"
    )


def check_columns_used(reading: Reading, counts: Mapping[str, int]) -> None:
    """Refuse a column given by name, or a time to fold at, if no row has a value for it."""
    for what in ROLE_COLUMNS:
        column = getattr(reading, what)
        if column is not None and not counts[what]:
            option = "size" if reading.publications and what == "sequence" else what
            raise InputError(f"no row has a value in {column!r}: name the right column with --{option}")
    if reading.as_of is not None and not counts["time"]:
        raise InputError("--as-of needs times, and no row has one: name its column, or leave it out")
