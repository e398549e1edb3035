"""The state of a live overlay: names and their numbers, arrays, and the calls of kernels that change them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from meshwright import measure
from meshwright.arrays import Ids, Offsets
from meshwright.arrow import is_text
from meshwright.churn.events import JOIN, UNSUBSCRIBE, Event
from meshwright.churn.kernels import calls
from meshwright.churn.kernels.backups import chunks_needed, repair_backups
from meshwright.churn.kernels.calls import Answer
from meshwright.churn.kernels.changes import NOT_DONE
from meshwright.churn.kernels.live_arrays import (
    NODES,
    TOP,
    LiveArrays,
    RepairRule,
    count_topics,
    link_all,
    topics_of,
    unlink_all,
)
from meshwright.churn.kernels.tidy import MOVED, Budget, tidy
from meshwright.churn.repair import Link, Links
from meshwright.churn.state_arrays import (
    allocate,
    with_chunks,
    with_links,
    with_members,
    with_nodes,
    with_topics,
)
from meshwright.dynamic.fragments import allocate_groups
from meshwright.dynamic.mutable_overlay import LINKS, copy_list, list_links, list_neighbours
from meshwright.errors import InputError, first_five
from meshwright.greedy import grow, rules
from meshwright.interest import Interest, unchecked_from_ids
from meshwright.jit.announce import working_seconds
from meshwright.jit.primitives import address_table
from meshwright.names import Name, name_array
from meshwright.overlay import Overlay, unchecked_overlay


class NameTable:
    """A number for each name. The number of a name that is removed is the next to be reused."""

    def __init__(self, names: pa.Array, what: str) -> None:
        self.what, self.kind = what, str if is_text(names.type) else int
        self.names: list[Name | None] = names.to_pylist()
        self.numbers: dict[Name, int] = {name: i for i, name in enumerate(self.names) if name is not None}
        self.unused: list[int] = []

    def __len__(self) -> int:
        return len(self.numbers)

    def copy(self) -> NameTable:
        """Return a table with the same names and numbers."""
        other = NameTable.__new__(NameTable)
        other.what, other.kind = self.what, self.kind
        other.names, other.numbers, other.unused = list(self.names), dict(self.numbers), list(self.unused)
        return other

    def add(self, name: Name) -> int:
        """Add a new name, and return its number."""
        if self.unused:
            number = self.unused.pop()
            self.names[number] = name
        else:
            number = len(self.names)
            self.names.append(name)
        self.numbers[name] = number
        return number

    def remove(self, name: Name) -> None:
        """Remove a name."""
        number = self.numbers.pop(name)
        self.names[number] = None
        self.unused.append(number)

    def find_known(self, names: Sequence[Name]) -> Ids | None:
        """Return the numbers of names, or None if one of them is unknown."""
        try:
            return np.fromiter(map(self.numbers.__getitem__, names), np.int32, len(names))
        except KeyError:
            return None

    def find(self, names: Sequence[Name]) -> list[int]:
        """Return the numbers of names.

        Raises
        ------
        InputError
            If a name is unknown.
        """
        try:
            return [self.numbers[name] for name in names]
        except (KeyError, TypeError):
            unknown = [name for name in names if name not in self.numbers]
            raise InputError(
                f"no {self.what} {first_five(unknown)} among the {len(self)} {self.what}s: check the spelling"
            ) from None

    def check_new(self, name: Name) -> None:
        """Reject a name of another type than the others, and a blank one."""
        good = isinstance(name, self.kind) and not isinstance(name, bool)
        if not good and (self.numbers or not isinstance(name, (str, int))):
            kind = "strings" if self.kind is str else "integers"
            raise InputError(f"{self.what} {name!r}: the names of {self.what}s are {kind} here")
        if isinstance(name, str) and not name.strip():
            raise InputError(f"a {self.what} without a name: give it one")

    def sorted(self) -> tuple[pa.Array, list[int]]:
        """Return the names in order, and the number of each."""
        ordered = sorted(self.numbers.items(), key=lambda item: _sort_key(item[0]))
        kind = pa.string() if self.kind is str else pa.int64()
        return name_array([name for name, _ in ordered]).cast(kind), [number for _, number in ordered]


def _sort_key(name: Name) -> tuple[str, int]:
    return (name, 0) if isinstance(name, str) else ("", name)


class Figures(NamedTuple):
    """What a live overlay is like."""

    links: int
    """The number of links."""
    max_degree: int
    """The largest number of links of a node."""
    average_degree: float
    """The mean number of links of a node."""


class LiveState:
    """Nodes and topics by name and number, the arrays of the kernels, and their working memory.

    Kernels never make room. Each method that calls one makes enough room first.
    """

    def __init__(self, overlay: Overlay, rule: RepairRule, seed: int) -> None:
        self.nodes = NameTable(overlay.interest.node_names, "node")
        self.topics = NameTable(overlay.interest.topic_names, "topic")
        self.rule = rule
        self._rule_numbers = np.array(rule, dtype=np.float64)
        self.arrays = allocate(overlay, seed)
        self._allocate_working_memory()
        if rule.coverage:
            everybody = np.arange(overlay.interest.num_nodes, dtype=np.int32)
            self._mend_backups(everybody, 0, rule._replace(rebuild_backups=True))

    def copy(self) -> LiveState:
        """Return an independent copy."""
        other = LiveState.__new__(LiveState)
        other.nodes, other.topics, other.rule = self.nodes.copy(), self.topics.copy(), self.rule
        other._rule_numbers = self._rule_numbers
        arrays = {name: array.copy() for name, array in self.arrays._asdict().items()}
        other.arrays = self.arrays._replace(**arrays)
        other._allocate_working_memory()
        return other

    @property
    def arrays(self) -> LiveArrays:
        """The arrays of the kernels."""
        return self._arrays

    @arrays.setter
    def arrays(self, arrays: LiveArrays) -> None:
        self._arrays = arrays
        self._addresses: Offsets | None = None

    def _table(self) -> Offsets:
        """Return the addresses of all arrays, made again after one of them was replaced."""
        if self._addresses is None:
            self._addresses = address_table((*self._arrays, *self.groups, self.work))
        return self._addresses

    # -- figures ------------------------------------------------------------------------------------

    @property
    def figures(self) -> Figures:
        """The number of links, and the degrees."""
        tally = self._arrays.tally.tolist()
        links, nodes = tally[LINKS], tally[NODES]
        return Figures(links, tally[TOP], 2 * links / nodes if nodes else 0.0)

    @property
    def nbytes(self) -> int:
        """The memory of the arrays and of the tables of names."""
        arrays = sum(array.nbytes for array in (*self.arrays, *self.groups, self.work))
        tables = (self.nodes.names, self.nodes.numbers, self.topics.names, self.topics.numbers)
        return arrays + sum(getsizeof(table) for table in tables)

    # -- changes ------------------------------------------------------------------------------------

    def change(self, step: Sequence[Event], topics: Ids | None = None) -> Answer:
        """Apply one event, or several leaves at once, and repair what that breaks.

        `topics` are the numbers of the topics of the event, if the caller knows them.
        """
        first = step[0]
        if topics is None and first.topics:
            topics = self._number_topics(first.topics)
        if topics is not None and first.event != UNSUBSCRIBE:
            answer = self._add_topics(first, topics)
        else:
            gone = np.array([self.nodes.numbers[event.node] for event in step], dtype=np.int32)
            answer = self._remove(gone, topics)
            if answer.done == calls.NO_ROOM:
                degree = int(self.arrays.degree[gone].sum())
                most = max(int(count_topics(self.arrays, v)) for v in gone.tolist())
                self.arrays = with_links(self.arrays, degree * most, len(self.arrays.degree))
                answer = self._remove(gone, topics)
        if answer.queue:
            self._mend_backups(np.array(answer.queue, dtype=np.int32), answer.done, self.rule)
        return answer

    def _remove(self, slots: Ids, topics: Ids | None) -> Answer:
        """Remove nodes, or only some topics of one node."""
        table, numbers = self._table(), self._rule_numbers
        if topics is not None:
            return calls.read_answer(calls.call_unsubscribe(table, numbers, slots, np.sort(topics)))
        return calls.read_answer(calls.call_leave(table, numbers, slots))

    def _add_topics(self, event: Event, topics: Ids) -> Answer:
        """Apply a join or a subscribe."""
        fresh = event.event == JOIN
        v = self.nodes.add(event.node) if fresh else self.nodes.numbers[event.node]
        answer = self._join(v, topics, fresh)
        if answer.done == calls.NO_ROOM:
            live = with_topics(with_nodes(self.arrays, v + 1), len(self.topics.names))
            # A link for each topic, which takes a chunk at either end, and backups.
            live = with_chunks(live, (2 + 6 * self.rule.coverage) * (len(topics) + 2))
            self.arrays = live
            if len(live.degree) > len(self.groups.mark):
                self._allocate_working_memory()
            answer = self._join(v, topics, fresh)
        if answer.done == NOT_DONE:
            self.arrays = with_members(self.arrays)
            answer = self._join(v, topics, fresh)
        return answer

    def _join(self, v: int, topics: Ids, fresh: bool) -> Answer:
        return calls.read_answer(calls.call_join(self._table(), self._rule_numbers, v, topics, fresh))

    def _mend_backups(self, queue: Ids, done: int, rule: RepairRule) -> None:
        """Repair the backups of the nodes of a queue, from a place on."""
        while done < len(queue):
            needed = int(chunks_needed(self.arrays, int(queue[done]), rule.coverage))
            self.arrays = live = with_chunks(self.arrays, needed)
            every_topic = np.full(live.bits.shape[1], -1, dtype=np.int64).view(np.uint64)
            done = int(repair_backups(live, queue, done, every_topic, rule.coverage, rule, self.work))

    def tidy(self, slots: Iterable[int], budget: Budget) -> tuple[list[tuple[Link, bool]], int]:
        """Remove redundant links of nodes that are still there, and relink some nodes.

        Returns each link added (True) or removed (False), in order, and how many were removed or moved.
        """
        there = [v for v in sorted(set(slots)) if self.nodes.names[v] is not None]
        self.arrays = with_links(self.arrays, budget.lose * budget.steps, len(self.arrays.degree))
        touched = np.array(there, dtype=np.int32)
        log = tidy(self.arrays, self.groups, touched, budget, self.rule, self.work)
        links = self.name_links(log.change[:, :2].ravel().tolist())
        return list(zip(links, log.change[:, 2].astype(bool).tolist(), strict=True)), int(log.tally[MOVED])

    def rebuild(self) -> tuple[Links, Links, float]:
        """Replace the links by those of Low-ODA(ρ) from scratch.

        Returns the links added and removed, and the seconds that Low-ODA took.
        """
        interest, rank = self.snapshot()
        there = np.flatnonzero(rank >= 0)
        slots = np.empty(len(there), dtype=np.int32)
        slots[rank[there]] = there
        began = working_seconds()
        design = grow(interest, rules.low(self.rule.k))
        spent = working_seconds() - began
        old, new = _pair_keys(*self.slot_pairs()), _pair_keys(slots[design.u], slots[design.v])
        lost, made = _pairs_of(np.setdiff1d(old, new)), _pairs_of(np.setdiff1d(new, old))
        unlink_all(self.arrays, lost)
        self.arrays = with_links(self.arrays, len(made), len(there))
        link_all(self.arrays, made[:, 0].copy(), made[:, 1].copy())
        return self.name_links(made.ravel().tolist()), self.name_links(lost.ravel().tolist()), spent

    # -- room ---------------------------------------------------------------------------------------

    def _allocate_working_memory(self) -> None:
        slots = len(self.arrays.degree)
        self.groups = allocate_groups(slots, slots)
        self._addresses = None
        # Room for a list of slots, and behind it for a topic's list, or for neighbours and backups.
        self.work = np.empty(3 * slots + 32, dtype=np.int32)

    # -- names --------------------------------------------------------------------------------------

    def _number_topics(self, topics: Sequence[Name]) -> Ids:
        """Return the numbers of topics; new topics get one."""
        known = self.topics.numbers
        numbers = [known[topic] if topic in known else self.topics.add(topic) for topic in topics]
        return np.array(numbers, dtype=np.int32)

    def name_topics(self, numbers: Iterable[int]) -> tuple[Name, ...]:
        """Return the names of topics."""
        name: Callable[[int], Any] = self.topics.names.__getitem__
        return tuple(map(name, numbers))

    def name_nodes(self, slots: Iterable[int]) -> list[Name]:
        """Return the names of nodes."""
        name: Callable[[int], Any] = self.nodes.names.__getitem__
        return list(map(name, slots))

    def name_links(self, slots: Sequence[int]) -> Links:
        """Return links by the names of their ends, given the slots of both ends one after the other."""
        if not slots:
            return ()
        name: Callable[[int], Any] = self.nodes.names.__getitem__
        ends = map(name, slots)
        return tuple(zip(ends, ends, strict=True))

    # -- contents -----------------------------------------------------------------------------------

    def topics_of(self, v: int) -> tuple[Name, ...]:
        """Return the topics of the node in a slot."""
        return self.name_topics(topics_of(self.arrays, v).tolist())

    def neighbours(self, v: int) -> Ids:
        """Return the slots that a slot is linked with."""
        return self.work[: list_neighbours(self.arrays, v, self.work)].copy()

    def backups(self, v: int) -> Ids:
        """Return the slots of the backups of a slot."""
        live = self.arrays
        return self.work[: copy_list(live, live.backup_first, live.backup_count, v, self.work)].copy()

    def primaries(self, v: int) -> Ids:
        """Return the slots that a slot is a backup of."""
        live = self.arrays
        return self.work[: copy_list(live, live.primary_first, live.primary_count, v, self.work)].copy()

    def node_table(self) -> pa.Table:
        """Return how many topics, links, backups and primaries each node has, in the order of the names."""
        names, slots = self.nodes.sorted()
        live = self.arrays
        topics = [int(count_topics(live, v)) for v in slots]
        counts = {"links": live.degree, "backups": live.backup_count, "primaries": live.primary_count}
        return pa.table(
            {
                "node": names,
                "topics": pa.array(topics, pa.int32()),
                **{name: pa.array(array[slots].tolist(), pa.int32()) for name, array in counts.items()},
            }
        )

    def snapshot(self) -> tuple[Interest, Ids]:
        """Return the interest as it is now, and for each slot the id of its node in it, or −1."""
        names, slots = self.nodes.sorted()
        topic_names, numbers = self.topics.sorted()
        rank = np.full(len(self.arrays.degree), -1, dtype=np.int32)
        rank[slots] = np.arange(len(slots), dtype=np.int32)
        topic_rank = np.full(len(self.arrays.column), -1, dtype=np.int32)
        topic_rank[numbers] = np.arange(len(numbers), dtype=np.int32)
        flags = np.unpackbits(self.arrays.bits.view(np.uint8), axis=1, bitorder="little")
        nodes, topics = np.nonzero(flags)
        return unchecked_from_ids(names, topic_names, rank[nodes], topic_rank[topics]), rank

    def slot_pairs(self) -> tuple[Ids, Ids]:
        """Return both ends of every link, the smaller slot first."""
        us, vs = np.empty((2, self.figures.links), dtype=np.int32)
        list_links(self.arrays, self.work, us, vs)
        return us, vs

    def overlay(self) -> Overlay:
        """Return the overlay as it is now, in the order of its pairs."""
        interest, rank = self.snapshot()
        us, vs = self.slot_pairs()
        u, v = np.minimum(rank[us], rank[vs]), np.maximum(rank[us], rank[vs])
        order = np.lexsort((v, u))
        u, v = u[order], v[order]
        return unchecked_overlay(interest, u, v, measure.contributions(interest, u, v))


def _pair_keys(u: Ids, v: Ids) -> Offsets:
    """Return pairs of slots as integers, the smaller slot in the upper half."""
    return np.minimum(u, v).astype(np.int64) << 32 | np.maximum(u, v)


def _pairs_of(keys: Offsets) -> Ids:
    """Return the pairs of `_pair_keys`, one per row."""
    return np.column_stack((keys >> 32, keys & 0xFFFFFFFF)).astype(np.int32)
