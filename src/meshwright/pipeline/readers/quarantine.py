"""The quarantine: records that cannot be used, with source, line and reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from meshwright.pipeline.readers import text
from meshwright.pipeline.session.failures import strip_scheme
from meshwright.store.datasets import QUARANTINE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from meshwright.pipeline.readers.sources import SourceFile


def quarantine_table(rows: DataFrame, files: Sequence[SourceFile], most: int | None = None) -> pa.Table:
    """Return the records of bad rows in the order of files and lines; lines count from 1.

    With `most`, return only the first ones.
    """
    import pyarrow as pa
    from pyspark.sql import functions as sf

    order = ["source", "block", "place"]
    bad = (
        rows.where(sf.col("reason").isNotNull() & sf.col("place").isNotNull())
        .select(*order, "record", "reason")
        .orderBy(*order, "reason")
    )
    found = (bad if most is None else bad.limit(most)).toArrow()
    sources = pa.array([strip_scheme(source) for source in found.column("source").to_pylist()], pa.string())
    blocks, places = found.column("block").to_pylist(), found.column("place").to_numpy()
    before = np.zeros(len(places), dtype=np.int64)
    split = {source for source, block in zip(sources.to_pylist(), blocks, strict=True) if block}
    if split:
        earlier = text.lines_before(rows.sparkSession, [file for file in files if file.path in split])
        at = zip(sources.to_pylist(), blocks, strict=True)
        before = np.array([earlier.get(where, 0) for where in at], dtype=np.int64)
    lines = pa.array(places + before + 1)
    return pa.table([sources, lines, found.column("record"), found.column("reason")], schema=QUARANTINE)


def count_reasons(aside: pa.Table) -> dict[str, int]:
    """Return the number of records for each reason, the most frequent first."""
    counted = Counter(aside.column("reason").to_pylist())
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
