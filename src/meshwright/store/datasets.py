"""Datasets: an interest as a folder of Parquet tables, with a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.errors import InputError
from meshwright.interest import MOST_SUBSCRIPTIONS, Interest
from meshwright.store.atomic import new_folder
from meshwright.store.header import DATASET, damaged, read_header, write_header
from meshwright.store.tables import first_line, read_parts, write_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

PART = "part-00000.parquet"


def _columns(**types: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()])


SUBSCRIPTIONS = _columns(node=pa.int32(), topic=pa.int32())
NAMES = _columns(id=pa.int32(), name=pa.string())
QUARANTINE = pa.schema(
    {"source": pa.string(), "line": pa.int64(), "record": pa.string(), "reason": pa.string()}
)


def write_dataset(
    interest: Interest,
    path: str | Path,
    *,
    sources: Iterable[str] = (),
    made_by: Mapping[str, Any] | None = None,
    quarantine: pa.Table | None = None,
) -> Path:
    """Write an interest as a dataset folder, whole or not at all; the same input gives the same bytes.

    Parameters
    ----------
    interest
        What to write; names become strings in the order of their UTF-8 bytes.
    path
        The folder; a dataset that is there already is replaced, anything else is not.
    sources
        Where the data came from, for the manifest.
    made_by
        How it was made (a command, a generator and its parameters), for the manifest.
    quarantine
        Records that were set aside: `source, line, record, reason`.
    """
    relation = interest.canonical()
    aside = _as_quarantine(quarantine)
    with new_folder(path, DATASET) as folder:
        subscriptions = [pa.array(relation.node_of_slot), pa.array(relation.node_topics)]
        write_table(pa.table(subscriptions, schema=SUBSCRIPTIONS), folder / "subscriptions" / PART)
        for kind, names in (("nodes", relation.node_names), ("topics", relation.topic_names)):
            ids = pa.array(np.arange(len(names), dtype=np.int32))
            write_table(pa.table([ids, names], schema=NAMES), folder / kind / PART)
        write_table(aside, folder / "quarantine" / PART)
        counts = {
            "nodes": relation.num_nodes,
            "topics": relation.num_topics,
            "subscriptions": relation.num_subscriptions,
            "duplicates": interest.duplicates,
            "quarantined": aside.num_rows,
        }
        content = {
            "counts": counts,
            "sources": list(sources),
            "made_by": dict(made_by or {}),
            "fingerprint": interest.fingerprint,
        }
        write_header(folder, DATASET, content)
    return Path(path)


def read_dataset(path: str | Path) -> Interest:
    """Read a dataset folder, checking that it is what its manifest says.

    Raises
    ------
    InputError
        If nothing is there, or more subscriptions are declared than can be held.
    FormatError
        If it is something else, of a newer schema, or damaged.
    """
    folder = Path(path)
    manifest = read_header(folder, DATASET)
    counts = manifest.get("counts", {})
    if not isinstance(counts, dict):
        raise damaged(folder / DATASET.file, "it states no counts")
    declared = counts.get("subscriptions", 0)
    if isinstance(declared, int) and declared > MOST_SUBSCRIPTIONS:
        raise InputError(
            f"{folder} declares {declared} subscriptions, more than {MOST_SUBSCRIPTIONS} (2³¹ − 1): "
            "sample it, or split it by topic"
        )
    node_names = _names(folder, "nodes", counts)
    topic_names = _names(folder, "topics", counts)
    table = read_parts(folder / "subscriptions", SUBSCRIPTIONS)
    _check_count(folder, "subscriptions", table.num_rows, counts)
    node_ids = _ids(folder, table.column("node"), len(node_names))
    topic_ids = _ids(folder, table.column("topic"), len(topic_names))
    keys = node_ids.astype(np.int64) * max(len(topic_names), 1) + topic_ids
    if (keys[1:] <= keys[:-1]).any():
        row = int(np.argmax(keys[1:] <= keys[:-1])) + 1
        raise damaged(folder / "subscriptions", f"row {row + 1} is out of order or repeated")
    interest = Interest.from_ids(node_names, topic_names, node_ids, topic_ids)
    if manifest.get("fingerprint", interest.fingerprint) != interest.fingerprint:
        raise damaged(folder, "its fingerprint is not that of its content")
    return interest


def _names(folder: Path, kind: str, counts: Mapping[str, Any]) -> pa.Array:
    table = read_parts(folder / kind, NAMES)
    _check_count(folder, kind, table.num_rows, counts)
    if not np.array_equal(table.column("id").to_numpy(), np.arange(table.num_rows)):
        raise damaged(folder / kind, "ids are not 0, 1, 2 … in order")
    names = table.column("name").combine_chunks()
    if not pc.all(pc.less(names[:-1], names[1:]), min_count=0).as_py():
        raise damaged(folder / kind, "names are not distinct and sorted by their UTF-8 bytes")
    return names


def _ids(folder: Path, column: pa.ChunkedArray, count: int) -> NDArray[np.int32]:
    ids: NDArray[np.int32] = column.to_numpy()
    if len(ids) and (ids.min() < 0 or ids.max() >= count):
        raise damaged(folder / "subscriptions", f"ids are not all from 0 to {count - 1}")
    return ids


def _check_count(folder: Path, kind: str, found: int, counts: Mapping[str, Any]) -> None:
    if counts.get(kind) != found:
        raise damaged(folder, f"{found} {kind}, but {DATASET.file} states {counts.get(kind)}")


def _as_quarantine(table: pa.Table | None) -> pa.Table:
    if table is None:
        return QUARANTINE.empty_table()
    try:
        return table.select(QUARANTINE.names).cast(QUARANTINE)
    except (KeyError, pa.ArrowException) as error:
        wanted = ", ".join(QUARANTINE.names)
        raise InputError(f"quarantine must have the columns {wanted}: {first_line(error)}") from error
