"""Whether nodes are brokers or clients, and whether all pages of broker formats are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from meshwright.pipeline.flow import numbers
from meshwright.pipeline.readers.broker_names import log_files
from meshwright.pipeline.readers.broker_pages import (
    PAGES,
    SPANS,
    Kind,
    check_complete,
    check_filled,
    read_span,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from meshwright.pipeline.flow import Batches
    from meshwright.pipeline.readers.formats import Reading
    from meshwright.pipeline.readers.shares import Stretch
    from meshwright.pipeline.readers.sources import SourceFile


def choose_nodes(
    spark: SparkSession | None,
    files: Sequence[SourceFile],
    cut: Sequence[Sequence[Stretch]],
    reading: Reading,
) -> str:
    """Return `broker` or `client`: as requested, or brokers if there are several.

    Raises
    ------
    FormatError
        If a page is missing, empty or broken.
    """
    if reading.format == "mosquitto-log":
        several = len({log.broker for log in log_files([file.path for file in files])}) > 1
    else:
        kind = PAGES[reading.format]
        check_filled(files)
        spans = numbers(spark, len(cut)).map(partial(_read_spans, cut, kind), SPANS).collect()
        check_complete(spans, kind)
        known = {name for span in spans for name in (span.first, span.last) if name is not None}
        several = len(known) > 1
    return reading.node_from or ("broker" if several else "client")


def _read_spans(cut: Sequence[Sequence[Stretch]], kind: Kind, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Read the positions of pages, on an executor."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            spans = [read_span(stretch.path, kind) for stretch in cut[number]]
            yield pa.RecordBatch.from_pylist([span._asdict() for span in spans], schema=_schema())


def _schema() -> pa.Schema:
    from meshwright.pipeline.flow import arrow_schema

    return arrow_schema(SPANS)
