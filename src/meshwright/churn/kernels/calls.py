"""The way in from Python to changes: few arguments, one array as the answer, and a check of room.

A change takes some ten microseconds. Handing thirty arrays to a kernel, and some back, would take as long
again. So the state comes as a table of addresses (`jit.primitives`), the rule as an array of numbers, and the
answer is one array of integers, which `read_answer` reads.

If there is too little room, nothing is changed and `Answer.done` says what is missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meshwright.arrays import Floats, Ids, Int, Offsets
from meshwright.churn.kernels.changes import NOT_DONE, Change, join, leave, unsubscribe
from meshwright.churn.kernels.live_arrays import NODES, TOP, LiveArrays, RepairRule, count_topics
from meshwright.dynamic.fragments import Groups
from meshwright.dynamic.mutable_overlay import LINKS, SPARE, chunks_for
from meshwright.jit.compiler import compiled, helper, inner
from meshwright.jit.primitives import bits_at, ids_at, offsets_at

NO_ROOM = -2
"""`Answer.done` if nothing was changed, because there are too few slots, topics or chunks."""
DONE = 3
"""Where `Answer.done` is in the array."""
HEAD = 10
"""How many integers of the answer come before its lists."""


class Answer(NamedTuple):
    """What a change did, and what the overlay is like after it."""

    made: list[int]
    """The links added: both slots of each, one link after the other."""
    lost: list[int]
    """The links removed, likewise."""
    topics: list[int]
    """The topics that nodes gave up."""
    queue: list[int]
    """The nodes whose backups need a repair."""
    done: int
    """How many of the queue are done; the rest needs more chunks. `NOT_DONE` if nothing was changed, because
    the list of a topic is full; `NO_ROOM` if there is too little room for something else."""
    fragments: int
    """How many fragments there were to join, over all topics."""
    candidates: int
    """How many nodes the greedy step could link."""
    nanoseconds: int
    """How long the greedy step took."""
    links: int
    """How many links there are."""
    max_degree: int
    """The largest number of links of a node."""
    nodes: int
    """How many nodes there are."""


def read_answer(answer: Offsets) -> Answer:
    """Return the answer of a change in a readable form."""
    numbers = answer.tolist()
    first = HEAD + 2 * numbers[0]
    second = first + 2 * numbers[1]
    third = second + numbers[2]
    return Answer(
        numbers[HEAD:first], numbers[first:second], numbers[second:third], numbers[third:], *numbers[3:HEAD]
    )


@helper
def live_at(table: Offsets) -> LiveArrays:
    """Return the live arrays, which are the first of a table of addresses, in the order of their fields."""
    return LiveArrays(
        bits=bits_at(table, 0),
        holders=bits_at(table, 1),
        near_first=ids_at(table, 2),
        degree=ids_at(table, 3),
        tally=offsets_at(table, 4),
        spread=ids_at(table, 5),
        subscribers=ids_at(table, 6),
        member_start=offsets_at(table, 7),
        member_room=ids_at(table, 8),
        member_length=ids_at(table, 9),
        members=ids_at(table, 10),
        entries=ids_at(table, 11),
        spare=ids_at(table, 12),
        backup_first=ids_at(table, 13),
        backup_count=ids_at(table, 14),
        primary_first=ids_at(table, 15),
        primary_count=ids_at(table, 16),
        mark=ids_at(table, 17),
        paid=ids_at(table, 18),
        row=ids_at(table, 19),
        column=ids_at(table, 20),
    )


BEHIND = len(LiveArrays._fields)
"""The row of the table in which the working memory begins: groups, and a list of slots."""


@helper
def groups_at(table: Offsets) -> Groups:
    """Return the working memory of searches, which follows the live arrays in the table."""
    return Groups(
        mark=ids_at(table, BEHIND),
        queued=ids_at(table, BEHIND + 1),
        seen=ids_at(table, BEHIND + 2),
        parent=ids_at(table, BEHIND + 3),
        first=ids_at(table, BEHIND + 4),
        last=ids_at(table, BEHIND + 5),
        size=ids_at(table, BEHIND + 6),
        pair=ids_at(table, BEHIND + 7),
    )


WORK = BEHIND + len(Groups._fields)
"""The row of the list of slots."""


@helper
def rule_at(numbers: Floats) -> RepairRule:
    """Return a rule from its fields as numbers."""
    return RepairRule(
        k=numbers[0],
        local=numbers[1] != 0,
        everybody=numbers[2] != 0,
        coverage=int(numbers[3]),
        method=int(numbers[4]),
        window=int(numbers[5]),
        rebuild_backups=numbers[6] != 0,
        newcomers=numbers[7] != 0,
        repairs=numbers[8] != 0,
        spares=numbers[9] != 0,
        slack=int(numbers[10]),
    )


@helper
def write_answer(live: LiveArrays, change: Change) -> Offsets:
    """Return what a change did as one array: the numbers, then the lists."""
    made, lost, topics, queue = change.made, change.lost, change.topics, change.queue
    pending = len(queue) if change.done < len(queue) else 0
    answer = np.empty(HEAD + 2 * (len(made) + len(lost)) + len(topics) + pending, dtype=np.int64)
    answer[0], answer[1], answer[2] = len(made), len(lost), len(topics)
    answer[3], answer[4], answer[5] = change.done, change.fragments, change.step.candidates
    answer[6], answer[7] = change.step.nanoseconds, live.tally[LINKS]
    answer[8], answer[9] = live.tally[TOP], live.tally[NODES]
    at = HEAD
    for i in range(len(made)):
        answer[at], answer[at + 1] = made[i, 0], made[i, 1]
        at += 2
    for i in range(len(lost)):
        answer[at], answer[at + 1] = lost[i, 0], lost[i, 1]
        at += 2
    for i in range(len(topics)):
        answer[at + i] = topics[i]
    at += len(topics)
    for i in range(pending):
        answer[at + i] = queue[i]
    return answer


@helper
def refuse(reason: Int) -> Offsets:
    """Return the answer of a change that was not made."""
    answer = np.zeros(HEAD, dtype=np.int64)
    answer[DONE] = reason
    return answer


@inner
def has_chunks(live: LiveArrays, slots: Ids) -> bool:
    """Return whether there is room for the links that a loss of nodes can take: one per link and topic."""
    degree, most = np.int64(0), np.int64(0)
    for v in slots:
        degree += live.degree[v]
        most = max(most, np.int64(count_topics(live, np.int64(v))))
    return bool(live.tally[SPARE] >= chunks_for(degree * most, np.int64(len(live.degree))))


@compiled
def call_join(table: Offsets, numbers: Floats, v: Int, topics: Ids, fresh: bool) -> Offsets:
    """Subscribe a node to topics that it did not have; if it is `fresh`, it is new."""
    live, rule = live_at(table), rule_at(numbers)
    # A link for each topic, which takes a chunk at either end, and backups.
    room = live.tally[SPARE] >= (2 + 6 * rule.coverage) * (len(topics) + 2) and v < len(live.degree)
    for i in range(len(topics)):
        room &= topics[i] < len(live.column)
    if not room:
        return refuse(np.int64(NO_ROOM))
    change = join(live, np.int64(v), topics, fresh, rule, ids_at(table, WORK))
    if change.done == NOT_DONE:
        return refuse(np.int64(NOT_DONE))
    return write_answer(live, change)


@compiled
def call_leave(table: Offsets, numbers: Floats, gone: Ids) -> Offsets:
    """Remove nodes, all at once."""
    live = live_at(table)
    if not has_chunks(live, gone):
        return refuse(np.int64(NO_ROOM))
    return write_answer(live, leave(live, groups_at(table), gone, rule_at(numbers), ids_at(table, WORK)))


@compiled
def call_unsubscribe(table: Offsets, numbers: Floats, v: Ids, topics: Ids) -> Offsets:
    """Unsubscribe a node that stays from topics; its slot is the only one in `v`."""
    live = live_at(table)
    if not has_chunks(live, v):
        return refuse(np.int64(NO_ROOM))
    change = unsubscribe(
        live, groups_at(table), np.int64(v[0]), topics, rule_at(numbers), ids_at(table, WORK)
    )
    return write_answer(live, change)
