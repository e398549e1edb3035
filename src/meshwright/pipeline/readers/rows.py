"""The rows that every reader returns, the checks of their fields, and the quarantine of the bad ones.

| columns | meaning |
| --- | --- |
| `source`, `block`, `place` | where the record is: file, block of a large file, place in the block from 0 |
| `node`, `topic` | names |
| `time`, `sequence` | order of events; null if the record does not state them |
| `leaves` | true for an unsubscribe, false for a subscribe, null for a record without an operation |
| `broker`, `held` | broker logs only: the broker of the client, and the filter as the client wrote it |
| `reason`, `record` | why the record cannot be used, and its text; null for good rows |

A row without a place is not a record. It states which filter the end of a session drops or, with the reason
`NO_RECORD`, that a broker exists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from meshwright.pipeline.readers.formats import parse_time

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from meshwright.pipeline.readers.formats import Reading
    from meshwright.pipeline.readers.sources import SourceFile
    from meshwright.pipeline.readers.text import Run


SCHEMA = (
    "source string, block long, place long, node string, topic string, time double, sequence long, "
    "leaves boolean, broker string, held string, record string, reason string"
)

LONGEST_NAME = 65_535
"""The longest name in bytes, as in MQTT."""
LONGEST_RECORD = 1000
"""The quarantine keeps this many characters of a record."""

MISSING = "no {} name"
BLANK = "blank {} name"
TOO_LONG = f"{{}} name longer than {LONGEST_NAME} bytes"
CONTROL = "control character in {} name"
NOT_UTF8 = "not UTF-8"
BAD_TIME = "time is neither ISO 8601 nor a number of seconds"
BAD_SEQUENCE = "sequence is not an integer"
UNKNOWN_OPERATION = "unknown operation"
NO_RECORD = "no record"


def columns() -> list[str]:
    """Return the column names, in order."""
    return [field.split()[0] for field in SCHEMA.split(", ")]


def arrow_schema() -> pa.Schema:
    """Return the schema in Arrow types."""
    import pyarrow as pa

    kinds = {"string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_()}
    return pa.schema([(name, kinds[kind]) for name, kind in (field.split() for field in SCHEMA.split(", "))])


def batch(length: int, **given: Any) -> pa.RecordBatch:
    """Return a batch of rows; a column is an Arrow array, a list or one value for all, by default null."""
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


def broker_rows(spark: SparkSession, brokers: Sequence[str]) -> DataFrame:
    """Return one row per broker, so that brokers without subscriptions are known too."""
    made = [{"broker": broker, "reason": NO_RECORD} for broker in brokers]
    return spark.createDataFrame([tuple(map(row.get, columns())) for row in made], SCHEMA)


def shorten(record: bytes | str) -> str:
    """Return the text of a record, cut to `LONGEST_RECORD` characters."""
    text = record.decode("utf-8", "backslashreplace") if isinstance(record, bytes) else record
    return text if len(text) <= LONGEST_RECORD else f"{text[:LONGEST_RECORD]}…"


OPTIONAL_ROLES = ("time", "operation", "sequence")
OPERATIONS = {"subscribe": False, "sub": False, "unsubscribe": True, "unsub": True}
"""The operations, in lower case, and whether each is an unsubscribe."""


def column_roles(reading: Reading) -> list[tuple[str, str, bool]]:
    """Return the roles of columns, each with the name of its column and whether that column must exist."""
    found = [("node", reading.node, True), ("topic", reading.topic, True)]
    for what in OPTIONAL_ROLES:
        if reading.publications and what == "operation":
            continue
        default = "size" if reading.publications and what == "sequence" else what
        asked: str | None = getattr(reading, what)
        found.append((what, asked or default, asked is not None))
    return found


class RowBuilder:
    """Builds the rows of a run, record by record."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.found: dict[str, list[Any]] = {
            name: [] for name in ("place", "node", "topic", "time", "sequence", "leaves", "record", "reason")
        }

    def refuse(self, place: int, record: bytes | str, reason: str) -> None:
        """Add a record that cannot be used."""
        self._add(place=place, record=record, reason=reason)

    def take(self, place: int, record: bytes | str, fields: Mapping[str, Any]) -> None:
        """Add a record: names and sequence are strings or integers, the time is a string or a number."""
        values: dict[str, Any] = {"time": None, "sequence": None, "leaves": None}
        for what, read in (("time", _time), ("operation", _leaves), ("sequence", _sequence)):
            given = fields.get(what)
            if given is None or given == "":
                continue
            value, reason = read(given)
            if reason is not None:
                self.refuse(place, record, reason)
                return
            values["leaves" if what == "operation" else what] = value
        names = {}
        for what in ("node", "topic"):
            name = fields.get(what)
            if isinstance(name, bool) or not (name is None or isinstance(name, (str, int))):
                self.refuse(place, record, f"{what} name is neither a string nor an integer")
                return
            names[what] = None if name is None else str(name)
            if name is not None and not _is_text(names[what]):
                self.refuse(place, record, NOT_UTF8)
                return
        self._add(place=place, record=record, **names, **values)

    def _add(self, **given: Any) -> None:
        for name, column in self.found.items():
            column.append(given.get(name))

    def batch(self) -> pa.RecordBatch:
        """Return the rows, with their names checked."""
        import pyarrow as pa

        kinds = arrow_schema()
        arrays = {
            name: pa.array(column, kinds.field(name).type)
            for name, column in self.found.items()
            if name != "record"
        }
        reasons = arrays.pop("reason")
        kept = pa.array([_bytes(record) for record in self.found["record"]], pa.binary())
        return check_names(kept, reasons, source=self.run.source, block=self.run.block, **arrays)


def _bytes(record: bytes | str) -> bytes:
    return record if isinstance(record, bytes) else record.encode("utf-8", "surrogatepass")


def _is_text(name: str | None) -> bool:
    """Return whether a name can be encoded as UTF-8: JSON allows unpaired surrogates."""
    return name is None or name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _time(given: object) -> tuple[float | None, str | None]:
    read = (
        parse_time(str(given))
        if isinstance(given, (str, int, float)) and not isinstance(given, bool)
        else None
    )
    return read, BAD_TIME if read is None else None


def _leaves(given: object) -> tuple[bool | None, str | None]:
    leaves = OPERATIONS.get(given.strip().lower()) if isinstance(given, str) else None
    return leaves, UNKNOWN_OPERATION if leaves is None else None


def _sequence(given: object) -> tuple[int | None, str | None]:
    try:
        number = int(given) if isinstance(given, (str, int)) and not isinstance(given, bool) else None
    except ValueError:
        number = None
    if number is None or abs(number) >= 2**63:
        return None, BAD_SEQUENCE
    return number, None


def name_reasons(names: pa.Array, what: str) -> pa.Array:
    """Return the reason why each name cannot be used, or null for a good name."""
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
    """Return the same reasons as a Spark column."""
    from pyspark.sql import functions as sf

    return (
        sf.when(column.isNull(), MISSING.format(what))
        .when(~sf.is_valid_utf8(column), NOT_UTF8)
        .when(column.rlike(r"(?U)^\s*$"), BLANK.format(what))
        .when(sf.octet_length(column) > LONGEST_NAME, TOO_LONG.format(what))
        .when(column.rlike(r"[\x00-\x1f\x7f]"), CONTROL.format(what))
    )


def check_names(records: pa.Array, reasons: pa.Array, **given: Any) -> pa.RecordBatch:
    """Return rows with their names checked; bad rows get a reason and keep their record."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for what in ("node", "topic"):
        reasons = pc.coalesce(reasons, name_reasons(given[what], what))
    bad = pc.is_valid(reasons)
    if pc.any(bad, min_count=0).as_py():
        kept = [
            shorten(text) if wrong else None
            for text, wrong in zip(records.to_pylist(), bad.to_pylist(), strict=True)
        ]
        for name in ("node", "topic", "time", "sequence", "leaves"):
            if isinstance(given.get(name), pa.Array):
                given[name] = pc.if_else(bad, pa.scalar(None, given[name].type), given[name])
    else:
        kept = [None] * len(records)
    return batch(len(records), record=kept, reason=reasons, **given)


def quarantine_table(rows: DataFrame, files: Sequence[SourceFile], most: int | None = None) -> pa.Table:
    """Return the records of bad rows in the order of files and lines; lines count from 1.

    With `most`, return only the first ones.
    """
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import functions as sf

    from meshwright.pipeline.readers import text
    from meshwright.pipeline.session.failures import strip_scheme
    from meshwright.store.datasets import QUARANTINE

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
