"""Which names can be used, and why not: the same rule for rows in Arrow and for columns in Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.pipeline import rows
from meshwright.pipeline.rows import BLANK, CONTROL, LONGEST_NAME, MISSING, TOO_LONG

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column


def name_reasons(names: pa.Array, what: str) -> pa.Array:
    """Return for each name why it cannot be used, null for those that can."""
    import pyarrow as pa
    import pyarrow.compute as pc

    reasons = pa.nulls(len(names), pa.string())
    for bad, reason in (
        (pc.match_substring_regex(names, r"[\x00-\x1f\x7f]"), CONTROL),
        (pc.greater(pc.binary_length(names), LONGEST_NAME), TOO_LONG),
        (pc.equal(pc.utf8_trim_whitespace(names), ""), BLANK),
        (pc.is_null(names), MISSING),
    ):
        reasons = pc.if_else(pc.fill_null(bad, False), pa.scalar(reason.format(what)), reasons)
    return reasons


def name_reason(column: Column, what: str) -> Column:
    """Return the same for a column of Spark."""
    from pyspark.sql import functions as sf

    return (
        sf.when(column.isNull(), MISSING.format(what))
        .when(~sf.is_valid_utf8(column), rows.NOT_UTF8)
        .when(column.rlike(r"(?U)^\s*$"), BLANK.format(what))
        .when(sf.octet_length(column) > LONGEST_NAME, TOO_LONG.format(what))
        .when(column.rlike(r"[\x00-\x1f\x7f]"), CONTROL.format(what))
    )


def checked(records: pa.Array, reasons: pa.Array, **given: Any) -> pa.RecordBatch:
    """Return rows with the names looked at: those that cannot be used say why, and keep their record."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for what in ("node", "topic"):
        reasons = pc.coalesce(reasons, name_reasons(given[what], what))
    bad = pc.is_valid(reasons)
    if pc.any(bad, min_count=0).as_py():
        kept = [
            rows.shortened(text) if wrong else None
            for text, wrong in zip(records.to_pylist(), bad.to_pylist(), strict=True)
        ]
        for name in ("node", "topic", "time", "sequence", "leaves"):
            if isinstance(given.get(name), pa.Array):
                given[name] = pc.if_else(bad, pa.scalar(None, given[name].type), given[name])
    else:
        kept = [None] * len(records)
    return rows.batch(len(records), record=kept, reason=reasons, **given)
