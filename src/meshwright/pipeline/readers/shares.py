"""Reading a share: the rows of its stretches, by the reader of the format; and how files become shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from meshwright.arrow import to_numpy
from meshwright.filters.mqtt import why_invalid
from meshwright.names import MQTT
from meshwright.pipeline.readers.broker_names import log_files
from meshwright.pipeline.readers.broker_pages import read_page_rows
from meshwright.pipeline.readers.csv_files import read_csv, read_edges, read_layout
from meshwright.pipeline.readers.fields import INVALID_FILTER
from meshwright.pipeline.readers.formats import MQTT_FORMATS, ROW_FORMATS, Reading, check_packing
from meshwright.pipeline.readers.json_lines import read_json_lines
from meshwright.pipeline.readers.mosquitto_logs import log_shares, read_log
from meshwright.pipeline.readers.parquet_files import read_columns, read_parquet
from meshwright.pipeline.readers.rows import Rows, keep_rows, partition_roles, refuse_rows
from meshwright.pipeline.readers.sources import COMPRESSED, SourceFile, Stretch, shares

Reader: TypeAlias = "Callable[[Stretch, Reading], Iterator[Rows]]"

READERS: Mapping[str, Reader] = {
    "csv": read_csv,
    "jsonl": read_json_lines,
    "parquet": read_parquet,
    "edges": read_edges,
    "nats-connz": read_page_rows,
    "emqx": read_page_rows,
}
"""The reader of each format whose stretches can be read one by one."""


def cut_shares(files: Sequence[SourceFile], reading: Reading, most: int) -> list[list[Stretch]]:
    """Divide files into the shares that tasks read, in the order of the files.

    Raises
    ------
    InputError
        If a file has a compression that cannot be read.
    """
    if reading.format != "parquet":
        check_packing(files)
    if reading.format == "mosquitto-log":
        return log_shares(files)
    whole = reading.quoted_newlines or reading.format in ("nats-connz", "emqx")
    cut = shares(files, most, unsplittable=("",) if whole else COMPRESSED)
    if reading.format not in ROW_FORMATS:
        return cut
    return [[each._replace(stated=partition_roles(each.path, reading)) for each in share] for share in cut]


def read_share(share: Sequence[Stretch], reading: Reading, brokers: Mapping[str, str]) -> Iterator[Rows]:
    """Yield the rows of a share without excluded topics; `brokers` has the broker of each log."""
    if reading.format == "mosquitto-log":
        found = read_log(brokers[share[0].path], share, reading)
    else:
        found = (rows for stretch in share for rows in READERS[reading.format](stretch, reading))
    return (choose_topics(rows, reading) for rows in found)


def choose_topics(rows: Rows, reading: Reading) -> Rows:
    """Return the rows without those of invalid filters and excluded topics."""
    checked = check_filters(rows, reading)
    return exclude_topics(checked, reading.excluded) if reading.excluded else checked


def check_filters(rows: Rows, reading: Reading) -> Rows:
    """Refuse invalid MQTT filters, if topics are filters; the readers of broker formats do so themselves."""
    if reading.topic_kind != MQTT or reading.format in MQTT_FORMATS:
        return rows
    invalid = np.array(
        [why_invalid(topic) is not None for topic in rows.topic.dictionary.to_pylist()], dtype=bool
    )
    return refuse_rows(rows, invalid[to_numpy(rows.topic.indices)], INVALID_FILTER)


EXCLUDED = "row of an excluded topic"


def exclude_topics(rows: Rows, excluded: Sequence[str]) -> Rows:
    """Return the rows without those of some topics, which are counted."""
    topics = rows.topic.dictionary.to_pylist()
    out = np.array([topic in excluded for topic in topics], dtype=bool)
    if not out.any():
        return rows
    keep = ~out[to_numpy(rows.topic.indices)]
    counted = Counter({EXCLUDED: int((~keep).sum())})
    return replace(keep_rows(rows, keep), cleaned=rows.cleaned + counted)


def brokers_of(files: Sequence[SourceFile], reading: Reading) -> dict[str, str]:
    """Return the broker of each log, from the paths of all logs; other formats have none."""
    if reading.format != "mosquitto-log":
        return {}
    return {log.path: log.broker for log in log_files([file.path for file in files])}


CHECKED_HEADERS = 20
"""The number of files that are opened before Java starts: a wrong column is an error at once."""
BYTES_HERE = 1 << 27
"""Files of this size together are read in this process, unless the user asks for Spark."""


def check_headers(files: Sequence[SourceFile], reading: Reading) -> None:
    """Check that files have the columns that are asked for; readers check all files again.

    Raises
    ------
    InputError
        If a column is missing.
    FormatError
        If a file cannot be read.
    """
    check_packing(files) if reading.format != "parquet" else None
    for file in files:
        if reading.format == "csv" and file.size:
            read_layout(file.path, reading)
        elif reading.format == "parquet":
            read_columns(file.path, reading)


def fits_here(files: Sequence[SourceFile]) -> bool:
    """Return whether files are so small that this process reads them faster than Spark starts."""
    # Text has a tenth of its size when it is compressed.
    sizes = (
        file.size * (10 if file.path.lower().endswith((*COMPRESSED, ".parquet")) else 1) for file in files
    )
    return sum(sizes) <= BYTES_HERE
