"""Reader of JSON-lines files: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from meshwright.pipeline.readers import rows, text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.options import Reading
    from meshwright.pipeline.readers.sources import SourceFile


def read_json_lines(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
    """Return the rows of JSON-lines files, plain or compressed."""

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for run in text.runs(batches):
            yield _parse_run(run, reading)

    return text.read_lines(spark, files).mapInArrow(parse, rows.SCHEMA)


def _parse_run(run: text.Run, reading: Reading) -> pa.RecordBatch:
    made = rows.RowBuilder(run)
    wanted = [(what, column) for what, column, _ in rows.column_roles(reading)]
    for place, line in enumerate(run.lines.to_pylist(), start=run.first):
        if not line.strip():
            continue
        if len(line) > text.LONGEST_LINE:
            made.refuse(place, line, text.TOO_LONG)
            continue
        try:
            record = json.loads(line.decode())
        except UnicodeDecodeError:
            made.refuse(place, line, rows.NOT_UTF8)
        except (ValueError, RecursionError):
            made.refuse(place, line, "not JSON")
        else:
            if isinstance(record, dict):
                fields = {what: record.get(column) for what, column in wanted}
                # In publish logs, the topic may be a content value.
                if reading.publications and isinstance(fields["topic"], float):
                    fields["topic"] = repr(fields["topic"])
                made.take(place, line, fields)
            else:
                made.refuse(place, line, "not a JSON object")
    return made.batch()
