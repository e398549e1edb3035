"""Datasets: an interest as a folder of Parquet tables, with a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.arrow import from_numpy, to_numpy
from meshwright.errors import InputError
from meshwright.files.atomic import new_folder
from meshwright.files.header import DATASET, damaged, holds, read_header, write_header
from meshwright.interest import MOST_SUBSCRIPTIONS, Fingerprint, Interest
from meshwright.store.tables import ROWS_AT_ONCE, first_line, open_table, read_parts, write_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

PART = "part-00000.parquet"
TOPIC_KINDS = MQTT, PLAIN = "mqtt", "plain"
"""Topics are MQTT filters, which may have wildcards and overlap, or plain names."""


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
    topic_kind: str | None = None,
) -> Path:
    """Write an interest as a dataset folder; the same input gives the same bytes.

    Parameters
    ----------
    interest
        The interest; its names become strings in the order of their UTF-8 bytes.
    path
        The folder; an existing dataset is replaced, anything else is not.
    sources
        Where the data came from, for the manifest.
    made_by
        How it was made (a command, a generator and its parameters), for the manifest.
    quarantine
        Records that could not be used: `source, line, record, reason`.
    topic_kind
        `mqtt` if topics are MQTT filters, `plain` if they are names; by default as they look.
    """
    relation = interest.canonical()
    return write_relation(
        path,
        relation.node_names,
        relation.topic_names,
        relation.node_ptr,
        [relation.node_topics],
        counts={"duplicates": interest.duplicates},
        sources=sources,
        made_by=made_by,
        quarantine=quarantine,
        topic_kind=topic_kind,
    )


def write_relation(
    path: str | Path,
    node_names: pa.Array,
    topic_names: pa.Array,
    node_ptr: NDArray[Any],
    topics: Iterable[NDArray[Any]],
    *,
    counts: Mapping[str, int],
    sources: Iterable[str] = (),
    made_by: Mapping[str, Any] | None = None,
    quarantine: pa.Table | None = None,
    topic_kind: str | None = None,
) -> Path:
    """Write a relation as a dataset folder; the topics of the nodes may come in pieces of any size.

    The names are strings in the order of their UTF-8 bytes. `node_ptr` and `topics` are as in `Interest`; the
    bytes do not depend on how `topics` is cut. `counts` are further counts for the manifest.
    """
    aside = _as_quarantine(quarantine)
    digest = Fingerprint(node_names, topic_names, node_ptr)
    with new_folder(path, DATASET) as folder:
        for kind, names in (("nodes", node_names), ("topics", topic_names)):
            ids = from_numpy(np.arange(len(names), dtype=np.int32))
            write_table(pa.table([ids, names], schema=NAMES), folder / kind / PART)
        with open_table(SUBSCRIPTIONS, folder / "subscriptions" / PART) as write:
            for first, piece in _recut(topics, ROWS_AT_ONCE):
                digest.update(piece)
                slots = np.arange(first, first + len(piece))
                nodes = (np.searchsorted(node_ptr, slots, side="right") - 1).astype(np.int32)
                write(pa.table([from_numpy(nodes), from_numpy(piece)], schema=SUBSCRIPTIONS))
        write_table(aside, folder / "quarantine" / PART)
        stated = {
            "nodes": len(node_names),
            "topics": len(topic_names),
            "subscriptions": int(node_ptr[-1]),
            **counts,
            "quarantined": aside.num_rows,
        }
        content = {
            "counts": stated,
            "sources": list(sources),
            "made_by": dict(made_by or {}),
            "topic_kind": topic_kind or guess_topic_kind(topic_names),
            "fingerprint": digest.hexdigest(),
        }
        write_header(folder, DATASET, content)
    return Path(path)


def guess_topic_kind(topic_names: pa.Array) -> str:
    """Return `mqtt` if some topic has a level that is a wildcard, else `plain`."""
    if not pa.types.is_string(topic_names.type) and not pa.types.is_large_string(topic_names.type):
        return PLAIN
    wild = pc.match_substring_regex(topic_names, r"(^|/)(\+(/|$)|#$)")
    return MQTT if pc.any(wild, min_count=0).as_py() else PLAIN


def check_topic_kind(kind: str | None) -> None:
    """Refuse an unknown kind of topics.

    Raises
    ------
    InputError
        If it is neither `mqtt` nor `plain` nor None.
    """
    if kind not in (None, *TOPIC_KINDS):
        raise InputError(f"no topic kind {kind!r}: choose {' or '.join(TOPIC_KINDS)}")


def read_topic_kind(path: str | Path) -> str | None:
    """Return the kind of topics that a dataset records; None for other folders, files, and older datasets.

    Raises
    ------
    FormatError
        If the manifest is damaged.
    """
    folder = Path(path)
    if not folder.is_dir() or not holds(folder, DATASET):
        return None
    kind = read_header(folder, DATASET).get("topic_kind")
    if kind not in (None, *TOPIC_KINDS):
        raise damaged(folder / DATASET.file, f"topic_kind is {kind!r}")
    return None if kind is None else str(kind)


def _recut(pieces: Iterable[NDArray[Any]], length: int) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Yield the same numbers in pieces of equal length (the last may be shorter), each with its offset."""
    first, held = 0, np.zeros(0, dtype=np.int32)
    for piece in pieces:
        held = np.concatenate((held, piece.astype(np.int32, copy=False)))
        while len(held) >= length:
            yield first, held[:length]
            first, held = first + length, held[length:]
    if len(held) or not first:
        yield first, held


def read_dataset(path: str | Path) -> Interest:
    """Read a dataset folder and check it against its manifest.

    Raises
    ------
    InputError
        If the folder does not exist, or declares more subscriptions than ids can number.
    FormatError
        If the folder is of another kind, has a newer schema, or is damaged.
    """
    folder = Path(path)
    manifest = read_header(folder, DATASET)
    counts = manifest.get("counts", {})
    if not isinstance(counts, dict):
        raise damaged(folder / DATASET.file, "it has no counts")
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
        raise damaged(folder, "its fingerprint does not match its content")
    return interest


def _names(folder: Path, kind: str, counts: Mapping[str, Any]) -> pa.Array:
    table = read_parts(folder / kind, NAMES)
    _check_count(folder, kind, table.num_rows, counts)
    if not np.array_equal(to_numpy(table.column("id")), np.arange(table.num_rows)):
        raise damaged(folder / kind, "ids are not 0, 1, 2 … in order")
    names = table.column("name").combine_chunks()
    if not pc.all(pc.less(names[:-1], names[1:]), min_count=0).as_py():
        raise damaged(folder / kind, "names are not distinct and sorted by their UTF-8 bytes")
    return names


def _ids(folder: Path, column: pa.ChunkedArray, count: int) -> NDArray[np.int32]:
    ids: NDArray[np.int32] = to_numpy(column)
    if len(ids) and (ids.min() < 0 or ids.max() >= count):
        raise damaged(folder / "subscriptions", f"ids are not all from 0 to {count - 1}")
    return ids


def _check_count(folder: Path, kind: str, found: int, counts: Mapping[str, Any]) -> None:
    if counts.get(kind) != found:
        raise damaged(folder, f"{found} {kind}, but {DATASET.file} says {counts.get(kind)}")


def _as_quarantine(table: pa.Table | None) -> pa.Table:
    if table is None:
        return QUARANTINE.empty_table()
    try:
        return table.select(QUARANTINE.names).cast(QUARANTINE)
    except (KeyError, pa.ArrowException) as error:
        wanted = ", ".join(QUARANTINE.names)
        raise InputError(f"quarantine must have the columns {wanted}: {first_line(error)}") from error
