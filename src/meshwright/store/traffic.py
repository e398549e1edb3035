"""Traffic: who publishes how much on which channel, as a folder of Parquet tables.

`rates/` holds `publisher, channel, messages, bytes, rate, byte_rate`, one row per publisher and channel.
`channels/` holds the sums over publishers. Rates are per second. A channel is a topic, or a part of the
content space. Records that could not be used, if any, are in `quarantine/`. Each is a folder of Parquet files
in order; schema 1 had one file for each, such as `rates.parquet`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from meshwright.arrow import table_schema, to_numpy
from meshwright.files.header import TRAFFIC, check_header, damaged, read_header
from meshwright.files.schema import Count, Figure
from meshwright.store.dataset_parts import QUARANTINE
from meshwright.store.tables import read_parts, read_table

FIGURES = {"messages": pa.int64(), "bytes": pa.int64(), "rate": pa.float64(), "byte_rate": pa.float64()}
RATES = table_schema(publisher=pa.string(), channel=pa.string(), **FIGURES)
CHANNELS = table_schema(channel=pa.string(), publishers=pa.int64(), **FIGURES)
TABLES = {"rates": RATES, "channels": CHANNELS, "quarantine": QUARANTINE}
"""The tables of a traffic folder; the last one only if there are such records."""


class TrafficHeader(Struct, forbid_unknown_fields=True):
    """The contents of `traffic.json`."""

    format: str
    schema: int
    counts: dict[str, Count] = {}
    seconds: Figure | None = None
    """The length of the log, which rates are divided by."""
    sources: list[str] = []
    made_by: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Traffic:
    """Rates of publishers on channels, and totals of channels, both sorted by name."""

    rates: pa.Table
    channels: pa.Table
    described: dict[str, Any]
    quarantine: pa.Table | None = None
    """Records that could not be used, if any, with source, line and reason."""

    @property
    def publishers(self) -> list[str]:
        """The names of the publishers, in the order of the matrix rows."""
        names: list[str] = sorted(pc.unique(self.rates.column("publisher")).to_pylist(), key=str.encode)
        return names

    def matrix(self, figure: str = "rate") -> Any:
        """Return one figure as a sparse array of publishers × channels, with columns as in `channels`."""
        from scipy.sparse import csr_array

        rows = name_places(self.rates.column("publisher"), self.publishers)
        columns = name_places(self.rates.column("channel"), self.channels.column("channel").to_pylist())
        shape = (len(self.publishers), self.channels.num_rows)
        return csr_array((self.rates.column(figure).to_numpy(), (rows, columns)), shape=shape)


def name_places(column: pa.Array | pa.ChunkedArray, names: list[str]) -> NDArray[np.int64]:
    """Return the position of each name of a column in a list that has them all."""
    places = pc.index_in(column.cast(pa.string()), pa.array(names, pa.string()))
    return to_numpy(places).astype(np.int64)


def read_traffic(path: str | Path) -> Traffic:
    """Read a traffic folder.

    Raises
    ------
    InputError
        If the folder does not exist.
    FormatError
        If the folder is of another kind, has a newer schema, or is damaged.
    """
    folder = Path(path)
    described = read_header(folder, TRAFFIC)
    check_header(folder / TRAFFIC.file, described, TrafficHeader)
    rates, channels = _read(folder, "rates"), _read(folder, "channels")
    for figure in ("messages", "bytes"):
        if pc.sum(rates.column(figure)) != pc.sum(channels.column(figure)):
            raise damaged(folder, f"the {figure} of publishers and of channels differ")
    kept = {name: value for name, value in described.items() if name not in ("format", "schema")}
    aside = any((folder / name).exists() for name in ("quarantine", "quarantine.parquet"))
    return Traffic(rates, channels, kept, _read(folder, "quarantine") if aside else None)


def _read(folder: Path, kind: str) -> pa.Table:
    """Read a table: a folder of files, or one file in schema 1."""
    if (folder / kind).is_dir():
        return read_parts(folder / kind, TABLES[kind])
    return read_table(folder / f"{kind}.parquet", TABLES[kind])
