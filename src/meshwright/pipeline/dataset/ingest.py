"""From raw subscription data to a dataset: read, quarantine, fold, encode, write.

Of each node and topic the events are ordered by time, then sequence, then where they stood. The last
unsubscribe and all before it are superseded, and so is whatever is later than the moment. Of the subscribes
after it one is kept and the others are duplicates. So each row has exactly one fate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.formatting import percentage
from meshwright.pipeline.dataset.encode import Encoded, Names, encode, collect_names
from meshwright.pipeline.readers.formats import READERS, common_format
from meshwright.pipeline.readers.name_blocks import encode_blocks, cache_blocks
from meshwright.pipeline.readers.options import BROKER_FORMATS, Reading
from meshwright.pipeline.readers.parquet_files import pair_blocks
from meshwright.pipeline.readers.quarantine import quarantine_table, count_reasons
from meshwright.pipeline.readers.rows import name_reasons
from meshwright.pipeline.readers.sources import SourceFile, check_unchanged, list_files
from meshwright.pipeline.session.failures import spark_errors
from meshwright.pipeline.session.stages import Progress, report_stages
from meshwright.store.datasets import QUARANTINE, write_relation
from meshwright.store.tables import read_parts

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def fold_events(rows: DataFrame, as_of: float | None = None) -> DataFrame:
    """Return the rows that hold at `as_of` (seconds since 1970), or at the end; the others are superseded.

    Rows that say the same of the same holder are all returned: repetitions are dropped, and counted, later.
    A row without a time counts as earlier than all that have one.
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
"""What a row may say beside its names, each with the column in which that is then not null."""
MOST_BAD = 0.1
"""The share of rows that may be set aside, unless told otherwise."""


@dataclass(frozen=True)
class Outcome:
    """What became of the rows: read = kept + duplicates + superseded + quarantined."""

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
        """Return all of it, for a JSON answer."""
        return asdict(self)

    @property
    def counts(self) -> dict[str, int]:
        """The figures of the manifest that are not the dataset's own."""
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
    """Read subscriptions, or events of them, and write them as a dataset.

    The dataset is the same, byte for byte, however the sources are cut or ordered and wherever this runs.

    Parameters
    ----------
    spark
        The session to run on, as `session` gives it.
    sources
        Files, folders and globs, plain or compressed.
    out
        The dataset folder to write.
    reading
        How to read them; by default the format is told by the files' names.
    max_bad
        The largest share of rows that may be set aside.
    progress
        Told what is being done and how far it is.

    Raises
    ------
    InputError
        If there is nothing to read, a column is missing, or more rows are bad than may be.
    FormatError
        If a file is cut off, unreadable, or changes while it is read.
    """
    if not 0 <= max_bad <= 1:
        raise InputError(f"--max-bad {max_bad} is no share: give a number from 0 to 1")
    with spark_errors(), report_stages(spark, "reading", progress):
        files = list_files(spark, sources, exclude=out)
        chosen = reading or Reading(common_format(files))
        given = sorted(str(source) for source in sources)
        if chosen.format == "parquet" and chosen.as_of is None:
            done = _ingest_clean_pairs(spark, files, chosen, Path(out), given)
            if done is not None:
                return done
        rows = READERS[chosen.format](spark, files, chosen)
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
    from pyspark.sql import functions as sf

    seen = rows.agg(
        sf.count("place").alias("read"),  # what the end of a session undoes is no row of a log
        sf.count(sf.when(sf.col("place").isNotNull(), sf.col("reason"))).alias("bad"),
        *(sf.count(column).alias(what) for what, column in ROLE_COLUMNS.items()),
        sf.coalesce(sf.max("leaves"), sf.lit(False)).alias("leaves"),
        sf.min("broker").alias("first"),
        sf.max("broker").alias("last"),
    ).collect()[0]
    if not seen.read:
        raise InputError(f"nothing to read in {', '.join(sources[:5])}: the files hold no rows")
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
    """Ingest Parquet files in which every name can be used, by looking at distinct names alone; else None."""
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
    import pyarrow as pa

    try:
        for column in (names.nodes, names.topics):
            column.validate(full=True)
    except pa.ArrowInvalid:
        return False  # some name is not UTF-8
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
    kept = int(encoded.node_ptr[-1])
    superseded = read - bad - kept - encoded.duplicates
    if superseded and not folds:
        raise AssertionError(f"{superseded} rows were lost on the way: this is a fault of ours")
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
    """Return why records of a dataset were set aside, and how many for each reason, the most first."""
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
    """Refuse rows of which more cannot be used than may be, and name the first.

    With `both_ways` a good line is two rows, and it is lines that count.
    """
    records = bad + (read - bad) // 2 if both_ways else read
    if bad <= max_bad * records:
        return
    first = quarantine_table(rows, files, most=1).to_pylist()[0]
    raise InputError(
        f"{bad} of {records} rows cannot be used, more than --max-bad {percentage(max_bad)}: "
        f"the first is line {first['line']} of {first['source']} ({first['reason']}); "
        "mend them, or raise --max-bad"
    )


def check_columns_used(reading: Reading, said: Mapping[str, int]) -> None:
    """Refuse columns asked for by name that no row has, and a moment where no row has a time."""
    for what in ROLE_COLUMNS:
        column = getattr(reading, what)
        if column is not None and not said[what]:
            option = "size" if reading.publications and what == "sequence" else what
            raise InputError(f"no row has {column!r}: name the right column with --{option}")
    if reading.as_of is not None and not said["time"]:
        raise InputError("--as-of asks for a moment, and no row has a time: name its column, or leave it out")
