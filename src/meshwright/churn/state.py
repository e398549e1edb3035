"""What a live overlay is made of: names, arrays, and the room to grow in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import getsizeof
from typing import TYPE_CHECKING

import numpy as np

from meshwright import measure
from meshwright.churn import growth
from meshwright.churn.events import CRASH, JOIN, LEAVE, UNSUBSCRIBE, Event
from meshwright.churn.kernels import changes
from meshwright.churn.kernels.backups import chunks_needed, mend_backups
from meshwright.churn.kernels.state import LINKS, NODES, SPARE, TOP, count_topics
from meshwright.churn.kernels.tidy import MOVED, tidy
from meshwright.churn.name_table import Names
from meshwright.dynamic.link_lists import list_links, list_neighbours, list_out
from meshwright.interest import Interest
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.churn.kernels.changes import Change, Rule
    from meshwright.churn.repair import Link
    from meshwright.names import Name


class Body:
    """Nodes and topics by name and number, the kernels' state, and calls of the kernels with room made."""

    def __init__(self, overlay: Overlay, rule: Rule, seed: int) -> None:
        self.nodes = Names(overlay.interest.node_names, "node")
        self.topics = Names(overlay.interest.topic_names, "topic")
        self.rule = rule
        self.live = growth.lay_out(overlay, seed)
        self.lay_out_working_memory()
        if rule.coverage:
            self.mend_backups(np.arange(overlay.interest.num_nodes, dtype=np.int32), 0, anew=True)

    def copy(self) -> Body:
        """Return another body, as this one is now."""
        other = Body.__new__(Body)
        other.nodes, other.topics, other.rule = self.nodes.copy(), self.topics.copy(), self.rule
        other.live = self.live._replace(**{name: array.copy() for name, array in self.live._asdict().items()})
        other.lay_out_working_memory()
        return other

    # -- figures ------------------------------------------------------------------------------------

    @property
    def num_links(self) -> int:
        """How many links there are."""
        return int(self.live.tally[LINKS])

    @property
    def max_degree(self) -> int:
        """The largest number of links of a node."""
        return int(self.live.tally[TOP])

    @property
    def average_degree(self) -> float:
        """The mean number of links of a node."""
        nodes = int(self.live.tally[NODES])
        return 2 * int(self.live.tally[LINKS]) / nodes if nodes else 0.0

    @property
    def nbytes(self) -> int:
        """The memory of arrays and of the tables of names."""
        arrays = sum(array.nbytes for array in (*self.live, *self.groups, self.work))
        tables = (self.nodes.of, self.nodes.number, self.topics.of, self.topics.number)
        return arrays + sum(getsizeof(table) for table in tables)

    # -- changes ------------------------------------------------------------------------------------

    def change(self, step: Sequence[Event]) -> Change:
        """Let one event happen, or some leaves at once, and repair what that breaks."""
        first = step[0]
        if first.event in (LEAVE, CRASH):
            gone = [self.nodes.number[event.node] for event in step]
            self.make_room_for_links(gone)
            change = changes.leave(
                self.live, self.groups, np.array(gone, dtype=np.int32), self.rule, self.work
            )
        elif first.event == UNSUBSCRIBE:
            v = self.nodes.number[first.node]
            self.make_room_for_links([v])
            topics = self.numbered(first.topics)
            change = changes.unsubscribe(self.live, self.groups, v, topics, self.rule, self.work)
        else:
            change = self._take_topics(first)
        if change.done < len(change.queue):
            self.mend_backups(change.queue, int(change.done), anew=self.rule.anew)
        return change

    def _take_topics(self, event: Event) -> Change:
        """Let a newcomer, or a node that is there, have topics."""
        fresh = event.event == JOIN
        v = self.nodes.add(event.node) if fresh else self.nodes.number[event.node]
        topics = self.numbered(event.topics)
        live = self.live
        if v >= len(live.degree) or len(self.topics.of) > len(live.column):
            live = self.live = growth.with_topics(growth.with_nodes(live, v + 1), len(self.topics.of))
            if len(live.degree) > len(self.groups.mark):
                self.lay_out_working_memory()
        # A link for each topic, with a chunk at either end, and backups.
        most = (2 + 6 * self.rule.coverage) * (len(topics) + 2)
        if live.tally[SPARE] < most:
            live = self.live = growth.with_chunks(live, most)
        change = changes.join(live, v, topics, fresh, self.rule, self.work)
        if change.done < 0:
            self.live = growth.with_members(live)
            change = changes.join(self.live, v, topics, fresh, self.rule, self.work)
        return change

    def mend_backups(self, queue: Ids, done: int, *, anew: bool) -> None:
        """Mend the backups of those in a queue from a place on, making room where the kernel has none."""
        rule = self.rule
        while done < len(queue):
            needed = int(chunks_needed(self.live, int(queue[done]), rule.coverage))
            self.live = live = growth.with_chunks(self.live, needed)
            doubtful = np.full(live.bits.shape[1], -1, dtype=np.int64).view(np.uint64)
            done = int(
                mend_backups(
                    live, queue, done, doubtful, rule.coverage, rule.coverage, rule.method, rule.window,
                    anew, self.work,
                )
            )  # fmt: skip

    def tidy(
        self, nodes: Iterable[int], steps: int, moves: int, lose: int
    ) -> tuple[list[tuple[Link, bool]], int]:
        """Take redundant links of nodes away and link some anew.

        Returns the links made and lost, in order, and how many were taken away or moved.
        """
        there = [v for v in sorted(set(nodes)) if self.nodes.of[v] is not None]
        self.live = growth.with_links(self.live, lose * steps, len(self.live.degree))
        touched = np.array(there, dtype=np.int32)
        rule = self.rule
        log = tidy(self.live, self.groups, touched, steps, moves, lose, rule.k, rule.slack, self.work)
        pairs = self.links(log.change[:, :2])
        return list(zip(pairs, log.change[:, 2].astype(bool).tolist(), strict=True)), int(log.tally[MOVED])

    # -- room ---------------------------------------------------------------------------------------

    def lay_out_working_memory(self) -> None:
        """Make working memory for as many slots as there are."""
        slots = len(self.live.degree)
        self.groups = growth.lay_out_groups(slots)
        # Room for a list of slots, and behind it for a topic's list, or for neighbours and backups.
        self.work = np.empty(3 * slots + 16, dtype=np.int32)

    def make_room_for_links(self, nodes: Sequence[int]) -> None:
        """Make room for the links that losing these nodes may take: one a link and topic at most."""
        degree = sum(int(self.live.degree[v]) for v in nodes)
        if self.live.tally[SPARE] < 2 * degree * len(self.topics.of):
            most = max((int(count_topics(self.live, v)) for v in nodes), default=0)
            self.live = growth.with_links(self.live, degree * most, len(self.live.degree))

    # -- names --------------------------------------------------------------------------------------

    def numbered(self, topics: Iterable[Name]) -> Ids:
        """Return the numbers of topics, ascending; new ones get theirs."""
        known = self.topics.number
        numbers = [known[topic] if topic in known else self.topics.add(topic) for topic in topics]
        return np.array(sorted(numbers), dtype=np.int32)

    def topic_names(self, numbers: Ids) -> tuple[Name, ...]:
        """Return the names of topics."""
        names = self.topics.of
        return tuple([names[topic] for topic in numbers.tolist()])

    def node_names(self, slots: Ids) -> list[Name]:
        """Return the names of nodes."""
        names = self.nodes.of
        return [names[v] for v in slots.tolist()]

    def links(self, pairs: Ids) -> list[Link]:
        """Return links by the names of their ends."""
        names = self.nodes.of
        return [(names[u], names[v]) for u, v in pairs.tolist()]

    # -- lists --------------------------------------------------------------------------------------

    def neighbours(self, v: int) -> Ids:
        """Return the slots that a slot is linked with."""
        return self.work[: list_neighbours(self.live, v, self.work)].copy()

    def backups(self, v: int) -> Ids:
        """Return the slots of a slot's backups."""
        live = self.live
        return self.work[: list_out(live, live.backup_first, live.backup_count, v, self.work)].copy()

    def primaries(self, v: int) -> Ids:
        """Return the slots that a slot is a backup of."""
        live = self.live
        return self.work[: list_out(live, live.primary_first, live.primary_count, v, self.work)].copy()

    def snapshot(self) -> tuple[Interest, Ids]:
        """Return the interest as it is now, and for each slot the place of its node in it."""
        names, slots = self.nodes.sorted()
        topic_names, numbers = self.topics.sorted()
        rank = np.full(len(self.live.degree), -1, dtype=np.int32)
        rank[slots] = np.arange(len(slots), dtype=np.int32)
        topic_rank = np.full(len(self.live.column), -1, dtype=np.int32)
        topic_rank[numbers] = np.arange(len(numbers), dtype=np.int32)
        flags = np.unpackbits(self.live.bits.view(np.uint8), axis=1, bitorder="little")
        nodes, topics = np.nonzero(flags)
        return Interest.from_ids(names, topic_names, rank[nodes], topic_rank[topics]), rank

    def slot_pairs(self) -> tuple[Ids, Ids]:
        """Return both ends of every link, the smaller slot first."""
        us, vs = np.empty(self.num_links, dtype=np.int32), np.empty(self.num_links, dtype=np.int32)
        list_links(self.live, self.work, us, vs)
        return us, vs

    def overlay(self) -> Overlay:
        """Return the overlay as it is now, in the order of its pairs."""
        interest, rank = self.snapshot()
        us, vs = self.slot_pairs()
        u, v = np.minimum(rank[us], rank[vs]), np.maximum(rank[us], rank[vs])
        order = np.lexsort((v, u))
        u, v = u[order], v[order]
        return Overlay(interest, u, v, measure.contributions(interest, u, v))
