"""One shard of a verification on an executor: subscriptions come packed, findings go back packed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.verify.overlay_check import ShardFindings, ShardTask, examine_shard

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

COUNTS = ("subscriptions", "repeated", "outside")
COLUMNS = ("topics", "components", "gains", "weak_topics", "weak_nodes")
SCHEMA = ", ".join([f"{name} long" for name in COUNTS] + [f"{name} binary" for name in COLUMNS])
"""One row for each shard: the fields of `ShardFindings`, arrays as bytes."""


def examine_packed(task: ShardTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Verify one shard on an executor."""
    import pyarrow as pa

    packed = [record for batch in batches for record in batch.to_pylist()]
    if not packed:
        return
    pieces = [
        tuple(np.frombuffer(record[name], np.int32) for name in ("nodes", "topics")) for record in packed
    ]
    # Restore the order that the shuffle has lost: pairs in order need not be sorted.
    pieces.sort(key=lambda piece: int(piece[0][0]) if len(piece[0]) else -1)
    node, topic = (np.concatenate(column) for column in zip(*pieces, strict=True))
    del packed, pieces
    found = examine_shard(task, node, topic)
    counts = {name: pa.array([getattr(found, name)], pa.int64()) for name in COUNTS}
    columns = {name: pa.array([_narrow(found, name).tobytes()], pa.binary()) for name in COLUMNS}
    yield pa.record_batch(counts | columns)


def _narrow(found: ShardFindings, column: str) -> NDArray[Any]:
    """Return an array of the findings; gains, one for each edge, in the fewest bytes, as most are small."""
    values: NDArray[Any] = getattr(found, column)
    return values.astype(np.min_scalar_type(int(values.max(initial=0)))) if column == "gains" else values


def unpack(answers: pa.Table, edges: int) -> Iterator[ShardFindings]:
    """Yield the findings of each shard."""
    for row in answers.to_pylist():
        width = len(row["gains"]) // edges if edges else 1
        fields = {name: row[name] for name in COUNTS}
        for name in COLUMNS:
            fields[name] = np.frombuffer(row[name], f"u{width}" if name == "gains" else np.int32)
        yield ShardFindings(**fields)
