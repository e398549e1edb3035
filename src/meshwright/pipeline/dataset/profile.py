"""Profiles of datasets: sizes of interests, popularity of topics, skew, and overlap of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrays import Ids
from meshwright.errors import FormatError, InputError
from meshwright.formatting import counted, percentage
from meshwright.interest import Interest
from meshwright.pipeline.dataflow import Batches, cell_array, each_row, make_batch
from meshwright.pipeline.dataset.subscriptions import Subscriptions, from_interest, group_arrays
from meshwright.pipeline.session.jobs import spark_errors

SAMPLED_NODES = 2000
"""The overlap of nodes is measured on a random sample of this size."""
HOT_TOPICS = 10
QUANTILES = (0.5, 0.9, 0.99)
KINDS = ("nodes", "topics")
IDS_IN_A_SLOT = 1 << 20
"""One task adds up the counts of this many nodes or topics."""
SLOTS_IN_MEMORY = 16
"""A task counts this many ranges of ids at a time, 4 MB each."""
COUNTED = "part int, slot int, numbers binary"
SUMMED = "what string, numbers binary"


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

    def __repr__(self) -> str:
        counts = (self.nodes, "node"), (self.topics, "topic"), (self.subscriptions, "subscription")
        return f"Profile({', '.join(counted(count, noun) for count, noun in counts)})"

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_bars, html_table

        rows = [
            ("nodes", f"{self.nodes:,}"),
            ("topics", f"{self.topics:,}"),
            ("subscriptions", f"{self.subscriptions:,}"),
            ("topics per node", f"{self.sizes.mean:.1f} on average"),
            ("subscribers per topic", f"{self.popularity.mean:.1f} on average"),
            ("pairs of nodes with a topic in common", percentage(self.related)),
            *((f"subscribers of {topic}", f"{count:,}") for topic, count in self.hot[:5]),
        ]
        values = self.sizes.values
        span = f"{values.min()} to {values.max()}" if len(values) else "0"
        return html_table(rows) + html_bars(self.sizes.counts.tolist(), label=f"nodes with {span} topics")

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


def profile(source: Subscriptions | Any, *, seed: int = 0) -> Profile:
    """Profile a dataset, or whatever `Interest.of` takes; the overlap comes from a random sample of nodes.

    It takes one pass. The counts of nodes and topics stay where they are made: only how many have each value
    is collected.

    >>> profile({"a": {"x", "y"}, "b": {"x"}})
    Profile(2 nodes, 2 topics, 3 subscriptions)

    Raises
    ------
    InputError
        If there are no subscriptions.
    FormatError
        If the dataset is damaged.
    """
    given = source if isinstance(source, Subscriptions) else from_interest(None, Interest.of(source))
    if not given.count:
        raise InputError("the dataset has no subscriptions: profile one that has some")
    rng = np.random.Generator(np.random.PCG64(seed))
    nodes, topics = given.counts["nodes"], given.counts["topics"]
    sampled = min(SAMPLED_NODES, nodes)
    drawn = np.sort(rng.choice(nodes, size=sampled, replace=False)).astype(np.int32)
    with spark_errors():
        seen = _count(given, drawn)
    sizes, popularity = (_distribution(seen.histograms[kind], given.counts[kind]) for kind in KINDS)
    given.check(int(sizes.values @ sizes.counts))
    hottest = sorted(seen.hot, key=lambda each: (-each[1], each[0]))[:HOT_TOPICS]
    names = given.name_topics([topic for topic, _ in hottest])
    hot = [(name, count) for name, (_, count) in zip(names, hottest, strict=True)]
    related, shared = _overlap(sampled, np.searchsorted(drawn, seen.nodes), seen.topics)
    return Profile(nodes, topics, given.count, sizes, popularity, hot, related, shared)


@dataclass(frozen=True, eq=False)
class _Counts:
    """How many nodes and topics have each count, the hottest topics, and the pairs of the sampled nodes."""

    histograms: dict[str, Counter[int]]
    hot: list[tuple[int, int]]
    nodes: Ids
    topics: Ids


def _count(given: Subscriptions, drawn: Ids) -> _Counts:
    """Count all subscriptions by ranges of ids."""
    limits = given.counts["nodes"], given.counts["topics"]
    slots = max(-(-limits[0] // IDS_IN_A_SLOT), 1), max(-(-limits[1] // IDS_IN_A_SLOT), 1)
    counted = given.groups().map(partial(count_groups, limits, slots, drawn), COUNTED)
    summed = counted.exchange(max(slots), "part").map(partial(sum_counts, slots), SUMMED)
    histograms: dict[str, Counter[int]] = {kind: Counter() for kind in KINDS}
    hot: list[tuple[int, int]] = []
    picked = [np.zeros((2, 0), dtype=np.int32)]
    for row in summed.collect():
        numbers = np.frombuffer(row.numbers, "<i8").reshape(2, -1)
        if row.what == "picked":
            picked.append(numbers.astype(np.int32))
        elif row.what == "hot":
            hot += zip(*numbers.tolist(), strict=True)
        else:
            histograms[row.what].update(dict(zip(*numbers.tolist(), strict=True)))
    nodes, topics = np.concatenate(picked, axis=1)
    return _Counts(histograms, hot, nodes, topics)


def count_groups(
    limits: tuple[int, int], slots: tuple[int, int], drawn: Ids, batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Count nodes and topics by ranges of ids, and collect the pairs of the sampled nodes.

    The slots of nodes come first, then those of topics, then one for the pairs.
    """
    parts = max(slots)
    sums: dict[int, Ids] = {}
    for columns in group_arrays(batches):
        for ids, limit, first in zip(columns, limits, (0, slots[0]), strict=True):
            if ids.min(initial=0) < 0 or ids.max(initial=-1) >= limit:
                raise FormatError(
                    "the dataset is damaged: some subscriptions have unknown ids; make it again"
                )
            for slot, inside in _split_by_slot(ids):
                if first + slot not in sums and len(sums) == SLOTS_IN_MEMORY:
                    yield from _sent(sums, parts)
                    sums.clear()
                counts = np.bincount(inside)
                total = sums.setdefault(first + slot, np.zeros(IDS_IN_A_SLOT, dtype=np.int32))
                total[: len(counts)] += counts.astype(np.int32)
        place = np.searchsorted(drawn, columns[0])
        is_drawn = drawn[np.minimum(place, len(drawn) - 1)] == columns[0]
        if is_drawn.any():
            pairs = np.stack([column[is_drawn] for column in columns]).astype("<i4")
            yield make_batch(COUNTED, part=[sum(slots) % parts], slot=[sum(slots)], numbers=[pairs])
    yield from _sent(sums, parts)


def _split_by_slot(ids: Ids) -> Iterator[tuple[int, Ids]]:
    """Yield each range that has some of the ids, and their positions in it."""
    if not len(ids):
        return
    low, high = int(ids.min()) // IDS_IN_A_SLOT, int(ids.max()) // IDS_IN_A_SLOT
    for slot in range(low, high + 1):
        inside = ids if low == high else ids[ids // IDS_IN_A_SLOT == slot]
        if len(inside):
            yield slot, inside - slot * IDS_IN_A_SLOT


def _sent(sums: dict[int, Ids], parts: int) -> Iterator[pa.RecordBatch]:
    """Yield the counts of each range, without zeros."""
    for slot, total in sums.items():
        found = np.flatnonzero(total)
        numbers = np.stack((found, total[found])).astype("<i4")
        yield make_batch(COUNTED, part=[slot % parts], slot=[slot], numbers=[numbers])


def sum_counts(slots: tuple[int, int], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Add up the counts of each range of ids; yield how many have each count, and the hottest topics."""
    sums: dict[int, NDArray[np.int64]] = {}
    for row in each_row(batches):
        slot, numbers = row["slot"].as_py(), cell_array(row["numbers"], "<i4").reshape(2, -1)
        if slot == sum(slots):
            yield make_batch(SUMMED, what=["picked"], numbers=[numbers.astype("<i8")])
            continue
        total = sums.setdefault(slot, np.zeros(IDS_IN_A_SLOT, dtype=np.int64))
        total[numbers[0]] += numbers[1]  # the ids of one cell are distinct
    for slot, total in sums.items():
        values, counts = np.unique(total[total > 0], return_counts=True)
        kind = KINDS[int(slot >= slots[0])]
        yield make_batch(SUMMED, what=[kind], numbers=[np.stack((values, counts)).astype("<i8")])
        if slot >= slots[0]:
            hottest = np.argsort(-total, kind="stable")[:HOT_TOPICS]
            hottest = hottest[total[hottest] > 0]
            ids = hottest + (slot - slots[0]) * IDS_IN_A_SLOT
            yield make_batch(SUMMED, what=["hot"], numbers=[np.stack((ids, total[hottest])).astype("<i8")])


def _distribution(histogram: Counter[int], items: int) -> Distribution:
    """Return a distribution; items without any count have the value 0."""
    idle = items - sum(histogram.values())
    found = dict(histogram) | ({0: idle} if idle else {})
    values = np.array(sorted(found), dtype=np.int64)
    return Distribution(values, np.array([found[value] for value in values.tolist()], dtype=np.int64))


def _overlap(nodes: int, rows: NDArray[np.int64], topics: Ids) -> tuple[float, float]:
    """Return the share of pairs of nodes that share a topic, and how many topics such pairs share."""
    from scipy.sparse import csr_array, triu

    _, columns = np.unique(topics, return_inverse=True)
    shape = (nodes, columns.max(initial=0) + 1)
    incidence = csr_array((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)
    common = triu(incidence @ incidence.T, k=1).tocsr()
    pairs = nodes * (nodes - 1) // 2
    return common.nnz / max(pairs, 1), float(common.sum() / max(common.nnz, 1))
