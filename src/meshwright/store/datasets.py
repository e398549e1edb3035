"""Datasets: an interest as a folder of Parquet tables, with a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from meshwright.arrays import MOST_SUBSCRIPTIONS
from meshwright.arrow import join_text, to_numpy
from meshwright.errors import InputError
from meshwright.files.header import DATASET, damaged, holds, read_record, write_header
from meshwright.files.schema import Count
from meshwright.files.urls import require_local
from meshwright.fingerprint import fold_digests, part_sizes
from meshwright.interest import Interest, unchecked_from_ids
from meshwright.names import TopicKind, guess_topic_kind
from meshwright.store.dataset_parts import NAMES, QUARANTINE, SUBSCRIPTIONS, manifest, new_dataset, new_part
from meshwright.store.tables import RowGroup, first_line, read_parts, read_row_group


class DatasetCounts(Struct):
    """The sizes of a dataset; there may be other counts, of how it was made."""

    nodes: Count
    topics: Count
    subscriptions: Count


class DatasetHeader(Struct, forbid_unknown_fields=True):
    """The contents of `manifest.json`."""

    format: str
    schema: int
    counts: DatasetCounts
    fingerprint: str | None = None
    sources: list[str] = []
    made_by: dict[str, Any] = {}
    topic_kind: TopicKind | None = None


def write_dataset(
    interest: Interest | Any,
    path: str | Path,
    *,
    sources: Iterable[str] = (),
    made_by: Mapping[str, Any] | None = None,
    quarantine: pa.Table | None = None,
    topic_kind: TopicKind | None = None,
) -> Path:
    """Write an interest as a dataset folder; the same input gives the same bytes.

    Parameters
    ----------
    interest
        The interest, or whatever `Interest.of` takes; its names become strings in the order of their UTF-8
        bytes.
    path
        The folder; an existing dataset is replaced, anything else is not.
    sources
        Where the data came from, for the manifest.
    made_by
        How it was made (a command, a generator and its parameters), for the manifest.
    quarantine
        Records that could not be used: `source, line, record, reason`.
    topic_kind
        `mqtt` if topics are MQTT filters, `plain` if they are names; by default as the interest says.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dataset({"a": {"x"}, "b": {"x"}}, f"{folder}/dataset").name
    'dataset'
    """
    interest = Interest.of(interest)
    relation, aside = interest.canonical(), _as_quarantine(quarantine)
    names = {"nodes": relation.node_names, "topics": relation.topic_names}
    stated = {
        "nodes": relation.num_nodes,
        "topics": relation.num_topics,
        "subscriptions": relation.num_subscriptions,
    }
    with new_dataset(path) as place:
        digests: dict[str, list[bytes]] = {}
        for kind, (width, parts) in part_sizes(stated).items():
            digests[kind] = []
            for part in range(parts):
                begin, end = part * width, (part + 1) * width
                with new_part(place, kind, part) as writer:
                    if kind == "subscriptions":
                        ends = relation.node_ptr[begin : end + 1]
                        topics = relation.node_topics[int(ends[0]) : int(ends[-1])]
                        writer.add_subscriptions(begin, np.diff(ends), topics)
                    else:
                        writer.add_names(begin, names[kind][begin:end])
                digests[kind].append(writer.digest.digest())
        with new_part(place, "quarantine", 0) as writer:
            writer.add_records(aside)
        write_header(
            place,
            DATASET,
            manifest(
                stated | {"duplicates": interest.duplicates, "quarantined": aside.num_rows},
                fold_digests(stated, digests),
                sources=sources,
                made_by=made_by,
                topic_kind=topic_kind or interest.kind or guess_topic_kind(relation.topic_names),
            ),
        )
    return Path(path)


def read_topic_kind(path: str | Path) -> TopicKind | None:
    """Return the kind of topics that a dataset records; None for other folders, files, and older datasets.

    Raises
    ------
    FormatError
        If the manifest is damaged.
    """
    folder = Path(path)
    if not folder.is_dir() or not holds(folder, DATASET):
        return None
    return read_record(folder, DATASET, DatasetHeader).topic_kind


def read_dataset(path: str | Path) -> Interest:
    """Read a dataset folder and check it against its manifest, which states the kind of its topics.

    Topics of older datasets have the kind that they look like.

    Raises
    ------
    InputError
        If the folder does not exist, or declares more subscriptions than ids can number.
    FormatError
        If the folder is of another kind, has a newer schema, or is damaged.
    """
    folder = require_local(path)
    header = read_record(folder, DATASET, DatasetHeader)
    counts = header.counts
    if counts.subscriptions > MOST_SUBSCRIPTIONS:
        raise InputError(
            f"{folder} declares {counts.subscriptions} subscriptions, more than {MOST_SUBSCRIPTIONS} "
            "(2³¹ − 1): sample it, or split it by topic"
        )
    node_names = _names(folder, "nodes", counts.nodes)
    topic_names = _names(folder, "topics", counts.topics)
    table = read_parts(folder / "subscriptions", SUBSCRIPTIONS)
    _check_count(folder, "subscriptions", table.num_rows, counts.subscriptions)
    node_ids, topic_ids = check_subscriptions(
        folder / "subscriptions", table, len(node_names), len(topic_names)
    )
    interest = unchecked_from_ids(node_names, topic_names, node_ids, topic_ids)
    found = interest.whole_fingerprint if header.schema == 1 else interest.fingerprint
    if header.fingerprint not in (None, found):
        raise damaged(folder, "its fingerprint does not match its content")
    return interest.with_kind(header.topic_kind or guess_topic_kind(topic_names))


def _names(folder: Path, kind: str, stated: int) -> pa.Array:
    table = read_parts(folder / kind, NAMES)
    _check_count(folder, kind, table.num_rows, stated)
    return check_names(folder / kind, table, 0)


def check_names(where: str | Path, table: pa.Table, first: int) -> pa.Array:
    """Return the names of consecutive rows of a table of names; `first` is the id of the first row.

    Raises
    ------
    FormatError
        If ids or names are out of order, or there twice.
    """
    if not np.array_equal(to_numpy(table.column("id")), np.arange(first, first + table.num_rows)):
        raise damaged(where, "ids are not 0, 1, 2 … in order")
    names = join_text(table.column("name"))
    if not pc.all(pc.less(names[:-1], names[1:]), min_count=0).as_py():
        raise damaged(where, "names are not distinct and sorted by their UTF-8 bytes")
    return names


def read_name_group(group: RowGroup) -> pa.Array:
    """Read the names of a row group, here or on an executor, as `check_names` does."""
    return check_names(group.file, read_row_group(group, NAMES), group.begin)


def check_subscriptions(
    where: str | Path, table: pa.Table, nodes: int, topics: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the nodes and topics of consecutive rows of a table of subscriptions.

    Raises
    ------
    FormatError
        If ids are out of range, or rows out of order or there twice.
    """
    columns: list[NDArray[np.int32]] = [to_numpy(table.column(name)) for name in ("node", "topic")]
    for ids, count in zip(columns, (nodes, topics), strict=True):
        if len(ids) and (ids.min() < 0 or ids.max() >= count):
            raise damaged(where, f"ids are not all from 0 to {count - 1}")
    keys = columns[0].astype(np.int64) * max(topics, 1) + columns[1]
    if (keys[1:] <= keys[:-1]).any():
        row = int(np.argmax(keys[1:] <= keys[:-1])) + 1
        raise damaged(where, f"row {row + 1} is out of order or repeated")
    return columns[0], columns[1]


def read_subscription_group(
    group: RowGroup, nodes: int, topics: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Read a row group of subscriptions, here or on an executor, as `check_subscriptions` does."""
    return check_subscriptions(group.file, read_row_group(group, SUBSCRIPTIONS), nodes, topics)


def _check_count(folder: Path, kind: str, found: int, stated: int) -> None:
    if stated != found:
        raise damaged(folder, f"{found} {kind}, but {DATASET.file} says {stated}")


def _as_quarantine(table: pa.Table | None) -> pa.Table:
    if table is None:
        return QUARANTINE.empty_table()
    try:
        return table.select(QUARANTINE.names).cast(QUARANTINE)
    except (KeyError, pa.ArrowException) as error:
        wanted = ", ".join(QUARANTINE.names)
        raise InputError(f"quarantine must have the columns {wanted}: {first_line(error)}") from error
