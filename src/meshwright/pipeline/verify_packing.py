"""Subscriptions packed by shard: few large records are shuffled, not many rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.errors import FormatError, InputError
from meshwright.store.tables import first_line

if TYPE_CHECKING:
    from meshwright.interest import Ids

SCHEMA = "shard int, nodes binary, topics binary"


def pieces_of(folder: Path) -> list[tuple[Path, int]]:
    """Return the row groups of all Parquet parts of a folder: what one executor reads at a time."""
    import pyarrow.parquet as pq

    files = sorted(file for file in folder.glob("*.parquet") if not file.name.startswith((".", "_")))
    try:
        return [(file, group) for file in files for group in range(pq.read_metadata(file).num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{folder} cannot be read as Parquet: {first_line(error)}") from error


def read_packed(
    pieces: Sequence[tuple[Path, int]], shards: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read, on an executor, the pieces whose numbers come, and pack them.

    Spark would turn every row from columns to rows and back; these columns are never anything else.
    """
    import pyarrow.parquet as pq

    for batch in batches:
        for number in batch.column(0).to_pylist():
            file, group = pieces[number]
            try:
                with pq.ParquetFile(file) as parquet:
                    table = parquet.read_row_group(group, columns=["node", "topic"])
            except FileNotFoundError as error:
                raise InputError(
                    f"a worker does not find {file}: put the dataset where all workers can read it"
                ) from error
            except (pa.ArrowException, OSError) as error:
                raise FormatError(f"{file} cannot be read as Parquet: {first_line(error)}") from error
            yield from pack(shards, table.column("node").to_numpy(), table.column("topic").to_numpy())


def pack(shards: int, node: Ids, topic: Ids) -> Iterator[pa.RecordBatch]:
    """Yield a record for each shard; all subscriptions of a topic go to the same."""
    shard_of = topic % shards
    for shard in range(shards):
        chosen = shard_of == shard
        columns = {"nodes": node[chosen], "topics": topic[chosen]}
        packed = {
            name: pa.array([column.astype(np.int32).tobytes()], pa.binary())
            for name, column in columns.items()
        }
        yield pa.record_batch({"shard": pa.array([shard], pa.int32())} | packed)
