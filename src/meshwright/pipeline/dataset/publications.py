"""Publish logs to traffic: messages, bytes and rates per publisher and channel.

A message is read as a subscription is: its publisher as the node, its topic as the topic, its size as the
sequence. `traffic_sums` numbers the names and adds up the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import from_numpy, to_numpy
from meshwright.errors import InputError
from meshwright.files.atomic import new_folder
from meshwright.files.header import TRAFFIC, write_header
from meshwright.formatting import counted, hide_secrets
from meshwright.pipeline.dataset.blocks import read_blocks
from meshwright.pipeline.dataset.ingest import MOST_BAD, Found, check_share
from meshwright.pipeline.dataset.name_ranks import choose_cuts, number_names
from meshwright.pipeline.dataset.traffic_sums import sum_messages, write_sums
from meshwright.pipeline.readers.formats import Publications
from meshwright.pipeline.readers.rows import NO_SEQUENCE, Bad, Rows, refuse_rows
from meshwright.pipeline.readers.shares import cut_shares
from meshwright.pipeline.readers.sources import (
    check_unchanged,
    compressed_sizes,
    list_files,
    megabytes,
    share_bytes,
)
from meshwright.pipeline.session.jobs import report_stages, spark_errors, tasks_at_once

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from meshwright.progress import Progress

NEGATIVE = "size below zero"
OUTSIDE = "value outside of the content space"
NOT_A_NUMBER = "value is not a number"
NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True)
class Summary:
    """What `sum_traffic` has written."""

    publishers: int
    channels: int
    described: dict[str, Any]
    reasons: dict[str, int]
    """The number of quarantined records by reason, the most frequent first."""


def sum_traffic(
    spark: SparkSession | None,
    sources: Sequence[str | Path],
    out: str | Path,
    asked: Publications | None = None,
    *,
    max_bad: float = MOST_BAD,
    progress: Progress | None = None,
) -> Summary:
    """Read publish logs, sum them up, and write the sums as a traffic folder.

    With a session, executors do the work and write the tables; the driver receives counts. Without one,
    everything runs in this process. The bytes of the tables are the same.

    Raises
    ------
    InputError
        If a column is missing, too many rows or all are bad, or the length of the log is unknown.
    FormatError
        If a file is truncated or unreadable, or changes while it is read.
    """
    check_share(max_bad)
    asked = asked or Publications()
    files = list_files(spark, sources)
    amount = megabytes(files)
    report = report_stages(spark, "summing", progress, amount=amount, whole_files=compressed_sizes(files))
    with spark_errors(), report, ExitStack() as kept:
        reading = asked.reading_of(files)
        cut = cut_shares(files, reading, share_bytes(spark))
        blocks = read_blocks(spark, files, cut, reading, change=partial(to_messages, asked)).keep()
        kept.callback(blocks.release)
        found = Found(blocks, [file.path for file in files])
        if not found.read:
            raise InputError(f"no rows in {', '.join(map(str, sources[:5]))}: give files that have some")
        found.check(reading, max_bad)
        if found.bad == found.read:
            raise InputError(
                f"no message can be used: {counted(found.bad, 'row')} quarantined, the first is "
                f"{found.first_bad()}; correct them"
            )
        described = _describe(found, sources, asked)
        cores = tasks_at_once(spark)
        names = number_names(blocks, choose_cuts(found.samples, found.name_bytes, cores))
        kept.callback(names.flow.release)
        sums = sum_messages(blocks, names, found.shares, found.rows)
        kept.callback(sums.flow.release)
        check_unchanged(spark, files)
        with new_folder(out, TRAFFIC) as folder:
            write_sums(str(folder), sums, blocks, found.aside(), described["seconds"])
            write_header(folder, TRAFFIC, described)
    return Summary(names.counts["nodes"], names.counts["topics"], described, found.reasons)


def _describe(found: Found, sources: Sequence[str | Path], asked: Publications) -> dict[str, Any]:
    """Return what the folder states of itself; the length of the log must be known."""
    first, last = found.times or (0.0, 0.0)
    seconds = asked.seconds or last - first
    if not seconds > 0:
        raise InputError("the length of the log is unknown: give --seconds, or a column of times with --time")
    return {
        "counts": {"read": found.read, "kept": found.read - found.bad, "quarantined": found.bad},
        "seconds": seconds,
        "sources": sorted(hide_secrets(str(source)) for source in sources),
        "made_by": {"command": "traffic", **_non_default(asked)},
    }


def _non_default(asked: Publications) -> dict[str, Any]:
    """Return the options that differ from the defaults."""
    plain = asdict(Publications())
    return {name: value for name, value in asdict(asked).items() if value != plain[name]}


def to_messages(asked: Publications, rows: Rows) -> Rows:
    """Return rows as messages: topics are channels, and further rows may be bad; on an executor."""
    made = replace(rows, bad=_name_columns(rows.bad, asked))
    if made.sequence is not None:
        negative = (made.sequence < 0) & (made.sequence != NO_SEQUENCE)
        made = refuse_rows(made, negative, NEGATIVE)
    if asked.value is None:
        return made
    numbers = parse_numbers(made.topic.dictionary)[to_numpy(made.topic.indices)]
    unknown = np.isnan(numbers)
    made, numbers = refuse_rows(made, unknown, NOT_A_NUMBER), numbers[~unknown]
    outside = (numbers < asked.low) | (numbers > asked.high)
    made, numbers = refuse_rows(made, outside, OUTSIDE), numbers[~outside]
    return replace(made, topic=channels_of(asked, numbers))


def channels_of(asked: Publications, numbers: NDArray[np.float64]) -> pa.DictionaryArray:
    """Return the channels of values in the content space, as names of equal length."""
    place = np.floor((numbers - asked.low) / (asked.high - asked.low) * asked.channels)
    # The upper end of the content space belongs to the last channel.
    found, codes = np.unique(np.minimum(place, asked.channels - 1).astype(np.int64), return_inverse=True)
    width = len(str(asked.channels - 1))
    names = pa.array([f"{number:0{width}}" for number in found.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(from_numpy(codes.astype(np.int32)), names)


def parse_numbers(texts: pa.Array) -> NDArray[np.float64]:
    """Return the numbers that texts state in ASCII digits, NaN for the others.

    >>> parse_numbers(pa.array(["1.5", "-2e3", "nan", "1_000", "high"])).tolist()
    [1.5, -2000.0, nan, nan, nan]
    """
    valid = pc.match_substring_regex(texts, NUMBER)
    numbers = pc.if_else(valid, texts, "nan").cast(pa.float64())
    found: NDArray[np.float64] = to_numpy(numbers)
    return found


def _name_columns(bad: Bad, asked: Publications) -> Bad:
    """Replace the column names of subscriptions in reasons by those of publish logs."""
    words = {"node name": "publisher name", "sequence": "size"}
    if asked.value is not None:
        words["topic name"] = "value"
    reasons = []
    for reason in bad.reasons:
        named = reason
        for ours, theirs in words.items():
            named = named.replace(ours, theirs)
        reasons.append(named)
    return Bad(list(bad.places), list(bad.records), reasons)
