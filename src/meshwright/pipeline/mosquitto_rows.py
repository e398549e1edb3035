"""Rows of mosquitto logs: each broker's lines in order, on one executor, as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from meshwright.errors import FormatError
from meshwright.pipeline import rows, text
from meshwright.pipeline.brokers import logs_of, topic_of
from meshwright.pipeline.checking import checked
from meshwright.pipeline.mosquitto_lines import Event, Log

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.options import Reading
    from meshwright.pipeline.sources import SourceFile

LINES = "source string, block long, place long, line binary"


def read_mosquitto_logs(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the subscribes and unsubscribes of mosquitto logs; what a session's end undoes has no place."""
    from pyspark.sql import functions as sf

    bridges = re.compile(reading.bridges)

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _parsed(batches, bridges)

    logs = logs_of([file.path for file in files])
    brokers = sorted({log.broker for log in logs})
    known = spark.createDataFrame([tuple(log) for log in logs], "source string, broker string, turn long")
    lines = text.lines_of(spark, files).mapInArrow(_numbered, LINES).join(sf.broadcast(known), "source")
    order = ["broker", "turn", "source", "block", "place"]
    ordered = lines.repartition(len(brokers), "broker").sortWithinPartitions(*order)
    # A broker whose log says nothing is a broker too.
    return ordered.mapInArrow(parse, rows.SCHEMA).union(rows.present(spark, brokers))


def _numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for run in text.runs(batches):
        length = len(run.lines)
        sources, blocks = pa.repeat(run.source, length), pa.repeat(run.block, length)
        yield pa.record_batch([sources, blocks, run.places, run.lines], ["source", "block", "place", "line"])


def _parsed(batches: Iterator[pa.RecordBatch], bridges: re.Pattern[str]) -> Iterator[pa.RecordBatch]:
    broker, source = "", ""
    log = Log(bridges)
    for batch in batches:
        made = _Rows()
        for line in batch.to_pylist():
            if line["source"] != source:
                _check_known(log, source)
                source = line["source"]
            if line["broker"] != broker:
                broker, log = line["broker"], Log(bridges)
            for event in log.read(line["line"]):
                made.add(line, event, log)
        yield made.batch()
    _check_known(log, source)


def _check_known(log: Log, source: str) -> None:
    """Refuse a file in which nothing is mosquitto's; then look anew at the next."""
    if log.strange and not log.known:
        raise FormatError(
            f"{source} has no line as mosquitto logs them, such as `1700000000: meter 0 volt`: leave it out, "
            "or unpack it, or make the log again without log_timestamp_format"
        )
    log.known = log.strange = False


class _Rows:
    """The rows of a batch, by columns."""

    def __init__(self) -> None:
        self.columns: dict[str, list[object]] = {name: [] for name in rows.columns()}

    def add(self, line: dict[str, object], event: Event, log: Log) -> None:
        topic = None if event.filter is None else topic_of(event.filter)
        values = {
            "source": line["source"],
            "block": line["block"],
            "place": None if event.derived else line["place"],
            "node": event.client,
            "topic": topic,
            "time": log.time,
            "sequence": log.sequence,
            "leaves": event.leaves,
            "broker": line["broker"],
            "held": event.filter,
            "record": line["line"],
            "reason": event.reason,
        }
        for name, column in self.columns.items():
            column.append(values[name])

    def batch(self) -> pa.RecordBatch:
        import pyarrow as pa

        kinds = rows.arrow_schema()
        arrays = {
            name: pa.array(column, kinds.field(name).type)
            for name, column in self.columns.items()
            if name != "record"
        }
        records, reasons = pa.array(self.columns["record"], pa.binary()), arrays.pop("reason")
        return checked(records, reasons, **arrays)
