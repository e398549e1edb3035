"""What a dataset is like: how large nodes' interests are, how popular topics, how skewed, how alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.errors import InputError
from meshwright.pipeline.failures import telling
from meshwright.pipeline.verify_source import Subscriptions

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

SAMPLED_NODES = 2000
"""So many nodes, drawn at random, tell how much two nodes have in common."""
HOT_TOPICS = 10
QUANTILES = (0.5, 0.9, 0.99)


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
    names, table = source.names, source.table
    if not source.count:
        raise InputError("the dataset has no subscriptions: there is nothing to profile")
    with telling():
        sizes = _distribution(_counts(table, "node", names.num_nodes))
        subscribers = _counts(table, "topic", names.num_topics)
        related, shared = _alike(table, names.num_nodes, seed)
        hot = [(names.topic_names[topic].as_py(), count) for topic, count in _hottest(subscribers)]
    return Profile(
        names.num_nodes,
        names.num_topics,
        source.count,
        sizes,
        _distribution(subscribers),
        hot,
        related,
        shared,
    )


def _counts(table: DataFrame, column: str, among: int) -> NDArray[np.int64]:
    """Return how many rows each node or topic has: as many figures as there are names here already."""
    found = table.groupBy(column).count().toArrow()
    counts = np.zeros(among, dtype=np.int64)
    counts[found.column(column).to_numpy()] = found.column("count").to_numpy()
    return counts


def _distribution(counts: NDArray[np.int64]) -> Distribution:
    how_many = np.bincount(counts)
    values = np.flatnonzero(how_many)
    return Distribution(values, how_many[values])


def _hottest(counts: NDArray[np.int64]) -> list[tuple[int, int]]:
    hottest = np.argsort(-counts, kind="stable")[:HOT_TOPICS]
    return [(int(topic), int(counts[topic])) for topic in hottest if counts[topic]]


def _alike(table: DataFrame, nodes: int, seed: int) -> tuple[float, float]:
    """Return the share of pairs of sampled nodes that share a topic, and how many topics those share."""
    import pyarrow as pa
    from pyspark.sql import functions as sf
    from scipy.sparse import csr_array, triu

    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = np.sort(rng.choice(nodes, size=min(SAMPLED_NODES, nodes), replace=False)).astype(np.int32)
    wanted = table.sparkSession.createDataFrame(pa.table({"node": pa.array(drawn)}))
    found = table.join(sf.broadcast(wanted), "node").select("node", "topic").toArrow()
    rows = np.searchsorted(drawn, found.column("node").to_numpy())
    _, columns = np.unique(found.column("topic").to_numpy(), return_inverse=True)
    incidence = csr_array(
        (np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=(len(drawn), columns.max(initial=0) + 1)
    )
    common = triu(incidence @ incidence.T, k=1).tocsr()
    pairs = len(drawn) * (len(drawn) - 1) // 2
    return common.nnz / max(pairs, 1), float(common.sum() / max(common.nnz, 1))
