"""The table of formats and their readers, and how a format follows from file names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from meshwright.errors import InputError, first_five
from meshwright.pipeline.readers.broker_pages import read_connz, read_emqx
from meshwright.pipeline.readers.csv_files import read_csv
from meshwright.pipeline.readers.edge_lists import read_edges
from meshwright.pipeline.readers.json_lines import read_json_lines
from meshwright.pipeline.readers.mosquitto_logs import read_mosquitto_logs
from meshwright.pipeline.readers.options import FORMATS, UNREADABLE_PACKING, guess_format
from meshwright.pipeline.readers.parquet_files import read_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from meshwright.pipeline.readers.options import Reading
    from meshwright.pipeline.readers.sources import SourceFile

Reader: TypeAlias = "Callable[[SparkSession, Sequence[SourceFile], Reading], DataFrame]"


def check_packing(files: Sequence[SourceFile]) -> None:
    """Check that Spark can decompress files; it would read others as plain text.

    Raises
    ------
    InputError
        If a file has another compression.
    """
    packed = [file.path for file in files if UNREADABLE_PACKING.search(file.path)]
    if packed:
        raise InputError(f"{first_five(packed)} cannot be decompressed: unpack it, or use .gz or .bz2")


def _refuse_packed(reader: Reader) -> Reader:
    """Return the reader with a check of the compression before it."""

    def read(spark: SparkSession, files: Sequence[SourceFile], reading: Reading) -> DataFrame:
        check_packing(files)
        return reader(spark, files, reading)

    return read


READERS: Mapping[str, Reader] = {
    "csv": _refuse_packed(read_csv),
    "jsonl": _refuse_packed(read_json_lines),
    "parquet": read_parquet,
    "edges": _refuse_packed(read_edges),
    "mosquitto-log": _refuse_packed(read_mosquitto_logs),
    "nats-connz": _refuse_packed(read_connz),
    "emqx": _refuse_packed(read_emqx),
}


def common_format(files: Sequence[SourceFile]) -> str:
    """Return the format of all files, from their extensions.

    Raises
    ------
    InputError
        If an extension is unknown, or the formats differ.
    """
    formats = {file.path: guess_format(file.path) for file in files}
    unknown = [path for path, known in formats.items() if known is None]
    if unknown:
        raise InputError(
            f"the format of {first_five(unknown)} cannot be derived from the name: "
            f"give --format, one of {', '.join(FORMATS)}"
        )
    kinds = sorted({known for known in formats.values() if known is not None})
    if len(kinds) > 1:
        raise InputError(f"the files have several formats ({', '.join(kinds)}): ingest each by itself")
    return kinds[0]
