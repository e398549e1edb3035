"""The driver calls a picker until it is exhausted, keeps its links, and reports after every stride."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshwright import Interest
from meshwright.greedy import engine
from meshwright.greedy.engine import LINKING, NO_LIMIT, Driver, limit_of
from meshwright.greedy.kernels.state import (
    BROKEN,
    EDGES,
    EXHAUSTED,
    FULL,
    MERGES,
    PAUSED,
    WORK,
    Goal,
    Links,
    State,
)
from meshwright.greedy.layout import lay_out_components

Step = Callable[[Goal, Links], int]


@pytest.fixture
def state() -> State:
    """Return the state of five nodes with one topic: four merges connect it."""
    return lay_out_components(Interest.from_dict({v: {"x"} for v in "abcde"}), NO_LIMIT)


def star(state: State, goals: list[Goal], *, pause: bool = False) -> Step:
    """Return a picker in plain Python that links node 0 to each other node."""

    def step(goal: Goal, links: Links) -> int:
        goals.append(goal)
        while state.tally[EDGES] < min(4, goal.max_edges):
            edge = int(state.tally[EDGES])
            if edge == len(links.u):
                return FULL
            links.u[edge], links.v[edge], links.contribution[edge] = 0, edge + 1, 1
            state.tally[EDGES] += 1
            state.tally[MERGES] += 1
            state.tally[WORK] += 10
            if pause:
                return PAUSED
        return EXHAUSTED

    return step


def added(run: Driver) -> list[list[int]]:
    """Return the links of a driver as lists."""
    return [column.tolist() for column in run.links()]


def test_columns_grow_and_keep_their_links(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picker that finds its columns full gets larger ones with the same links."""
    monkeypatch.setattr(engine, "ROOM", 1)
    run, goals = Driver(state), list[Goal]()
    run.run(star(state, goals))
    assert added(run) == [[0] * 4, [1, 2, 3, 4], [1] * 4]
    assert len(goals) == 3


def test_each_stride_is_reported(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each stride progress gets the links and the support; each goal allows one stride of work."""
    monkeypatch.setattr(engine, "STRIDE", 5)
    reports: list[tuple[int, float, str]] = []
    strides: list[int] = []
    run, goals = Driver(state, progress=lambda *report: reports.append(report)), list[Goal]()
    run.run(star(state, goals, pause=True), before_stride=lambda: strides.append(len(goals)))
    assert [goal.work for goal in goals] == [5, 15, 25, 35, 45]
    assert strides == [0, 1, 2, 3, 4]
    expected = [(1, 0.25, LINKING), (2, 0.5, LINKING), (3, 0.75, LINKING), (4, 1.0, LINKING)]
    assert reports == [*expected, expected[-1]]


def test_a_share_of_its_own(state: State) -> None:
    """A picker that merges more than components reports its own share."""
    reports: list[float] = []
    run = Driver(state, progress=lambda _, share, __: reports.append(share), share=lambda: 0.125)
    run.run(star(state, []))
    assert reports == [0.125]


@pytest.mark.parametrize("max_edges", [0, 3])
def test_the_budget_reaches_the_picker(state: State, max_edges: int) -> None:
    """The picker is given `max_edges`, and the columns never have more room than that."""
    run, goals = Driver(state, max_edges=max_edges), list[Goal]()
    run.run(star(state, goals))
    assert [goal.max_edges for goal in goals] == [max_edges]
    assert len(run.columns.u) == max_edges
    assert added(run) == [[0] * max_edges, list(range(1, max_edges + 1)), [1] * max_edges]


def test_several_pickers_share_the_columns(state: State) -> None:
    """A second picker continues behind the links of the first."""
    run = Driver(state)
    run.run(lambda goal, links: star(state, [])(goal._replace(max_edges=2), links))
    run.run(star(state, []))
    assert added(run)[1] == [1, 2, 3, 4]


def test_a_lost_count_raises(state: State) -> None:
    """A picker that reports a wrong count ends the run before progress is reported."""
    reports: list[int] = []
    run = Driver(state, progress=lambda edges, _, __: reports.append(edges))
    with pytest.raises(AssertionError, match="lost count"):
        run.run(lambda goal, links: BROKEN)
    assert reports == []


@pytest.mark.parametrize(("budget", "limit"), [(None, NO_LIMIT), (0, 0), (7, 7), (2**40, NO_LIMIT)])
def test_limits(budget: int | None, limit: int) -> None:
    """No budget, or one beyond 32 bits, is no limit."""
    assert limit_of(budget) == limit
