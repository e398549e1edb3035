"""The audit finds each fault: every audited property is broken once, and only that fault is reported."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from meshwright.churn import LiveOverlay, Policy
from meshwright.churn.kernels.live_arrays import NODES, TOP, link_all, unlink_all
from meshwright.churn.live_state import LiveState
from meshwright.churn.state_arrays import audit
from meshwright.dynamic.mutable_overlay import CHUNK, FULL, LINKS, SPARE
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.workloads import unif

GONE, UNUSED = 7, 20
"""The slot of a node that left, and the first slot that never had a node."""
WORKING_MEMORY = {"mark": 0, "row": 0, "column": 0, "paid": 1}
"""The arrays of working memory, and a value that is not blank."""


def name_of(v: int) -> str:
    return f"b{v:02}"


@pytest.fixture(scope="module")
def sound() -> LiveState:
    """Return a state with an empty slot, slots that were never used, and backups."""
    live = LiveOverlay(grow(unif(20, 6, size=3, seed=3), rules.low(3)), Policy(coverage=2))
    live.leave(name_of(GONE))
    assert live.audit() == ()
    return live._state


@pytest.fixture
def state(sound: LiveState) -> LiveState:
    """Return a copy to break."""
    return sound.copy()


def pair(u: int, v: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([u], dtype=np.int32), np.array([v], dtype=np.int32)


def unlinked(state: LiveState, v: int) -> int:
    """Return a node that is not linked with v."""
    return min(set(range(UNUSED)) - {v, GONE} - set(state.neighbours(v).tolist()))


def entry(first: np.ndarray, v: int) -> int:
    """Return the place of the first value of a list in `entries`."""
    return int(first[v]) * CHUNK


def with_one_chunk(state: LiveState, count: np.ndarray, least: int = 2) -> int:
    """Return a node whose list has one chunk that is not full."""
    return next(v for v in range(UNUSED) if least <= count[v] < FULL)


# -- chunks ---------------------------------------------------------------------------------------------

LISTS = {"neighbours": "degree", "backups": "backup_count", "primaries": "primary_count"}
FIRST = {"neighbours": "near_first", "backups": "backup_first", "primaries": "primary_first"}


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_has_as_many_chunks_as_its_length_takes(state: LiveState, kind: str) -> None:
    """A count that does not fit the chunks of its list is reported, for each kind of list."""
    count = getattr(state.arrays, LISTS[kind])
    v = with_one_chunk(state, count)
    count[v] += FULL
    assert audit(state) == (f"slot {v} has {count[v]} {kind} in 1 chunks",)


@pytest.mark.parametrize("kind", LISTS)
def test_a_full_chunk_is_one_chunk(state: LiveState, kind: str) -> None:
    """Seven values fit into one chunk, so a count of 7 in one chunk is no fault of the chunks, 8 is one."""
    count = getattr(state.arrays, LISTS[kind])
    v = with_one_chunk(state, count)
    count[v] = FULL
    assert not any("chunk" in fault for fault in audit(state))
    count[v] = FULL + 1
    assert audit(state) == (f"slot {v} has 8 {kind} in 1 chunks",)


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("following", ["itself", "another list's", "too large", "negative"])
def test_a_list_ends(state: LiveState, kind: str, following: str) -> None:
    """A list that continues in a chunk of its own, of another list, or in a missing chunk is reported."""
    live = state.arrays
    first, count = getattr(live, FIRST[kind]), getattr(live, LISTS[kind])
    v, other = with_one_chunk(state, count), with_one_chunk(state, live.degree)
    goal = {
        "itself": int(first[v]),
        "another list's": int(live.near_first[(other + 1) % UNUSED if kind == "neighbours" else other]),
        "too large": len(live.entries) // CHUNK,
        "negative": -2,
    }[following]
    live.entries[entry(first, v) + FULL] = goal
    faults = audit(state)
    assert faults[0].startswith(f"slot {v} has {count[v]} {kind} in ")
    assert faults[-1] == "chunks of lists are lost or used twice"
    assert len(faults) == 2


def test_every_chunk_is_somewhere(state: LiveState) -> None:
    """A chunk that is neither used nor unused is reported."""
    state.arrays.tally[SPARE] -= 1
    assert audit(state) == ("chunks of lists are lost or used twice",)


def test_no_chunk_is_used_twice(state: LiveState) -> None:
    """A chunk that is used and on the stack of unused ones is reported."""
    state.arrays.spare[0] = state.arrays.near_first[0]
    assert audit(state) == ("chunks of lists are lost or used twice",)


# -- links ----------------------------------------------------------------------------------------------


def test_an_empty_slot_has_no_links(state: LiveState) -> None:
    """A link to the slot of a node that left is reported at both ends."""
    link_all(state.arrays, *pair(GONE, 9))
    assert audit(state) == (
        f"slot {GONE} has links and no node",
        f"the link of {name_of(9)!r} to slot {GONE} is broken",
    )


def test_slots_that_were_never_used_have_no_links(state: LiveState) -> None:
    """A link between two such slots is reported."""
    link_all(state.arrays, *pair(UNUSED, UNUSED + 1))
    assert audit(state) == ("slots that were never used have links",)


def test_no_node_is_linked_with_itself(state: LiveState) -> None:
    """A node in its own list is reported."""
    live = state.arrays
    v = with_one_chunk(state, live.degree)
    was = int(live.entries[entry(live.near_first, v)])
    live.entries[entry(live.near_first, v)] = v
    assert set(audit(state)) == {
        f"{name_of(v)!r} is linked with itself, or with another node twice",
        f"the link of {name_of(was)!r} to slot {v} is broken",
    }


def test_no_link_is_there_twice(state: LiveState) -> None:
    """A second link between the same nodes is reported at both ends."""
    u, v = (int(end[0]) for end in state.slot_pairs())
    link_all(state.arrays, *pair(u, v))
    assert audit(state) == tuple(
        f"{name_of(x)!r} is linked with itself, or with another node twice" for x in sorted((u, v))
    )


def test_a_link_has_two_ends(state: LiveState) -> None:
    """If one end of a link is replaced by another node, both lists that do not agree are reported."""
    live = state.arrays
    v = with_one_chunk(state, live.degree)
    was, wrong = int(live.entries[entry(live.near_first, v)]), unlinked(state, v)
    live.entries[entry(live.near_first, v)] = wrong
    assert set(audit(state)) == {
        f"the link of {name_of(v)!r} to slot {wrong} is broken",
        f"the link of {name_of(was)!r} to slot {v} is broken",
    }


@pytest.mark.parametrize("wrong", [UNUSED, 1000, -1])
def test_a_link_leads_to_a_node(state: LiveState, wrong: int) -> None:
    """A link to a slot that was never used, or that does not exist, is reported."""
    live = state.arrays
    v = with_one_chunk(state, live.degree)
    live.entries[entry(live.near_first, v)] = wrong
    assert f"the link of {name_of(v)!r} to slot {wrong} is broken" in audit(state)


# -- degrees --------------------------------------------------------------------------------------------


def test_the_distribution_of_degrees(state: LiveState) -> None:
    """A wrong number of nodes of some degree is reported."""
    state.arrays.spread[[1, 2]] += [1, -1]
    assert audit(state) == ("the distribution of degrees is wrong",)


@pytest.mark.parametrize("change", [1, -1])
def test_the_maximum_degree(state: LiveState, change: int) -> None:
    """A wrong maximum degree is reported, with both numbers."""
    most = int(state.arrays.tally[TOP])
    state.arrays.tally[TOP] += change
    assert audit(state) == (f"the maximum degree is {most}, not {most + change}",)


def test_the_number_of_links(state: LiveState) -> None:
    """A wrong number of links is reported, with both numbers."""
    links = int(state.arrays.tally[LINKS])
    state.arrays.tally[LINKS] += 3
    assert audit(state) == (f"there are {links} links, not {links + 3}",)


def test_nothing_else_is_reported_where_links_are_broken(state: LiveState) -> None:
    """The audit stops at the first stage with a fault: what comes after relies on it."""
    state.arrays.tally[LINKS] += 1
    state.arrays.paid[0] = 1
    assert len(audit(state)) == 1
    state.arrays.tally[SPARE] -= 1
    assert audit(state) == ("chunks of lists are lost or used twice",)


# -- topics ---------------------------------------------------------------------------------------------


def test_every_topic_is_connected() -> None:
    """A topic in two fragments is reported by its name, and no other."""
    interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y", "z"}, "d": {"z", "y"}})
    state = LiveOverlay(grow(interest, rules.gm), "naive")._state
    assert audit(state) == ()
    unlink_all(state.arrays, np.array([[2, 3]], dtype=np.int32))
    link_all(state.arrays, *pair(0, 3))
    assert audit(state) == ("topics 'z' are split",)


def test_nodes_and_topics_agree(state: LiveState) -> None:
    """A bit of a topic that no bit of a node matches is reported."""
    live = state.arrays
    topic = 2
    v = int(np.flatnonzero(~np.unpackbits(live.holders[topic].view(np.uint8), bitorder="little") & 1)[0])
    live.holders[topic, v >> 6] |= np.uint64(1 << (v & 63))
    assert audit(state) == ("topics and nodes do not agree on who subscribes",)


@pytest.mark.parametrize("change", [1, -1])
def test_the_number_of_subscribers(state: LiveState, change: int) -> None:
    """A wrong number of subscribers is reported."""
    state.arrays.subscribers[[1, 4]] += change
    assert audit(state) == ("the numbers of subscribers of topics 1, 4 are wrong",)


def test_the_list_of_a_topic_has_every_subscriber(state: LiveState) -> None:
    """A subscriber that its topic does not list is reported."""
    live, topic = state.arrays, 3
    start, length = int(live.member_start[topic]), int(live.member_length[topic])
    live.members[start + length - 1] = live.members[start]
    assert audit(state) == (f"the list of topic {topic} lacks a subscriber",)


def test_the_list_of_a_topic_is_as_long_as_it_says(state: LiveState) -> None:
    """A subscriber behind the end of its list is reported."""
    state.arrays.member_length[3] -= 1
    assert audit(state) == ("the list of topic 3 lacks a subscriber",)


def test_the_list_of_a_topic_fits_its_room(state: LiveState) -> None:
    """A list may fill its room; one that is longer is reported."""
    live = state.arrays
    live.member_room[3] = live.member_length[3]
    assert audit(state) == ()
    live.member_room[3] -= 1
    assert audit(state) == ("the list of topic 3 is longer than its room",)


def test_only_nodes_have_topics() -> None:
    """A topic of a slot without a node is reported, even where all arrays agree on it."""
    state = LiveOverlay(grow(Interest.from_dict({"a": {"x"}}), rules.gm), "naive")._state
    live, v, topic = state.arrays, 1, 9
    live.bits[v, 0] |= np.uint64(1 << topic)
    live.holders[topic, 0] |= np.uint64(1 << v)
    live.members[live.member_start[topic]] = v
    live.member_length[topic] = live.subscribers[topic] = 1
    with pytest.MonkeyPatch.context() as patch:
        # Such a state has no overlay to measure.
        patch.setattr("meshwright.churn.state_arrays._connected", lambda _: iter(()))
        assert audit(state) == ("a slot without a node has topics",)


def test_the_number_of_nodes(state: LiveState) -> None:
    """A wrong number of nodes is reported, with both numbers."""
    state.arrays.tally[NODES] += 1
    assert audit(state) == ("there are 19 nodes, not 20",)


def test_names_and_numbers_of_nodes_agree(state: LiveState) -> None:
    """A name that is not in the table of numbers is reported."""
    state.nodes.names[GONE] = "stranger"
    assert "there are 20 nodes, not 19" in audit(state)


# -- backups --------------------------------------------------------------------------------------------


def break_backup(state: LiveState, wrong: Callable[[int, list[int]], int]) -> int:
    """Replace the first backup of a node by a wrong one, and return the node."""
    live = state.arrays
    v = with_one_chunk(state, live.backup_count)
    live.entries[entry(live.backup_first, v)] = wrong(v, state.backups(v).tolist())
    return v


@pytest.mark.parametrize(
    "wrong",
    [lambda v, _: v, lambda _, own: own[1], lambda *_: GONE, lambda *_: UNUSED, lambda *_: -1],
    ids=["itself", "twice", "a node that left", "never used", "negative"],
)
def test_backups_are_other_nodes(state: LiveState, wrong: Callable[[int, list[int]], int]) -> None:
    """A node that is its own backup, a backup twice, and a slot without a node are reported."""
    v = break_backup(state, wrong)
    assert f"{name_of(v)!r} has itself, a node twice, or an empty slot as a backup" in audit(state)


def small(coverage: int) -> LiveState:
    """Return a state in which c shares no topic with a, and every node needs the backups it can get."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x", "y"}, "c": {"y"}, "d": {"x", "y"}})
    state = LiveOverlay(grow(interest, rules.gm), Policy(coverage=coverage))._state
    assert audit(state) == ()
    return state


def test_backups_share_a_topic() -> None:
    """A backup without a common topic is reported, even if the other backups cover every topic."""
    state = small(1)
    live = state.arrays
    a, c = 0, 2
    assert state.backups(a).tolist() != [c]
    live.entries[entry(live.backup_first, a) + live.backup_count[a]] = c
    live.backup_count[a] += 1
    live.entries[live.spare[live.tally[SPARE] - 1] * CHUNK + FULL] = -1
    primaries = state.primaries(c).tolist()
    if primaries:
        live.entries[entry(live.primary_first, c) + live.primary_count[c]] = a
    else:
        live.tally[SPARE] -= 1
        live.primary_first[c] = live.spare[live.tally[SPARE]]
        live.entries[entry(live.primary_first, c)] = a
    live.primary_count[c] += 1
    assert audit(state) == ("'a' has a backup with which it shares no topic",)


def test_backups_cover_every_topic_often_enough() -> None:
    """λ backups per topic, or all other subscribers where these are fewer, are enough; one less is not."""
    for coverage in (1, 2, 3, 9):
        small(coverage)
    state = small(2)
    live, a = state.arrays, 0
    assert sorted(state.backups(a).tolist()) == [1, 3]
    left, gone = state.backups(a).tolist()
    live.backup_count[a] -= 1
    live.entries[entry(live.backup_first, a)] = left
    index = state.primaries(gone).tolist().index(a)
    last = int(live.primary_count[gone]) - 1
    base = entry(live.primary_first, gone)
    live.entries[base + index] = live.entries[base + last]
    live.primary_count[gone] -= 1
    assert audit(state) == ("the backups of 'a' have topics 0 too few times",)
    # With λ = 1 the other backup is enough.
    state.rule = state.rule._replace(coverage=1)
    assert audit(state) == ()


def test_primaries_are_the_inverse_of_backups(state: LiveState) -> None:
    """A primary that does not have the node as a backup is reported."""
    live = state.arrays
    v = with_one_chunk(state, live.primary_count)
    wrong = min(set(range(UNUSED)) - {v, GONE} - set(state.primaries(v).tolist()))
    live.entries[entry(live.primary_first, v)] = wrong
    assert audit(state) == (f"the primaries of {name_of(v)!r} are not the nodes that they are a backup of",)


# -- working memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORKING_MEMORY)
def test_working_memory_is_blank(state: LiveState, name: str) -> None:
    """A value that a kernel left behind is reported, in each array of working memory."""
    getattr(state.arrays, name)[5] = WORKING_MEMORY[name]
    assert audit(state) == ("working memory is not blank",)


def test_the_marks_of_searches_are_blank(state: LiveState) -> None:
    """A mark that a search for fragments left behind is reported."""
    state.groups.mark[5] = 3
    assert audit(state) == ("working memory is not blank",)
