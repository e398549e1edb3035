"""Ingest: raw subscription data to a dataset, by reading, quarantine, numbering, folding and writing.

Every row ends in exactly one of four ways. The events of a node and topic are ordered by time, then sequence,
then position:

- *quarantined*: the row cannot be used.
- *superseded*: the row is not after the last unsubscribe, or it is later than the requested time.
- *kept*: one of the subscribes after the last unsubscribe.
- *duplicate*: the other ones.

Nothing that grows with the rows or the names passes through the driver: only counts, digests and samples.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.files.header import DATASET, write_header
from meshwright.formatting import counted, hide_secrets, percentage
from meshwright.names import MQTT
from meshwright.pipeline.dataset.blocks import read_blocks, table_blocks
from meshwright.pipeline.dataset.name_ranks import choose_cuts, number_names
from meshwright.pipeline.dataset.relation import Relation, drop_unused, relate
from meshwright.pipeline.dataset.write import Aside, first_records, write_parts
from meshwright.pipeline.readers.broker_pages import choose_nodes
from meshwright.pipeline.readers.formats import BROKER_FORMATS, MQTT_FORMATS, TABLE, Reading
from meshwright.pipeline.readers.shares import EXCLUDED, cut_shares
from meshwright.pipeline.readers.sources import (
    check_unchanged,
    compressed_sizes,
    list_files,
    megabytes,
    share_bytes,
)
from meshwright.pipeline.session.jobs import report_stages, spark_errors, tasks_at_once
from meshwright.store.dataset_parts import manifest, new_dataset

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.dataflow import Flow
    from meshwright.progress import Progress

MOST_BAD = 0.1
"""The default for the largest share of rows that may be quarantined."""
SHOWN_RECORDS = 5
"""If nothing is kept, this many rows of the quarantine are shown."""
OPTIONAL_ROLES = ("time", "operation", "sequence")


@dataclass(frozen=True)
class Outcome:
    """The counts of an ingest: read = kept + duplicates + superseded + quarantined + excluded."""

    read: int
    kept: int
    duplicates: int
    superseded: int
    quarantined: int
    nodes: int
    topics: int
    format: str
    node_from: str | None
    reasons: Mapping[str, int] = field(default_factory=dict)
    """The number of quarantined rows by reason, the most frequent first."""
    cleaned: Mapping[str, int] = field(default_factory=dict)
    """The number of rows that were changed, by rule."""
    excluded: int = 0
    """The number of rows whose topics are to be left out."""

    def described(self) -> dict[str, Any]:
        """Return all fields, for a JSON answer."""
        return asdict(self)

    @property
    def counts(self) -> dict[str, int]:
        """The counts that the manifest has in addition to those of the dataset itself."""
        counted = {
            "read": self.read,
            "kept": self.kept,
            "duplicates": self.duplicates,
            "superseded": self.superseded,
            "quarantined": self.quarantined,
        }
        further = {"excluded": self.excluded, "cleaned": sum(self.cleaned.values())}
        return counted | {name: count for name, count in further.items() if count}


class NothingKeptError(InputError):
    """Sources without a subscription that holds: nothing is written, unless an empty dataset is allowed."""

    def __init__(
        self, outcome: Outcome, out: str | Path, sources: Sequence[str], examples: Sequence[str] = ()
    ) -> None:
        self.outcome = outcome
        self.finding = f"nothing was kept, so nothing is written to {out}: {self._cause(outcome, sources)}"
        """What is wrong, without the parameter that accepts it."""
        self.examples = examples
        """The first rows that are quarantined, each with its source, line and reason."""
        super().__init__(f"{self.finding}, or accept an empty dataset with allow_empty=True")

    @staticmethod
    def _cause(outcome: Outcome, sources: Sequence[str]) -> str:
        if not outcome.read:
            return f"no rows in {', '.join(sources[:5])}; give files that have some"
        fates = {
            "quarantined": outcome.quarantined,
            "superseded": outcome.superseded,
            "excluded": outcome.excluded,
        }
        counts = ", ".join(f"{count:,} {fate}" for fate, count in fates.items() if count)
        return f"{counted(outcome.read, 'row')} = {counts}; check them"


class TooManyBadError(InputError):
    """A larger share of rows that cannot be used than `max_bad`."""

    def __init__(self, finding: str) -> None:
        self.finding = finding
        """What is wrong, without the parameter that accepts it."""
        super().__init__(f"{finding}; correct them, or raise max_bad")


def ingest(
    spark: SparkSession | None,
    sources: Sequence[str | Path],
    out: str | Path,
    reading: Reading | None = None,
    *,
    max_bad: float = MOST_BAD,
    allow_empty: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Read subscriptions, or subscribe and unsubscribe events, and write them as a dataset.

    The dataset has the same bytes, regardless of how the sources are split or ordered and where this runs.

    Parameters
    ----------
    spark
        The Spark session, as `session` returns it; None: run in this process.
    sources
        Files, folders and globs, plain or compressed, as paths or URLs.
    out
        The dataset folder to write, as a path or URL.
    reading
        How to read the sources; by default, the format follows from the file names.
    max_bad
        The largest share of rows that may be quarantined.
    allow_empty
        Write a dataset without subscriptions if no row is kept.
    progress
        A callback for the progress.

    Raises
    ------
    NothingKeptError
        If no row is kept, and that is not allowed: what is at `out` stays as it is.
    TooManyBadError
        If a larger share of rows than `max_bad` is bad.
    InputError
        If a column is missing.
    FormatError
        If a file is truncated or unreadable, or changes while it is read.
    """
    check_share(max_bad)
    files = list_files(spark, sources, exclude=out)
    report = partial(report_stages, spark, progress=progress, amount=megabytes(files))
    with spark_errors(), ExitStack() as kept:
        chosen = (reading or Reading()).for_files(files)
        with report("reading", whole_files=compressed_sizes(files)):
            cut = cut_shares(files, chosen, share_bytes(spark))
            if chosen.format in BROKER_FORMATS:
                chosen = replace(chosen, node_from=choose_nodes(spark, files, cut, chosen))
            blocks = read_blocks(spark, files, cut, chosen).keep()
            kept.callback(blocks.release)
            given = sorted(str(source) for source in sources)
            found = Found(blocks, [file.path for file in files])
        if found.read:
            found.check(chosen, max_bad)
        elif not allow_empty:
            raise NothingKeptError(count_rows(found, None, chosen), out, given)
        with report("numbering names"):
            relation = relate_found(found, chosen, cores=tasks_at_once(spark))
            kept.callback(relation.release)
            check_unchanged(spark, files)
        outcome = count_rows(found, relation, chosen)
        if not allow_empty:
            require_kept(found, outcome, out, given)
        with report("writing"):
            write_found(found, relation, outcome, chosen, out, given)
    return outcome


def ingest_table(
    table: DataFrame,
    out: str | Path,
    reading: Reading,
    *,
    max_bad: float = MOST_BAD,
    allow_empty: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Ingest a table of a Spark session; see `ingest`.

    Rows of a table have no order. Give events different times or sequences: of events with the same ones,
    any may come last. In the quarantine, the line of a row is its number in the table as Spark reads it.
    """
    check_share(max_bad)
    spark = table.sparkSession
    with spark_errors(), report_stages(spark, "reading", progress), ExitStack() as kept:
        blocks = table_blocks(table, reading).keep()
        kept.callback(blocks.release)
        found = Found(blocks, [TABLE])
        if found.read:
            found.check(reading, max_bad)
        elif not allow_empty:
            raise NothingKeptError(count_rows(found, None, reading), out, ["the table"])
        relation = relate_found(found, reading, cores=tasks_at_once(spark))
        kept.callback(relation.release)
        outcome = count_rows(found, relation, reading)
        if not allow_empty:
            require_kept(found, outcome, out, [TABLE])
        write_found(found, relation, outcome, reading, out, [TABLE])
    return outcome


def check_share(max_bad: float) -> None:
    """Refuse a `max_bad` outside 0 to 1."""
    if not 0 <= max_bad <= 1:
        raise InputError(f"max_bad is {max_bad!r}: give a share from 0 to 1")


class Found:
    """What all blocks together have: the first look of the driver at the data."""

    def __init__(self, blocks: Flow, sources: Sequence[str]) -> None:
        self.blocks, self.sources = blocks, [hide_secrets(source) for source in sources]
        rows = blocks.select("share", "chunk", "rows", "stats", "samples").collect()
        stats = {(row.share, row.chunk): json.loads(row.stats) for row in rows}
        # Blocks in the order of files: the order of the quarantine.
        self.order = sorted(stats, key=lambda key: (stats[key]["file"], *key))
        self.stats = [stats[key] for key in self.order]
        self.samples = [row.samples for row in rows]
        self.shares = max((row.share for row in rows), default=0) + 1
        self.rows = sum(row.rows for row in rows)
        self.read = sum(each["read"] for each in self.stats)
        self.bad = sum(each["bad"] for each in self.stats)
        self.leaves = any(each["leaves"] for each in self.stats)
        times = [each["times"] for each in self.stats if each["times"]]
        self.times = (min(first for first, _ in times), max(last for _, last in times)) if times else None
        self.stated = self._sum("stated")
        self.cleaned = self._sum("cleaned")
        counted = self._sum("reasons")
        self.reasons = dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    def _sum(self, name: str) -> Counter[str]:
        total: Counter[str] = Counter()
        for each in self.stats:
            total.update(each[name])
        return total

    @property
    def name_bytes(self) -> dict[str, int]:
        """The bytes of the names of all blocks, by kind."""
        return {kind: sum(each["names"][kind][1] for each in self.stats) for kind in ("nodes", "topics")}

    def aside(self) -> Aside:
        """Return where the records of each block stand in the quarantine, and the lines before stretches."""
        ranks, before = {}, 0
        lines: Counter[tuple[int, int]] = Counter()
        for key, each in zip(self.order, self.stats, strict=True):
            ranks[key] = before
            before += each["bad"]
            for file, begin, count in each["lines"]:
                lines[file, begin] += count
        so_far: dict[tuple[int, int], int] = {}
        at, total = -1, 0
        for (file, begin), count in sorted(lines.items()):
            at, total = file, (total if file == at else 0)
            so_far[file, begin] = total
            total += count
        return Aside(self.sources, so_far, ranks, self.bad)

    def check(self, reading: Reading, max_bad: float) -> None:
        """Refuse too large a share of bad rows, and columns that no row has; there must be rows.

        With `both_ways`, a good line makes two rows, so lines are counted instead.

        Raises
        ------
        TooManyBadError
            If there are too many: the message names the first one.
        InputError
            If a column has no value in any row.
        """
        records = self.bad + (self.read - self.bad) // 2 if reading.both_ways else self.read
        if self.bad > max_bad * records:
            raise TooManyBadError(
                f"{self.bad} of {records} rows cannot be used, more than {percentage(max_bad)}: "
                f"the first is {self.first_bad()}"
            )
        check_columns_used(reading, self.stated)

    def first_bad(self) -> str:
        """Return line, source and reason of the first bad row; there must be one."""
        file, begin, place, reason = next(each["first"] for each in self.stats if each["first"])
        line = self.aside().lines.get((file, begin), 0) + place + 1
        return f"line {line} of {self.sources[file]} ({reason})"


def check_columns_used(reading: Reading, counts: Mapping[str, int]) -> None:
    """Refuse a column given by name, or a time to fold at, if no row has a value for it."""
    for what in OPTIONAL_ROLES:
        column = getattr(reading, what)
        if column is not None and not counts.get(what):
            option = "size" if reading.publications and what == "sequence" else what
            raise InputError(f"no row has a value in {column!r}: name the right column with --{option}")
    if reading.as_of is not None and not counts.get("time"):
        raise InputError("--as-of needs times, and no row has one: name its column, or leave it out")


def relate_found(found: Found, reading: Reading, *, cores: int) -> Relation:
    """Give all names their ids, and fold all rows to a relation."""
    names = number_names(found.blocks, choose_cuts(found.samples, found.name_bytes, cores))
    folds = found.leaves or reading.as_of is not None
    relation = relate(
        found.blocks, names, found.shares, found.rows, folds=folds, as_of=reading.as_of, cores=cores
    )
    return drop_unused(relation) if relation.standing < relation.given else relation


def count_rows(found: Found, relation: Relation | None, reading: Reading) -> Outcome:
    """Return the counts of an ingest, which add up; without rows, there is no relation."""
    kept, standing = (0, 0) if relation is None else (relation.kept, relation.standing)
    names = {"nodes": 0, "topics": 0} if relation is None else relation.names.counts
    excluded = found.cleaned.get(EXCLUDED, 0)
    return Outcome(
        read=found.read,
        kept=kept,
        duplicates=standing - kept,
        superseded=found.read - found.bad - standing - excluded,
        quarantined=found.bad,
        nodes=names["nodes"],
        topics=names["topics"],
        format=reading.format,
        node_from=reading.node_from,
        reasons=found.reasons,
        cleaned={what: count for what, count in sorted(found.cleaned.items()) if what != EXCLUDED},
        excluded=excluded,
    )


def require_kept(found: Found, outcome: Outcome, out: str | Path, sources: Sequence[str]) -> None:
    """Refuse to replace what is at `out` by a dataset without subscriptions."""
    if outcome.kept:
        return
    records = first_records(found.blocks, found.aside(), SHOWN_RECORDS) if found.bad else []
    examples = [f"line {each['line']} of {each['source']}: {each['reason']}" for each in records]
    raise NothingKeptError(outcome, out, sources, examples)


def write_found(
    found: Found,
    relation: Relation,
    outcome: Outcome,
    reading: Reading,
    out: str | Path,
    sources: Sequence[str],
) -> None:
    """Write the dataset."""
    counts = {**relation.names.counts, "subscriptions": relation.kept}
    with new_dataset(out) as place:
        fingerprint = write_parts(place, relation, found.blocks, found.aside(), counts)
        made_by = {"command": "ingest", **reading.described()}
        write_header(
            place,
            DATASET,
            manifest(
                counts | outcome.counts,
                fingerprint,
                sources=sources,
                made_by=made_by,
                topic_kind=reading.topic_kind or (MQTT if reading.format in MQTT_FORMATS else None),
            ),
        )
