"""What every format is read into: one row for each record, good or bad.

`source`, `block` and `place` say where it stood (a large file is read in blocks, and places count from 0 in
each); `node`, `topic`, `time`, `sequence` and `leaves` (true: it unsubscribes, null: it does not
say, and subscribes) what it says. `reason`, if not
null, says why it cannot be used, and then `record` is its text. `broker` and `held` come from broker logs:
whose client it is, and the filter as the client wrote it. A row without a place is no record: it says what
the end of a session undoes, or (with the reason `NO_RECORD`) that a broker is there at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "source string, block long, place long, node string, topic string, time double, sequence long, "
    "leaves boolean, broker string, held string, record string, reason string"
)

LONGEST_NAME = 65_535
"""Bytes of a name: MQTT's own limit."""
LONGEST_RECORD = 1000
"""So many characters of a record that is set aside are kept."""

MISSING = "no {} name"
BLANK = "blank {} name"
TOO_LONG = f"{{}} name longer than {LONGEST_NAME} bytes"
CONTROL = "control character in {} name"
NOT_UTF8 = "not UTF-8"
BAD_TIME = "time is no ISO 8601 and no number of seconds"
BAD_SEQUENCE = "sequence is no integer"
UNKNOWN_OPERATION = "unknown operation"
NO_RECORD = "no record"


def columns() -> list[str]:
    """Return the names of the columns, in order."""
    return [field.split()[0] for field in SCHEMA.split(", ")]


def arrow_schema() -> pa.Schema:
    """Return the same schema for Arrow."""
    import pyarrow as pa

    kinds = {"string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
    return pa.schema([(name, kinds[kind]) for name, kind in (field.split() for field in SCHEMA.split(", "))])


def batch(length: int, **given: Any) -> pa.RecordBatch:
    """Return a batch with these columns, each an Arrow array, a list or one value for all; the rest null."""
    import pyarrow as pa

    arrays = []
    for field in arrow_schema():
        value = given.get(field.name)
        if isinstance(value, pa.Array):
            arrays.append(value.cast(field.type))
        elif isinstance(value, list):
            arrays.append(pa.array(value, field.type))
        elif value is None:
            arrays.append(pa.nulls(length, field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(value, field.type), length))
    return pa.record_batch(arrays, schema=arrow_schema())


def present(spark: SparkSession, brokers: Sequence[str]) -> DataFrame:
    """Return rows that say no more than that these brokers are there."""
    told = [{"broker": broker, "reason": NO_RECORD} for broker in brokers]
    return spark.createDataFrame([tuple(map(row.get, columns())) for row in told], SCHEMA)


def shortened(record: bytes | str) -> str:
    """Return a record as text, cut to what is kept of it."""
    text = record.decode("utf-8", "backslashreplace") if isinstance(record, bytes) else record
    return text if len(text) <= LONGEST_RECORD else f"{text[:LONGEST_RECORD]}…"
