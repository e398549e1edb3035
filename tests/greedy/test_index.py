"""Pairs listed from the index give the links of the level sweep, from whichever level on they are listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import COMPILED, RULES, Call, calls, crowds, examples, triples
from meshwright.errors import InputError
from meshwright.greedy import Tuning, candidates, grow, level_run, path_choice, rules
from meshwright.greedy.index_run import IndexRun
from meshwright.greedy.level_run import LevelRun
from meshwright.greedy.path_choice import EVERY_LEVEL, Task, highest_level, listing_pays, may_pay
from meshwright.interest import Interest
from meshwright.workloads import expo, unif, zipf

few_topics = crowds(nodes=(3, 40), topics=(2, 12), subscriptions=200)
"""Few topics: many pairs share three and more, so that every list has something in it."""


any_rule = st.sampled_from(list(RULES.values()))


@settings(max_examples=examples(150, 20))
@given(
    few_topics,
    any_rule,
    st.integers(1, 4),
    st.sampled_from([None, 1, 4, 30]),
    st.integers(1, 3),
    st.sampled_from([None, 2, 4]),
)
def test_listed_levels_equal_the_twin(
    interest: Interest, rule: rules.Rule, index: int, room: int | None, threads: int, most: int | None
) -> None:
    """From any level on, with any room for lists and any number of threads, each link is the twin's."""
    call = Call(interest, rule, threads=threads, max_degree=most, tuning=Tuning(index=index, room=room))
    assert triples(call.grown()) == call.twin()


@settings(max_examples=examples(150, 15))
@given(any_rule.flatmap(lambda rule: calls(few_topics, rule)), st.integers(1, 4))
def test_listed_calls_equal_the_twin(call: Call, index: int) -> None:
    """With starts, candidates, topics and budgets, each link is the twin's."""
    tuning = Tuning(index=index, room=call.tuning.room, node_bits=call.tuning.node_bits)
    call = Call(**{**vars(call), "tuning": tuning})
    assert triples(call.grown(), len(call.start)) == call.twin()


@pytest.mark.skipif(not COMPILED, reason="takes minutes where kernels are not compiled")
@pytest.mark.parametrize("workload", [unif, zipf, expo], ids=lambda workload: workload.__name__)
def test_paths_agree_on_many_nodes(workload: Callable[..., Interest]) -> None:
    """On 3000 nodes, listing all levels, some or none, in one slice or in many, gives the same links."""
    interest = workload(3000, 120, min_size=3, max_size=12, seed=5)
    swept = triples(grow(interest, rules.gm, tuning=Tuning(index=0)))
    for index, room in ((1, None), (2, 400), (3, None), (4, None), (4, 20_000)):
        assert triples(grow(interest, rules.gm, tuning=Tuning(index=index, room=room), threads=2)) == swept


@pytest.mark.skipif(not COMPILED, reason="takes minutes where kernels are not compiled")
@pytest.mark.parametrize("workload", [unif, zipf, expo], ids=lambda workload: workload.__name__)
@pytest.mark.parametrize(
    ("rule", "most"), [(rules.gm, 7), (rules.minmax, None), (rules.low(3), None), (rules.low(2), 6)]
)
def test_paths_agree_on_degrees(
    workload: Callable[..., Interest], rule: rules.Rule, most: int | None
) -> None:
    """On 3000 nodes, rules and limits that look at degrees give the same links from lists as by the sweep."""
    interest = workload(3000, 120, min_size=3, max_size=12, seed=6)
    swept = triples(grow(interest, rule, max_degree=most, tuning=Tuning(index=0)))
    for room, threads in ((None, 1), (None, 2), (20_000, 2)):
        listed = grow(interest, rule, max_degree=most, tuning=Tuning(index=4, room=room), threads=threads)
        assert triples(listed) == swept


def test_lists_that_do_not_fit_are_left_to_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where even the pairs above level 3 do not fit, the sweep runs, and adds the same links."""
    interest = zipf(60, 12, min_size=6, max_size=10, seed=1)
    fits = []

    def list_high(self: IndexRun) -> bool:
        fits.append(listed(self))
        return fits[-1]

    listed = IndexRun.list_high
    monkeypatch.setattr(IndexRun, "list_high", list_high)
    swept = triples(grow(interest, rules.gm, tuning=Tuning(index=0)))
    for room, expected in ((2, False), (10**6, True)):
        assert triples(grow(interest, rules.gm, tuning=Tuning(index=4, room=room))) == swept
        assert fits.pop() is expected


def test_a_listed_run_has_no_bit_rows() -> None:
    """Where every level is listed, neither bit rows over nodes nor windows are laid out."""
    task = Task(unif(500, 50, size=5, seed=1), rules.gm, candidates.everything, None, Tuning(index=4))
    run = LevelRun(task, None)
    assert len(run.state.bits) == 1
    assert len(run.whole.bound) == 0
    assert len(run.finish()[0]) > 0


def test_the_index_is_chosen_where_it_pays() -> None:
    """Many nodes with few topics each are listed; small runs and nodes with many topics are not."""

    def chosen(nodes: int, size: int, rule: rules.Rule = rules.gm, topics: int = 400) -> int:
        interest = unif(nodes, topics, size=size)
        return highest_level(Task(interest, rule, candidates.everything, None, Tuning()))

    assert chosen(1000, 4) == 0
    assert chosen(90_000, 5) == EVERY_LEVEL
    assert chosen(12_000, 100) == 0
    assert chosen(90_000, 5, rules.minmax) == EVERY_LEVEL
    assert chosen(60_000, 12, rules.low(3)) == 0
    # Lists of the pairs that share two topics are far too long where nodes close before topics have giants.
    assert chosen(90_000, 2, rules.minmax, topics=10) == 0
    assert chosen(90_000, 2, rules.minmax) == chosen(110_000, 2, topics=10) == EVERY_LEVEL
    # With k near 1 the maximum degree rises hundreds of times, and each time lists are made again.
    assert chosen(90_000, 5, rules.low(1.5)) == 0


def test_nodes_that_choose_topics_together_are_swept() -> None:
    """In groups of nodes with the same topics too many pairs share three, however even the popularity."""

    def chosen(groups: int) -> int:
        nodes, topics, size = 90_000, 400, 6
        held = unif(groups, topics, size=size).node_topics.reshape(groups, size)
        members = held[np.arange(nodes) % groups]
        interest = Interest.from_pairs(np.repeat(np.arange(nodes), size), members.ravel())
        return highest_level(Task(interest, rules.gm, candidates.everything, None, Tuning()))

    assert chosen(200) == 0
    assert chosen(90_000) == EVERY_LEVEL


@given(crowds(nodes=(1, 30), subscriptions=120))
def test_shared_topics_of_few_nodes_are_counted_exactly(interest: Interest) -> None:
    """Where every node can be drawn, the estimate is the number of pairs that share each number of topics."""
    task = Task(interest, rules.gm, candidates.everything, None, Tuning())
    held = np.split(interest.node_topics, interest.node_ptr[1:-1])
    expected = Counter(len(np.intersect1d(mine, yours)) for mine, yours in combinations(held, 2))
    assert {c: n for c, n in enumerate(task.shared_topics) if c > 0 and n > 0} == {
        c: n for c, n in expected.items() if c > 0
    }
    assert task.shared_threes == sum(n * comb(c, 3) for c, n in expected.items())
    assert task.shared_twos == sum(n * comb(c, 2) for c, n in expected.items())


def test_low_levels_are_listed_where_it_pays() -> None:
    """Levels 2 and 1 are listed if rebuilding rows takes longer; level 1 is listed sooner."""
    topics = np.full(1000, 10, dtype=np.int32)
    assert [listing_pays(work, topics, 2) for work in (10**5, 10**6, 10**8)] == [False, False, True]
    assert [listing_pays(work, topics, 1) for work in (10**5, 10**6, 10**8)] == [False, True, True]
    assert [may_pay(work) for work in (10**6, 10**8, 10**9)] == [False, False, True]


def test_the_choice_of_a_low_level_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that leaves its low levels to the index adds the same links."""
    interest = zipf(400, 40, min_size=3, max_size=9, seed=4)
    swept = triples(grow(interest, rules.gm, tuning=Tuning(index=0)))
    began: list[int] = []
    link_from = IndexRun.link_from

    def note_level(self: IndexRun, level: int) -> None:
        began.append(level)
        link_from(self, level)

    monkeypatch.setattr(path_choice, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(path_choice, "LEAST_GAIN", 0.0)
    monkeypatch.setattr(path_choice, "MARGIN", 1e9)
    monkeypatch.setattr(IndexRun, "link_from", note_level)
    for highest in (0, 1, 2):
        monkeypatch.setattr(level_run, "listing_pays", lambda *given, most=highest: given[-1] <= most)
        assert triples(grow(interest, rules.gm)) == swept
    assert began == [1, 2]


@pytest.mark.parametrize("among", [candidates.pairs([(0, 1)]), candidates.all_but([(0, 1)])])
def test_what_the_index_cannot_do_is_swept(among: candidates.Candidates) -> None:
    """Listed candidates and excluded pairs are left to the sweep, whatever the tuning asks for."""
    assert highest_level(Task(unif(50, 9, size=3), rules.gm, among, None, Tuning(index=4))) == 0


@pytest.mark.parametrize(("rule", "most"), [(rules.minmax, None), (rules.low(3), None), (rules.gm, 5)])
def test_all_levels_or_none_are_listed_where_degrees_count(rule: rules.Rule, most: int | None) -> None:
    """A sweep cannot leave its low levels to the index if nodes close or phases follow."""
    interest = unif(50, 9, size=3)
    for index, expected in ((1, 0), (3, 0), (4, EVERY_LEVEL)):
        task = Task(interest, rule, candidates.everything, most, Tuning(index=index))
        assert highest_level(task) == expected


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("held", [{}, {"a": {"x"}}, {"a": set(), "b": set()}])
def test_nothing_to_link(held: dict[str, set[str]], rule: rules.Rule) -> None:
    """Without nodes, subscriptions or pairs there are no links, whatever the tuning asks for."""
    assert len(grow(Interest.from_dict(held), rule, tuning=Tuning(index=4))) == 0


def hub_and_leaves(leaves: int) -> Interest:
    """Return a hub with more topics than its leaves have, each leaf with some of them and one of others."""
    random = np.random.default_rng(8)
    held = {"hub": {f"t{i}" for i in range(40)}}
    for leaf in range(leaves):
        chosen = random.choice(40, size=5, replace=False)
        held[f"leaf {leaf:03}"] = {*(f"t{i}" for i in chosen), f"other {leaf % 7}"}
    return Interest.from_dict(held)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_hub_that_takes_many_phases(rule: rules.Rule) -> None:
    """Where a phase opens no node, it begins below the levels that the last one has linked."""
    interest = hub_and_leaves(60)
    assert triples(grow(interest, rule, tuning=Tuning(index=4))) == triples(
        grow(interest, rule, tuning=Tuning(index=0))
    )


def test_a_star_of_topics_that_two_nodes_have() -> None:
    """Level 1 links a hub to one node after the other, also where the engine pauses in between."""
    held = {"hub": {f"t{i}" for i in range(50)}, **{f"leaf {i:02}": {f"t{i}"} for i in range(50)}}
    call = Call(Interest.from_dict(held), rules.gm, tuning=Tuning(index=4), restless=True)
    assert triples(call.grown()) == call.twin()


def test_a_list_without_room() -> None:
    """Room for less than one pair is refused."""
    with pytest.raises(InputError, match="room for 0 pairs: give at least 1"):
        Tuning(room=0)
