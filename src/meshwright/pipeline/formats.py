"""The formats that can be read, each with what reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from meshwright.errors import InputError, first_five
from meshwright.pipeline.csv_rows import read_csv
from meshwright.pipeline.edge_rows import read_edges
from meshwright.pipeline.json_rows import read_json_lines
from meshwright.pipeline.mosquitto_rows import read_mosquitto_logs
from meshwright.pipeline.options import FORMATS, guessed_format
from meshwright.pipeline.page_rows import read_connz, read_emqx
from meshwright.pipeline.parquet_rows import read_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.options import Reading
    from meshwright.pipeline.sources import SourceFile

Reader: TypeAlias = "Callable[[SparkSession, Sequence[SourceFile], Reading], DataFrame]"

READERS: Mapping[str, Reader] = {
    "csv": read_csv,
    "jsonl": read_json_lines,
    "parquet": read_parquet,
    "edges": read_edges,
    "mosquitto-log": read_mosquitto_logs,
    "nats-connz": read_connz,
    "emqx": read_emqx,
}


def format_of(files: Sequence[SourceFile]) -> str:
    """Tell the one format of all files by their names.

    Raises
    ------
    InputError
        If a name tells none, or they differ.
    """
    told = {file.path: guessed_format(file.path) for file in files}
    unknown = [path for path, known in told.items() if known is None]
    if unknown:
        raise InputError(
            f"the names of {first_five(unknown)} do not tell their format: "
            f"give --format, one of {', '.join(FORMATS)}"
        )
    kinds = sorted({known for known in told.values() if known is not None})
    if len(kinds) > 1:
        raise InputError(f"the files are of several formats ({', '.join(kinds)}): ingest each by itself")
    return kinds[0]
