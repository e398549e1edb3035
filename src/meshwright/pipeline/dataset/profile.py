"""Profiles of datasets: sizes of interests, popularity of topics, skew, and overlap of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.errors import FormatError, InputError
from meshwright.pipeline.dataset.subscriptions import Subscriptions
from meshwright.pipeline.session.failures import spark_errors

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from meshwright.arrays import Ids

SAMPLED_NODES = 2000
"""The overlap of nodes is measured on a random sample of this size."""
HOT_TOPICS = 10
QUANTILES = (0.5, 0.9, 0.99)
SEEN = ("sizes", "popularity", "nodes", "topics")


@dataclass(frozen=True, eq=False)
class Distribution:
    """The number of items that have each value, in ascending order of values, including zero."""

    values: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """The number of items."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The average value."""
        return float(self.values @ self.counts / self.total) if self.total else 0.0

    @property
    def ccdf(self) -> NDArray[np.float64]:
        """For each value, the share of items that have at least this value."""
        shares: NDArray[np.float64] = np.cumsum(self.counts[::-1])[::-1] / max(self.total, 1)
        return shares

    def quantile(self, share: float) -> int:
        """Return the smallest value that is not exceeded by this share of items."""
        place = int(np.searchsorted(np.cumsum(self.counts), share * self.total))
        return int(self.values[min(place, len(self.values) - 1)]) if len(self.values) else 0

    @property
    def gini(self) -> float:
        """The Gini coefficient: 0 if all values are equal, near 1 if a few items have nearly everything."""
        below = np.cumsum(self.counts)
        sums = np.cumsum(self.values * self.counts, dtype=np.float64)
        if not self.total or not sums[-1]:
            return 0.0
        lorenz = np.concatenate(([0.0], sums / sums[-1]))
        shares = np.diff(np.concatenate(([0.0], below / self.total)))
        return float(1 - (shares * (lorenz[1:] + lorenz[:-1])).sum())

    def share_of_top(self, share: float) -> float:
        """Return the part of the sum that belongs to the items with the highest values, this share of all."""
        wanted, sums = share * self.total, self.values @ self.counts
        taken = np.minimum(np.cumsum(self.counts[::-1]), wanted)
        parts = np.diff(np.concatenate(([0.0], taken)))
        return float(parts @ self.values[::-1] / sums) if sums else 0.0

    def described(self) -> dict[str, Any]:
        """Return the figures and the curve, for a JSON answer."""
        return {
            "mean": self.mean,
            **{f"p{share * 100:.0f}": self.quantile(share) for share in QUANTILES},
            "max": int(self.values[-1]) if len(self.values) else 0,
            "gini": self.gini,
            "top_1_percent": self.share_of_top(0.01),
            "top_10_percent": self.share_of_top(0.1),
            "values": self.values.tolist(),
            "ccdf": self.ccdf.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Profile:
    """The profile of a dataset."""

    nodes: int
    topics: int
    subscriptions: int
    sizes: Distribution
    """Topics per node."""
    popularity: Distribution
    """Subscribers per topic."""
    hot: list[tuple[str, int]]
    """The most popular topics, with their number of subscribers."""
    related: float
    """The share of all pairs of nodes that have a topic in common."""
    shared: float
    """The average number of topics that such a pair shares, so that one link can serve them all."""

    def described(self) -> dict[str, Any]:
        """Return all fields, for a JSON answer."""
        return {
            "nodes": self.nodes,
            "topics": self.topics,
            "subscriptions": self.subscriptions,
            "related_pairs": self.related,
            "shared_topics": self.shared,
            "hot_topics": [{"topic": topic, "subscribers": count} for topic, count in self.hot],
            "sizes": self.sizes.described(),
            "popularity": self.popularity.described(),
        }


def profile(source: Subscriptions, *, seed: int = 0) -> Profile:
    """Profile a dataset in one pass on Spark; the overlap comes from a random sample of nodes."""
    names = source.names
    if not source.count:
        raise InputError("the dataset has no subscriptions: profile one that has some")
    rng = np.random.Generator(np.random.PCG64(seed))
    sampled = min(SAMPLED_NODES, names.num_nodes)
    drawn = np.sort(rng.choice(names.num_nodes, size=sampled, replace=False)).astype(np.int32)
    with spark_errors():
        seen = _count_on_executors(source, drawn)
    source.check(int(seen.sizes.sum()))
    hot = [(names.topic_names[topic].as_py(), count) for topic, count in _hottest(seen.popularity)]
    related, shared = _overlap(sampled, np.searchsorted(drawn, seen.nodes), seen.topics)
    return Profile(
        names.num_nodes,
        names.num_topics,
        source.count,
        _distribution(seen.sizes),
        _distribution(seen.popularity),
        hot,
        related,
        shared,
    )


@dataclass(frozen=True, eq=False)
class _Counts:
    """Topics per node, subscribers per topic, and the subscriptions of the sampled nodes."""

    sizes: NDArray[np.int64]
    popularity: NDArray[np.int64]
    nodes: Ids
    topics: Ids


def _count_on_executors(source: Subscriptions, drawn: Ids) -> _Counts:
    """Count all subscriptions on the executors; each task returns one count per node and topic."""
    names = source.names
    count = partial(_count_batches, names.num_nodes, names.num_topics, drawn)
    parts = source.packed(1).mapInArrow(count, ", ".join(f"{name} binary" for name in SEEN)).toArrow()
    columns = {name: [part.as_buffer() for part in parts.column(name)] for name in SEEN}
    counted = (np.sum([np.frombuffer(part, "<i8") for part in columns[name]], axis=0) for name in SEEN[:2])
    picked = (np.concatenate([np.frombuffer(part, "<i4") for part in columns[name]]) for name in SEEN[2:])
    return _Counts(*counted, *picked)


def _count_batches(
    nodes: int, topics: int, drawn: Ids, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Count nodes and topics in packed subscriptions, and collect those of the sampled nodes."""
    import pyarrow as pa

    is_drawn = np.zeros(nodes, dtype=bool)
    is_drawn[drawn] = True
    sizes, popularity = np.zeros(nodes, dtype="<i8"), np.zeros(topics, dtype="<i8")
    picked: list[tuple[Ids, Ids]] = [(drawn[:0], drawn[:0])]
    for batch in batches:
        for packed in zip(batch.column("nodes"), batch.column("topics"), strict=True):
            node, topic = (np.frombuffer(ids.as_buffer(), "<i4") for ids in packed)
            for ids, known in ((node, nodes), (topic, topics)):
                if ids.min(initial=0) < 0 or ids.max(initial=-1) >= known:
                    raise FormatError(
                        "the dataset is damaged: some subscriptions have unknown ids; make it again"
                    )
            sizes += np.bincount(node, minlength=nodes)
            popularity += np.bincount(topic, minlength=topics)
            chosen = is_drawn[node]
            picked.append((node[chosen], topic[chosen]))
    columns = (sizes, popularity, *map(np.concatenate, zip(*picked, strict=True)))
    yield pa.record_batch([pa.array([column.tobytes()], pa.binary()) for column in columns], [*SEEN])


def _distribution(counts: NDArray[np.int64]) -> Distribution:
    how_many = np.bincount(counts)
    values = np.flatnonzero(how_many)
    return Distribution(values, how_many[values])


def _hottest(counts: NDArray[np.int64]) -> list[tuple[int, int]]:
    hottest = np.argsort(-counts, kind="stable")[:HOT_TOPICS]
    return [(int(topic), int(counts[topic])) for topic in hottest if counts[topic]]


def _overlap(nodes: int, rows: NDArray[np.int64], topics: Ids) -> tuple[float, float]:
    """Return the share of pairs of nodes that share a topic, and how many topics such pairs share."""
    from scipy.sparse import csr_array, triu

    _, columns = np.unique(topics, return_inverse=True)
    shape = (nodes, columns.max(initial=0) + 1)
    incidence = csr_array((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)
    common = triu(incidence @ incidence.T, k=1).tocsr()
    pairs = nodes * (nodes - 1) // 2
    return common.nnz / max(pairs, 1), float(common.sum() / max(common.nnz, 1))
