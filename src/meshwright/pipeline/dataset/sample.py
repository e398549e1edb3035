"""Samples of large datasets: breadth-first search from a few seeds (icdcs16).

A sample keeps all relations among its nodes. The frontier is on the driver and the relations stay on the
executors: each level is a semi-join with a small table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meshwright.errors import InputError, first_five
from meshwright.interest import Interest
from meshwright.pipeline.dataset.subscriptions import Subscriptions
from meshwright.pipeline.session.failures import spark_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

RANDOM_SEEDS = 3


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample, the seeds of the search, its number of levels, and how it chose neighbours."""

    interest: Interest
    seeds: list[str]
    levels: int
    by: str


def sample(
    source: Subscriptions,
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
        The dataset, as `subscriptions` opens it.
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
    people = People(source.names)
    chosen = by or ("follow" if people.shared * 2 >= source.names.num_topics else "topics")
    with spark_errors():
        table = source.table.persist()
        try:
            source.check(table.count())
            search = Search(table, people, chosen, nodes, seed)
            search.run(people.numbers_of(start, len(search.taken)))
            interest = search.to_interest()
        finally:
            table.unpersist()
    return Sample(interest, [people.names[number].as_py() for number in search.seeds], search.levels, chosen)


class People:
    """Names of nodes and topics in one numbering: a name may belong to a node, a topic or both."""

    def __init__(self, names: Interest) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.interest = names
        only_topics = names.topic_names.filter(pc.invert(pc.is_in(names.topic_names, names.node_names)))
        self.shared = names.num_topics - len(only_topics)
        self.names = pa.concat_arrays([names.node_names, only_topics])
        self.of_topic: NDArray[np.int64] = (
            pc.index_in(names.topic_names, self.names).to_numpy().astype(np.int64)
        )
        self.topic_of: NDArray[np.int64] = np.full(len(self.names), -1, dtype=np.int64)
        self.topic_of[self.of_topic] = np.arange(names.num_topics)

    def numbers_of(self, start: Sequence[str], eligible: int) -> NDArray[np.int64]:
        """Return the numbers of names, which must be below `eligible`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = pc.index_in(pa.array(start, pa.string()), self.names[:eligible])
        unknown = [name for name, number in zip(start, numbers.to_pylist(), strict=True) if number is None]
        if unknown:
            raise InputError(f"no node is named {first_five(unknown)}: give other names with --from")
        found: NDArray[np.int64] = numbers.to_numpy().astype(np.int64)
        return found


class Search:
    """A breadth-first search that stops at the wanted number of nodes."""

    def __init__(self, table: DataFrame, people: People, by: str, wanted: int, seed: int) -> None:
        self.table, self.people, self.by, self.wanted = table, people, by, wanted
        self.rng = np.random.Generator(np.random.PCG64(seed))
        # With `follow`, names that are only topics can be taken too: users who follow nobody.
        eligible = len(people.names) if by == "follow" else people.interest.num_nodes
        self.taken = np.zeros(eligible, dtype=bool)
        self.asked = np.zeros(people.interest.num_topics, dtype=bool)
        self.seeds: list[int] = []
        self.levels = 0

    def run(self, start: NDArray[np.int64]) -> None:
        """Search until enough nodes are found."""
        frontier = self._take(start)
        self.seeds = frontier.tolist()
        while self.taken.sum() < min(self.wanted, len(self.taken)):
            if not len(frontier):
                if len(start):
                    # The given seeds reach no more nodes.
                    return
                free = np.flatnonzero(~self.taken)
                drawn = self.rng.choice(free, size=min(RANDOM_SEEDS, len(free)), replace=False)
                frontier = self._take(drawn)
                self.seeds += frontier.tolist()
                continue
            self.levels += 1
            frontier = self._take(self._neighbours(frontier))

    def _take(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take the new nodes or, if they are too many, a random choice of them."""
        new = np.unique(found)
        new = new[~self.taken[new]]
        room = self.wanted - int(self.taken.sum())
        if len(new) > room:
            new = np.sort(self.rng.choice(new, size=room, replace=False))
        self.taken[new] = True
        return new

    def _neighbours(self, frontier: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the neighbours of the frontier; some of them may be taken already."""
        nodes = frontier[frontier < self.people.interest.num_nodes]
        topics = self._reached(self.table, "node", nodes, "topic")
        if self.by == "topics":
            fresh = topics[~self.asked[topics]]
            self.asked[fresh] = True
            return self._reached(self.table, "topic", fresh, "node")
        own = self.people.topic_of[frontier]
        followers = self._reached(self.table, "topic", own[own >= 0], "node")
        return np.concatenate((self.people.of_topic[topics], followers))

    @staticmethod
    def _reached(table: DataFrame, column: str, ids: NDArray[np.int64], other: str) -> NDArray[np.int64]:
        """Return the distinct values of the other column in rows with these ids."""
        found: NDArray[np.int64] = (
            _rows_with(table, column, ids).select(other).distinct().toArrow().column(0).to_numpy()
        )
        return found.astype(np.int64)

    def to_interest(self) -> Interest:
        """Return the interest of the nodes taken."""
        names = self.people.interest
        nodes = np.flatnonzero(self.taken[: names.num_nodes])
        rows = _rows_with(self.table, "node", nodes)
        if self.by == "follow":
            rows = _rows_with(rows, "topic", np.flatnonzero(self.taken[self.people.of_topic]))
        found = rows.select("node", "topic").toArrow()
        return Interest.from_pairs(
            names.node_names.take(found.column("node").combine_chunks()),
            names.topic_names.take(found.column("topic").combine_chunks()),
            all_nodes=names.node_names.take(nodes),
        )


def _rows_with(table: DataFrame, column: str, ids: NDArray[np.int64]) -> DataFrame:
    """Return the rows whose column has one of these ids."""
    import pyarrow as pa
    from pyspark.sql import functions as sf

    # The schema is explicit because there may be no ids.
    column_ids = pa.table({column: pa.array(ids.astype(np.int32))})
    wanted = table.sparkSession.createDataFrame(column_ids, f"{column} int")
    return table.join(sf.broadcast(wanted), column, "left_semi")
