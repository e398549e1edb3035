"""What a dataset is like: how large nodes' interests are, how popular topics, how skewed, how alike."""

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
"""So many nodes, drawn at random, tell how much two nodes have in common."""
HOT_TOPICS = 10
QUANTILES = (0.5, 0.9, 0.99)
SEEN = ("sizes", "popularity", "nodes", "topics")


@dataclass(frozen=True, eq=False)
class Distribution:
    """How many there are of each value, values ascending; zeros included."""

    values: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """How many there are in all."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Their average value."""
        return float(self.values @ self.counts / self.total) if self.total else 0.0

    @property
    def ccdf(self) -> NDArray[np.float64]:
        """For each value, the share that has at least that much."""
        shares: NDArray[np.float64] = np.cumsum(self.counts[::-1])[::-1] / max(self.total, 1)
        return shares

    def quantile(self, share: float) -> int:
        """Return the least value that this share does not exceed."""
        place = int(np.searchsorted(np.cumsum(self.counts), share * self.total))
        return int(self.values[min(place, len(self.values) - 1)]) if len(self.values) else 0

    @property
    def gini(self) -> float:
        """How unequal they are: 0 if all have the same, near 1 if few have it all."""
        below = np.cumsum(self.counts)
        sums = np.cumsum(self.values * self.counts, dtype=np.float64)
        if not self.total or not sums[-1]:
            return 0.0
        lorenz = np.concatenate(([0.0], sums / sums[-1]))
        shares = np.diff(np.concatenate(([0.0], below / self.total)))
        return float(1 - (shares * (lorenz[1:] + lorenz[:-1])).sum())

    def share_of_top(self, share: float) -> float:
        """Return which part of the sum the highest such share of them has."""
        wanted, sums = share * self.total, self.values @ self.counts
        taken = np.minimum(np.cumsum(self.counts[::-1]), wanted)
        parts = np.diff(np.concatenate(([0.0], taken)))
        return float(parts @ self.values[::-1] / sums) if sums else 0.0

    def described(self) -> dict[str, Any]:
        """Return figures and curve, for a JSON answer."""
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
    """What a dataset is like."""

    nodes: int
    topics: int
    subscriptions: int
    sizes: Distribution
    """Topics of a node."""
    popularity: Distribution
    """Subscribers of a topic."""
    hot: list[tuple[str, int]]
    """The most popular topics, with their subscribers."""
    related: float
    """Which share of all pairs of nodes has a topic in common."""
    shared: float
    """How many topics such a pair has in common: what a link between them can join at once."""

    def described(self) -> dict[str, Any]:
        """Return all of it, for a JSON answer."""
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
    """Look at all subscriptions once, on Spark; what pairs have in common is told from a sample of nodes."""
    names = source.names
    if not source.count:
        raise InputError("the dataset has no subscriptions: there is nothing to profile")
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
    """Topics of each node, subscribers of each topic, and the subscriptions of some nodes."""

    sizes: NDArray[np.int64]
    popularity: NDArray[np.int64]
    nodes: Ids
    topics: Ids


def _count_on_executors(source: Subscriptions, drawn: Ids) -> _Counts:
    """Look at all subscriptions, on the executors; a task hands back as many figures as there are names."""
    names = source.names
    looking = partial(_count_batches, names.num_nodes, names.num_topics, drawn)
    parts = source.packed(1).mapInArrow(looking, ", ".join(f"{name} binary" for name in SEEN)).toArrow()
    columns = {name: [part.as_buffer() for part in parts.column(name)] for name in SEEN}
    counted = (np.sum([np.frombuffer(part, "<i8") for part in columns[name]], axis=0) for name in SEEN[:2])
    listed = (np.concatenate([np.frombuffer(part, "<i4") for part in columns[name]]) for name in SEEN[2:])
    return _Counts(*counted, *listed)


def _count_batches(nodes: int, topics: int, drawn: Ids, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count nodes and topics in packed subscriptions, and pick out those of the drawn nodes."""
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
                    raise FormatError("the dataset is damaged: some subscriptions are of unknown names")
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
    """Return the share of pairs of these nodes that share a topic, and how many topics those share."""
    from scipy.sparse import csr_array, triu

    _, columns = np.unique(topics, return_inverse=True)
    shape = (nodes, columns.max(initial=0) + 1)
    incidence = csr_array((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)
    common = triu(incidence @ incidence.T, k=1).tocsr()
    pairs = nodes * (nodes - 1) // 2
    return common.nnz / max(pairs, 1), float(common.sum() / max(common.nnz, 1))
