"""Samples of large datasets: breadth-first search from a few seeds (icdcs16).

A sample keeps all relations among its nodes. The frontier and the sample are on the driver; relations and
names stay where they are. Each level asks all groups of subscriptions for the neighbours of the frontier.
If a level has more neighbours than the sample has room for, those with the smallest keyed hashes are taken,
so no group returns more than there is room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.arrays import Ids
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.pipeline.dataflow import Batches, Flow, make_batch
from meshwright.pipeline.dataset.joint_names import ClusterNames, JointNames, LocalNames
from meshwright.pipeline.dataset.subscriptions import Subscriptions, from_interest, group_arrays
from meshwright.pipeline.session.jobs import spark_errors

RANDOM_SEEDS = 3
IDS = "ids binary"
PAIRS = "pairs binary, rows long"
ALL = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample, the seeds of the search, its number of levels, and how it chose neighbours."""

    interest: Interest
    seeds: list[str]
    levels: int
    by: str
    silent: int = 0
    """How many nodes that were found have no subscription in the dataset: they are topics only."""


def sample(
    source: Subscriptions | Interest,
    nodes: int,
    *,
    start: Sequence[str] = (),
    by: str | None = None,
    seed: int = 0,
) -> Sample:
    """Return the nodes that a breadth-first search finds first.

    Parameters
    ----------
    source
        The dataset, as `subscriptions` opens it, or an interest.
    nodes
        The size of the sample; the result is smaller if the given seeds reach fewer nodes.
    start
        Names of the seeds. By default, the seeds are random, and more are drawn if they reach too few nodes.
    by
        `follow`: topics are nodes too, as in a social network, and the sample keeps the relations among its
        nodes. `topics`: nodes that share a topic are neighbours, and each node keeps all its topics. The
        default is `follow` if most topics have the name of a node.
    seed
        The seed of the random choices: the first nodes, and the nodes taken from the last level.
    """
    if nodes < 1:
        raise InputError(f"a sample of {nodes} nodes is empty: ask for at least one")
    if by not in (None, "follow", "topics"):
        raise InputError(f"--by {by!r}: choose follow or topics")
    given = from_interest(None, source.canonical()) if isinstance(source, Interest) else source
    with spark_errors(), ExitStack() as kept:
        names: JointNames
        if given.spark is None or given.folder is None:
            names = LocalNames(given.names)
        else:
            names = ClusterNames(given.spark, given, match=by != "topics")
            kept.callback(names.release)
        chosen = by or ("follow" if names.shared * 2 >= names.topics else "topics")
        groups = given.groups().keep()
        kept.callback(groups.release)
        search = Search(groups, names, chosen, nodes, seed)
        search.run(names.numbers_of(start, search.eligible))
        interest, seeds = search.to_interest(given), names.names_of(search.seeds)
        return Sample(interest, seeds, search.levels, chosen, len(search.taken) - interest.num_nodes)


class Search:
    """A breadth-first search that stops at the wanted number of nodes."""

    def __init__(self, groups: Flow, names: JointNames, by: str, wanted: int, seed: int) -> None:
        self.groups, self.names, self.by, self.wanted, self.seed = groups, names, by, wanted, seed
        self.rng = np.random.Generator(np.random.PCG64(seed))
        # With `follow`, names that are only topics can be taken too: users who follow nobody.
        self.eligible = names.count if by == "follow" else names.nodes
        self.taken: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.asked: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.seeds: list[int] = []
        self.levels = 0

    @property
    def room(self) -> int:
        """How many nodes can still be taken."""
        return self.wanted - len(self.taken)

    def run(self, start: NDArray[np.int64]) -> None:
        """Search until enough nodes are found."""
        frontier = self._take(start)
        self.seeds = frontier.tolist()
        while len(self.taken) < min(self.wanted, self.eligible):
            if not len(frontier):
                if len(start):
                    # The given seeds reach no more nodes.
                    return
                free = self.eligible - len(self.taken)
                drawn = self.rng.choice(free, size=min(RANDOM_SEEDS, free), replace=False)
                frontier = self._take(free_numbers(drawn, self.taken))
                self.seeds += frontier.tolist()
                continue
            self.levels += 1
            frontier = self._take(self._neighbours(frontier))

    def _take(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take the new nodes or, if they are too many, those with the smallest hashes."""
        new = np.unique(found)
        new = smallest(new[~_is_in(new, self.taken)], self.room, self.seed)
        self.taken = np.sort(np.concatenate((self.taken, new)))
        return new

    def _neighbours(self, frontier: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the neighbours of the frontier; some of them may be taken already."""
        nodes = frontier[frontier < self.names.nodes]
        topics = self._reached(0, nodes, ALL)
        # Nodes that are taken already may fill a group's share of the room.
        most = self.room + len(self.taken)
        if self.by == "topics":
            fresh = topics[~_is_in(topics, self.asked)]
            self.asked = np.sort(np.concatenate((self.asked, fresh)))
            return self._reached(1, fresh, most)
        followers = self._reached(1, self.names.topics_of(frontier), most)
        return np.concatenate((self.names.numbers_of_topics(topics), followers))

    def _reached(self, column: int, ids: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Return the distinct values of the other column in pairs with these ids, up to a limit per group."""
        wanted = np.unique(ids).astype(np.int32)
        if not len(wanted):
            return np.zeros(0, dtype=np.int64)
        rows = self.groups.map(partial(find_reached, column, wanted, most, self.seed), IDS).collect()
        found = [np.frombuffer(row.ids, "<i4") for row in rows]
        return np.unique(np.concatenate([np.zeros(0, "<i4"), *found])).astype(np.int64)

    def to_interest(self, given: Subscriptions) -> Interest:
        """Return the interest of the nodes taken."""
        nodes = self.taken[self.taken < self.names.nodes].astype(np.int32)
        topics = None
        if self.by == "follow":
            topics = self.names.topics_of(self.taken).astype(np.int32)
        rows = self.groups.map(partial(find_pairs, nodes, topics), PAIRS).collect()
        given.check(sum(row.rows for row in rows))
        pairs = np.concatenate(
            [np.zeros((2, 0), "<i4"), *(np.frombuffer(row.pairs, "<i4").reshape(2, -1) for row in rows)],
            axis=1,
        )
        node_names = self.names.node_names(nodes.astype(np.int64))
        used = np.unique(pairs[1])
        topic_names = self.names.topic_names(used.astype(np.int64))
        return Interest.from_pairs(
            node_names.take(pa.array(np.searchsorted(nodes, pairs[0]))),
            topic_names.take(pa.array(np.searchsorted(used, pairs[1]))),
            all_nodes=node_names,
        )


def free_numbers(places: NDArray[np.int64], taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers at some places among those that are not taken; `taken` is ascending.

    >>> free_numbers(np.array([0, 2, 3]), np.array([1, 2, 5])).tolist()
    [0, 4, 6]
    """
    # Before the i-th taken number there are taken[i] - i free ones.
    before = np.searchsorted(taken - np.arange(len(taken)), places, side="right")
    found: NDArray[np.int64] = places + before
    return found


def smallest(ids: NDArray[Any], most: int, seed: int) -> NDArray[Any]:
    """Return the ids with the smallest keyed hashes, ascending; all if they are not too many.

    >>> smallest(np.arange(100), 3, 0).tolist() == sorted(smallest(np.arange(100), 3, 0).tolist())
    True
    """
    if len(ids) <= most:
        return ids
    # The finaliser of SplitMix64 is a bijection: no two ids have the same hash.
    mixed = ids.astype(np.uint64) + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.sort(ids[np.argpartition(mixed, most)[:most]]) if most else ids[:0]


def _is_in(values: NDArray[Any], sorted_ids: NDArray[Any]) -> NDArray[np.bool_]:
    if not len(sorted_ids):
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(sorted_ids, values), len(sorted_ids) - 1)
    found: NDArray[np.bool_] = sorted_ids[place] == values
    return found


def find_reached(
    column: int, wanted: Ids, most: int, seed: int, batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Find the values of the other column next to the wanted ones, on an executor."""
    found: NDArray[Any] = np.zeros(0, dtype=np.int32)
    for pair in group_arrays(batches):
        new = pair[1 - column][_is_in(pair[column], wanted)]
        found = smallest(np.unique(np.concatenate((found, new))), most, seed)
    yield make_batch(IDS, ids=[found.astype("<i4")])


def find_pairs(nodes: Ids, topics: Ids | None, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Find the pairs of the wanted nodes and topics (None: all), on an executor; count all pairs."""
    for node, topic in group_arrays(batches):
        chosen = _is_in(node, nodes)
        if topics is not None:
            chosen &= _is_in(topic, topics)
        yield make_batch(
            PAIRS, pairs=[np.stack((node[chosen], topic[chosen])).astype("<i4")], rows=[len(node)]
        )
