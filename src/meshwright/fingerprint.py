"""Fingerprints of relations: digests of parts at fixed ranges of ids, folded in order.

The parts of a relation follow from its counts alone, so a cluster can digest them in any order and on any
number of machines. A dataset has one file for each part.

- A part of names has `NAMES_IN_A_PART` names.
- A part of subscriptions has those of `nodes_in_a_part` nodes.

Schema 1 of datasets had one digest of the whole relation; `whole_fingerprint` still computes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrow import to_numpy

NAMES_IN_A_PART = 1 << 18
SUBSCRIPTIONS_IN_A_PART = 1 << 20
"""The average number of subscriptions in a part does not exceed this."""
KINDS = ("nodes", "topics", "subscriptions")
"""The tables of a relation, in the order of the fold."""


def nodes_in_a_part(nodes: int, subscriptions: int) -> int:
    """Return how many nodes have their subscriptions in one part: all, or a power of two.

    >>> nodes_in_a_part(1000, 5000), nodes_in_a_part(1 << 20, 10 << 20), nodes_in_a_part(3, 1 << 30)
    (1000, 65536, 1)
    """
    if subscriptions <= SUBSCRIPTIONS_IN_A_PART:
        return max(nodes, 1)
    wanted = nodes * SUBSCRIPTIONS_IN_A_PART // subscriptions
    return int(1 << max(wanted.bit_length() - 1, 0))


def part_sizes(counts: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return the ids in each part and the number of parts, for each kind; every kind has at least one."""
    width = nodes_in_a_part(counts["nodes"], counts["subscriptions"])
    ids = {"nodes": counts["nodes"], "topics": counts["topics"], "subscriptions": counts["nodes"]}
    widths = {"nodes": NAMES_IN_A_PART, "topics": NAMES_IN_A_PART, "subscriptions": width}
    return {kind: (widths[kind], max(-(-ids[kind] // widths[kind]), 1)) for kind in KINDS}


class PartDigest:
    """The digest of a part, from two streams: sizes and contents."""

    def __init__(self) -> None:
        self._sizes, self._contents = hashlib.sha256(), hashlib.sha256()

    def add_names(self, names: pa.Array) -> None:
        """Add the next names, strings in order."""
        offsets, content = name_buffers(names)
        self._sizes.update(np.diff(offsets).astype("<i4").tobytes())
        self._contents.update(content)

    def add_subscriptions(self, sizes: NDArray[Any], topics: NDArray[Any]) -> None:
        """Add how many topics each of the next nodes has, and these topics; either may come in pieces."""
        self._sizes.update(sizes.astype("<i4", copy=False).tobytes())
        self._contents.update(topics.astype("<i4", copy=False).tobytes())

    def digest(self) -> bytes:
        """Return the digest of everything added so far."""
        return hashlib.sha256(self._sizes.digest() + self._contents.digest()).digest()


def name_buffers(names: pa.Array) -> tuple[NDArray[np.int64], memoryview]:
    """Return the offsets and the bytes of an array of strings without nulls, without a copy."""
    kind = np.int64 if pa.types.is_large_string(names.type) else np.int32
    _, offsets, content = names.buffers()
    if offsets is None or not len(names):
        return np.zeros(1, dtype=np.int64), memoryview(b"")
    at = np.frombuffer(offsets, kind)[names.offset : names.offset + len(names) + 1].astype(np.int64)
    text = memoryview(b"" if content is None else content)
    return at - at[0], text[int(at[0]) : int(at[-1])]


def fold_digests(counts: Mapping[str, int], digests: Mapping[str, Iterable[bytes]]) -> str:
    """Return the fingerprint of a relation, from its counts and the digests of its parts in order."""
    whole = hashlib.sha256(b"meshwright interest 2")
    for kind in KINDS:
        whole.update(counts[kind].to_bytes(8, "little"))
    for kind in KINDS:
        for digest in digests[kind]:
            whole.update(digest)
    return whole.hexdigest()


def fingerprint(
    node_names: pa.Array, topic_names: pa.Array, node_ptr: NDArray[Any], node_topics: NDArray[Any]
) -> str:
    """Return the fingerprint of a relation with string names in order."""
    counts = {"nodes": len(node_names), "topics": len(topic_names), "subscriptions": len(node_topics)}
    sizes = part_sizes(counts)
    digests = {
        "nodes": _digest_names(node_names, *sizes["nodes"]),
        "topics": _digest_names(topic_names, *sizes["topics"]),
        "subscriptions": _digest_subscriptions(node_ptr, node_topics, *sizes["subscriptions"]),
    }
    return fold_digests(counts, digests)


def _digest_names(names: pa.Array, width: int, parts: int) -> Iterator[bytes]:
    for part in range(parts):
        made = PartDigest()
        made.add_names(names[part * width : (part + 1) * width])
        yield made.digest()


def _digest_subscriptions(
    node_ptr: NDArray[Any], node_topics: NDArray[Any], width: int, parts: int
) -> Iterator[bytes]:
    for part in range(parts):
        ends = node_ptr[part * width : (part + 1) * width + 1]
        made = PartDigest()
        made.add_subscriptions(np.diff(ends), node_topics[int(ends[0]) : int(ends[-1])])
        yield made.digest()


def whole_fingerprint(
    node_names: pa.Array, topic_names: pa.Array, node_ptr: NDArray[Any], node_topics: NDArray[Any]
) -> str:
    """Return the fingerprint of schema 1: one digest of the names, of `node_ptr`, then of `node_topics`."""
    import pyarrow.compute as pc

    whole = hashlib.sha256(b"meshwright interest 1")
    for names in (node_names, topic_names):
        whole.update(to_numpy(pc.binary_length(names)).astype("<i4").tobytes())
        whole.update(name_buffers(names)[1])
    whole.update(node_ptr.astype("<i8").tobytes())
    whole.update(node_topics.astype("<i4").tobytes())
    return whole.hexdigest()
