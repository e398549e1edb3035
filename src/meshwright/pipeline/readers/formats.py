"""The formats that can be read, each with what reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from meshwright.errors import InputError, first_five
from meshwright.pipeline.readers.broker_pages import read_connz, read_emqx
from meshwright.pipeline.readers.csv_files import read_csv
from meshwright.pipeline.readers.edge_lists import read_edges
from meshwright.pipeline.readers.json_lines import read_json_lines
from meshwright.pipeline.readers.mosquitto_logs import read_mosquitto_logs
from meshwright.pipeline.readers.options import FORMATS, UNREADABLE_PACKING, guessed_format
from meshwright.pipeline.readers.parquet_files import read_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.options import Reading
    from meshwright.pipeline.readers.sources import SourceFile

Reader: TypeAlias = "Callable[[SparkSession, Sequence[SourceFile], Reading], DataFrame]"


def check_packing(files: Sequence[SourceFile]) -> None:
    """Refuse files that are packed as Spark cannot read them: it would take their bytes for text.

    Raises
    ------
    InputError
        If there are any.
    """
    packed = [file.path for file in files if UNREADABLE_PACKING.search(file.path)]
    if packed:
        raise InputError(f"{first_five(packed)} cannot be unpacked: unpack it, or pack it as .gz or .bz2")


def _unpacked(reader: Reader) -> Reader:
    def read(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
        check_packing(files)
        return reader(spark, files, reading)

    return read


READERS: Mapping[str, Reader] = {
    "csv": _unpacked(read_csv),
    "jsonl": _unpacked(read_json_lines),
    "parquet": read_parquet,
    "edges": _unpacked(read_edges),
    "mosquitto-log": _unpacked(read_mosquitto_logs),
    "nats-connz": _unpacked(read_connz),
    "emqx": _unpacked(read_emqx),
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
