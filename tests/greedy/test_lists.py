"""The lists of the index path: what is in them, their order, and that checking them ahead changes nothing."""

from __future__ import annotations

import threading
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import COMPILED, crowds, examples, triples
from meshwright.greedy import Tuning, candidates, grow, index_run, pair_lists, rules
from meshwright.greedy.index_run import IndexRun
from meshwright.greedy.kernels import index
from meshwright.greedy.kernels.state import State
from meshwright.greedy.level_run import LevelRun
from meshwright.greedy.pair_lists import PairLists, lay_out_buckets, most_places
from meshwright.greedy.path_choice import Task
from meshwright.interest import Interest
from meshwright.workloads import unif, zipf

few_topics = crowds(nodes=(3, 25), topics=(2, 10), subscriptions=120)


def begin(interest: Interest, links: int, threads: int = 1) -> tuple[LevelRun, Task]:
    """Return a run that lists all levels and starts from the first links of Greedy Merge."""
    start = grow(interest, rules.gm, max_edges=links)
    task = Task(interest, rules.gm, candidates.everything, None, Tuning(index=4))
    return LevelRun(task, start, threads=threads), task


def differing(state: State, u: int, v: int) -> int:
    """Count the common topics in which two nodes are in different components, as the labels say."""
    mine, yours = (
        {state.node_topics[i]: state.node_label[i] for i in range(state.node_ptr[w], state.node_ptr[w + 1])}
        for w in (u, v)
    )
    return sum(mine[topic] != yours[topic] for topic in mine.keys() & yours.keys())


@settings(max_examples=examples(150, 25))
@given(few_topics, st.integers(0, 20), st.data())
def test_lists_hold_the_pairs_that_contribute(interest: Interest, links: int, data: st.DataObject) -> None:
    """Each pair is listed once for each three, or two, topics; from row `cut` on if it has a fourth one."""
    nodes = interest.num_nodes
    low = data.draw(st.integers(0, nodes))
    high = data.draw(st.integers(low, nodes))
    cut = data.draw(st.integers(low, high))
    run, _ = begin(interest, links)
    run.state = run.state._replace(outside=np.zeros(nodes, dtype=np.int32))
    index.count_outside(run.state)
    topics, buckets = (
        np.arange(interest.num_topics, dtype=np.int32),
        lay_out_buckets(run.state, most_places(interest)),
    )
    pairs = np.empty(100_000, dtype=np.int64)

    def listed(length: int | np.int64) -> Counter[tuple[int, int]]:
        return Counter((int(pair >> 32), int(pair & 0xFFFFFFFF)) for pair in pairs[:length])

    by_three = listed(index.list_by_three(run.state, cut, buckets, topics, low, high, pairs))
    by_two = listed(index.list_by_two(run.state, buckets, topics, low, high, pairs))
    for u, v in combinations(range(nodes), 2):
        count = differing(run.state, u, v) if low <= u < high else 0
        assert by_two[u, v] == comb(count, 2)
        if u < cut:
            assert by_three[u, v] == comb(count, 3)
        else:
            assert by_three[u, v] == comb(max(count - 1, 0), 3)


@settings(max_examples=examples(150, 25))
@given(few_topics, st.integers(0, 20), st.sampled_from([None, 60, 200]), st.booleans())
def test_pairs_above_level_3_come_with_what_they_contribute(
    interest: Interest, links: int, room: int | None, twice: bool
) -> None:
    """Every pair above level 3 is listed once, with its contribution, whether or not all of level 3 fits."""
    run, task = begin(interest, links)
    with ThreadPoolExecutor(1) as pool:
        task = replace(task, tuning=Tuning(index=4, room=room))
        lists = IndexRun(task, run.state, run.driver, pool, 1)
        lists.twice = twice
        fits = lists.list_high()
    expected = {
        (u, v): count
        for u, v in combinations(range(interest.num_nodes), 2)
        if (count := differing(run.state, u, v)) > 3
    }
    if fits:
        listed = [(int(pair >> 32), int(pair & 0xFFFFFFFF)) for pair in lists.high]
        assert listed == sorted(expected)
        assert dict(zip(listed, lists.bounds.pair.tolist(), strict=True)) == expected


@given(crowds(nodes=(1, 30), subscriptions=120))
def test_places_are_counted_for_the_topic_that_needs_most(interest: Interest) -> None:
    """A topic needs a place for each later topic of each of its subscribers, and there is one to spare."""
    held = [mine.tolist() for mine in np.split(interest.node_topics, interest.node_ptr[1:-1])]
    later: Counter[int] = Counter()
    for mine in held:
        later.update({t: len(mine) - 1 - place for place, t in enumerate(mine)})
    assert most_places(interest) == max(later.values(), default=0) + 1


def test_a_full_list_leaves_the_buckets_clean() -> None:
    """A list without room for all pairs is refused, and listing again finds them."""
    interest = zipf(40, 8, min_size=4, max_size=7, seed=3)
    run, _ = begin(interest, 0)
    topics, buckets = np.arange(8, dtype=np.int32), lay_out_buckets(run.state, most_places(interest))
    room = np.empty(50_000, dtype=np.int64)
    length = index.list_by_three(run.state, 40, buckets, topics, 0, 40, room)
    expected = sorted(room[:length])
    for short in (0, 1, length // 2, length - 1):
        assert index.list_by_three(run.state, 40, buckets, topics, 0, 40, room[:short]) == index.FULL_LIST
        assert index.list_by_three(run.state, 40, buckets, topics, 0, 40, room) == length
        assert sorted(room[:length]) == expected


def test_a_failure_stops_all_threads() -> None:
    """What progress raises ends a list on every thread: no further part of it begins."""
    interest = zipf(4000, 300, size=9, seed=3)
    run, _ = begin(interest, 0)
    run.state = run.state._replace(outside=np.zeros(4000, dtype=np.int32))
    begun: list[int] = []
    cleared, main = threading.Event(), threading.get_ident()

    class Parts(deque[Any]):
        """Parts of a list that are still to do; tells when they are thrown away."""

        def clear(self) -> None:
            super().clear()
            cleared.set()

    def listing(*_: Any) -> int:
        begun.append(1)
        if threading.get_ident() != main:
            # The other thread is busy with its first part until the failure has been noticed.
            assert cleared.wait(60), "nobody has thrown the other parts away"
        return 0

    def stop() -> None:
        raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_lists, "STEPS_A_CALL", 1000)
        lists = PairLists(interest, run.state, 10**7, pool, 2, stop)
        assert len(lists._chunks(2)) > 2
        patch.setattr(pair_lists, "deque", Parts)
        patch.setattr(pair_lists, "list_by_two", listing)
        with pytest.raises(KeyboardInterrupt):
            lists.list_pairs(2, 0, 4000, 4000)
    assert 1 <= len(begun) <= 2


@settings(max_examples=examples(100, 20))
@given(
    st.integers(1, 3),
    st.sampled_from([2, 3, 300, 5000, 70_000]),
    st.integers(1, 13),
    st.integers(15, 32),
    st.data(),
)
def test_pairs_are_sorted(
    threads: int, nodes: int, few_bits: int, key_bits: int, data: st.DataObject
) -> None:
    """What several threads have listed becomes one sorted list, by digits and keys of any length."""
    interest = Interest.from_pairs(np.arange(nodes), np.zeros(nodes, dtype=np.int64))
    run, _ = begin(interest, 0, threads)
    with ThreadPoolExecutor(threads) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_lists, "FEW_BITS", few_bits)
        patch.setattr(pair_lists, "KEY_BITS", key_bits)
        lists = PairLists(interest, run.state, None, pool, threads, run.driver.report)
        low = data.draw(st.integers(0, nodes - 1))
        rows, ends = st.integers(low, nodes - 1), st.integers(0, nodes - 1)
        parts = []
        for _ in range(threads):
            drawn = data.draw(st.lists(st.tuples(rows, ends), max_size=nodes))
            parts.append(np.array([u << 32 | v for u, v in drawn], dtype=np.int64))
        expected = np.sort(np.concatenate(parts))
        assert lists.sort(parts, low, nodes - low).tolist() == expected.tolist()


def test_large_groups_are_sorted_by_longer_digits() -> None:
    """As few digits as possible cover all bits; large groups need two of them for 100,000 nodes."""
    assert [pair_lists.digit_bits(24, pairs) for pairs in (0, 2047, 2048, 10**6)] == [8, 8, 12, 12]
    assert [pair_lists.digit_bits(bits, 5000) for bits in (0, 1, 2, 25, 30, 32)] == [1, 1, 2, 9, 10, 11]


@settings(max_examples=examples(60, 10))
@given(few_topics, st.integers(2, 3), st.booleans())
def test_checking_ahead_changes_nothing(interest: Interest, threads: int, twice: bool) -> None:
    """With short portions, checked by other threads while one links, the links are those of the sweep."""
    swept = triples(grow(interest, rules.gm, tuning=Tuning(index=0)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_run, "PORTION", 2)
        patch.setattr(index_run, "listing_twice_pays", lambda _: twice)
        assert triples(grow(interest, rules.gm, threads=threads, tuning=Tuning(index=4))) == swept
        degrees = triples(grow(interest, rules.minmax, tuning=Tuning(index=0)))
        assert triples(grow(interest, rules.minmax, threads=threads, tuning=Tuning(index=4))) == degrees


@pytest.mark.skipif(not COMPILED, reason="takes minutes where kernels are not compiled")
@pytest.mark.parametrize("twice", [False, True])
def test_threads_change_nothing_on_many_nodes(twice: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 20,000 nodes, portions are checked while links change what they read: the links stay the same."""
    monkeypatch.setattr(index_run, "PORTION", 500)
    monkeypatch.setattr(index_run, "listing_twice_pays", lambda _: twice)
    interest = unif(20_000, 200, size=8, seed=6)
    swept = triples(grow(interest, rules.gm, tuning=Tuning(index=0)))
    for threads in (1, 2, 3):
        assert triples(grow(interest, rules.gm, threads=threads, tuning=Tuning(index=4))) == swept
