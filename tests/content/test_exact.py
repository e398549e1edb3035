"""Exact finds the optimum of small workloads, and a valid bound when time is short."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from content_naive import workloads
from meshwright.content import Workload, assign, cost, synthetic
from meshwright.content.descent import descent
from meshwright.content.exact import INFEASIBLE, Optimum, Program, exact
from meshwright.errors import InputError


@settings(max_examples=25)
@given(workloads(most_users=4, most_brokers=3, most_channels=2, capacity=8.0))
def test_the_optimum_is_that_of_all_assignments(workload: Workload) -> None:
    """No assignment within the capacities is cheaper; if there is none, the error says so."""
    every = [cost(workload, it) for it in product(range(workload.num_brokers), repeat=workload.num_users)]
    fitting = [known.total for known in every if known.within_capacity]
    if not fitting:
        with pytest.raises(InputError, match="no assignment keeps within all capacities"):
            exact(workload)
        return
    found = exact(workload)
    assert found.proven
    assert found.cost == pytest.approx(min(fitting), rel=1e-6)
    assert cost(workload, found.broker_of).within_capacity
    assert found.lower_bound <= min(fitting) * (1 + 1e-6)


def around_a_hub(capacity: float = np.inf) -> Workload:
    """Return three users, each on a broker of its own, around a cheap hub."""
    core = np.full((4, 4), 2.0)
    core[3], core[:, 3] = 1.0, 1.0
    np.fill_diagonal(core, 0.0)
    access = np.full((3, 4), 100.0)
    access[[0, 1, 2], [0, 1, 2]] = 0.0
    return Workload.build(
        ["a", "b", "c"],
        ["b0", "b1", "b2", "hub"],
        ["only"],
        rates=([0], [0], [1.0]),
        subscriptions=([0, 1, 2], [0, 0, 0]),
        access=access,
        core=core,
        capacity=capacity,
    )


def test_hubs_do_not_forward() -> None:
    """Users on three brokers around a cheap hub pay 4 for their tree, not 3 for one over the hub."""
    found = exact(around_a_hub())
    assert found.proven
    assert found.cost == pytest.approx(4.0)


def as_values(program: Program, broker_of: list[int]) -> Any:
    """Return an assignment as values of the variables: each flow goes straight to all who want it."""
    workload, values = program.workload, np.zeros(program.size)
    ptr, audience = workload.audience
    for user, broker in enumerate(broker_of):
        values[program.x(user, broker)] = 1.0
    wanted = [
        {broker_of[user] for user in audience[ptr[channel] : ptr[channel + 1]]} for channel in program.busy
    ]
    for number, brokers in enumerate(wanted):
        values[[program.a(number, b) for b in brokers]] = 1.0
    for flow, (user, number) in enumerate(program.flows):
        source = broker_of[user]
        values[[program.y(flow, source, k) for k in wanted[number] - {source}]] = 1.0
    return values


def violated(program: Program, values: Any) -> list[int]:
    """Return the rows that some values violate."""
    sums = [float(values[columns] @ np.array(factors)) for columns, factors, _, _ in program.rows]
    return [
        place
        for place, (_, _, low, high) in enumerate(program.rows)
        if not low - 1e-9 <= sums[place] <= high + 1e-9
    ]


@settings(max_examples=40)
@given(workloads(most_users=4, most_brokers=4, most_channels=2), st.data())
def test_the_program_allows_every_assignment(workload: Workload, data: st.DataObject) -> None:
    """An assignment with direct links keeps every row, is read back, needs no cut, and costs no less."""
    program = Program(workload, 2.0)
    broker = st.integers(0, workload.num_brokers - 1)
    broker_of = data.draw(st.lists(broker, min_size=workload.num_users, max_size=workload.num_users))
    values = as_values(program, broker_of)
    assert violated(program, values) == []
    assert program.assignment(values).tolist() == broker_of
    known = len(program.rows)
    assert not program.separate(values)
    assert len(program.rows) == known
    assert program.objective @ values * 2.0 >= cost(workload, broker_of).total * (1 - 1e-9)
    for user in range(workload.num_users):  # a user on no broker, or on two, breaks a row
        for changed in range(workload.num_brokers):
            other = values.copy()
            other[program.x(user, changed)] = 1.0 - other[program.x(user, changed)]
            assert violated(program, other)


def test_flows_in_circles_are_cut_off() -> None:
    """Brokers that feed only each other keep the first rows; the cuts forbid it for all flows of a channel.

    The cuts allow what is connected, and the same solution adds them once only.
    """
    workload = Workload.build(
        ["a", "b", "c", "d"],
        ["b0", "b1", "b2", "b3"],
        ["one", "two"],
        rates=([0, 1, 0], [0, 0, 1], [1.0, 1.0, 1.0]),
        subscriptions=([1, 2, 3], [0, 0, 0]),
        access=np.zeros((4, 4)),
        core=np.ones((4, 4)) - np.eye(4),
        capacity=np.inf,
    )
    program = Program(workload, 1.0)
    whole = as_values(program, [0, 1, 2, 3])
    circle = whole.copy()
    of_a = program.flows.index((0, 0))
    circle[[program.y(of_a, 0, 2), program.y(of_a, 0, 3)]] = 0.0
    circle[[program.y(of_a, 2, 3), program.y(of_a, 3, 2)]] = 1.0
    assert violated(program, circle) == []
    known = len(program.rows)
    assert program.separate(circle)
    assert len(program.rows) == known + 4  # for both flows of the channel and both brokers
    assert violated(program, circle) == [
        place for place in range(known, known + 4) if program.rows[place] in cuts_of(program, of_a)
    ]
    assert violated(program, whole) == []
    assert not program.separate(circle)
    assert len(program.rows) == known + 4


def cuts_of(program: Program, flow: int) -> list[Any]:
    """Return the cuts around brokers 2 and 3 for one flow: one for each broker that wants it."""
    return [program._cut(flow, wanted, [2, 3]) for wanted in (2, 3)]


def test_a_load_just_above_the_room_is_forbidden() -> None:
    """Users who exceed a room together may not all be there; with one fewer they may, and silent ones too."""
    workload = Workload.build(
        ["a", "b", "silent", "taker"],
        ["b0", "b1"],
        ["only"],
        rates=([0, 1], [0, 0], [1.0, 1.0]),
        subscriptions=([3], [0]),
        access=np.zeros((4, 2)),
        core=np.ones((2, 2)) - np.eye(2),
        capacity=[1.5, np.inf],
    )
    program = Program(workload, 1.0)
    known = len(program.rows)
    full, spread = as_values(program, [0, 0, 0, 1]), as_values(program, [0, 1, 0, 1])
    assert not program.separate(spread)
    assert program.separate(full)
    assert len(program.rows) == known + 1
    assert known in violated(program, full)
    assert violated(program, spread) == []
    assert program.rows[known][0] == [program.x(0, 0), program.x(1, 0)]


def test_an_optimum_is_proven_within_the_tolerance() -> None:
    """The gap is a share of the cost; without a cost there is none."""
    nowhere = np.zeros(1, dtype=np.int32)
    found = {bound: Optimum(nowhere, 4.0, bound) for bound in (4.0, 4.0 * (1 - 9e-7), 4.0 * (1 - 2e-6), 3.0)}
    assert [one.proven for one in found.values()] == [True, True, False, False]
    assert found[3.0].gap == 0.25
    assert Optimum(nowhere, 0.0, 0.0).gap == 0.0


class Solver:
    """Gives answers one after the other, each after 40 seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any]) -> None:
        self.answers, self.now, self.given = list(answers), 0.0, list[float]()
        module = import_module("meshwright.content.exact")
        monkeypatch.setattr(module, "working_seconds", lambda: self.now)
        monkeypatch.setattr(module, "_solve", self.solve)

    def solve(self, program: Program, seconds: float) -> Any:
        """Answer the next question."""
        self.given.append(seconds)
        self.now += 40.0
        known = {"status": 0, "mip_dual_bound": None, "x": None} | self.answers.pop(0)
        if known["x"] is not None:
            known["x"] = known["x"](program)
        return SimpleNamespace(**known)


def in_a_circle(program: Program) -> Any:
    """Return the best assignment, in which two brokers feed each other only."""
    values = as_values(program, [0, 1, 2])
    values[[program.y(0, 0, 1), program.y(0, 0, 2)]] = 0.0
    values[[program.y(0, 1, 2), program.y(0, 2, 1)]] = 1.0
    return values


def test_rounds_end_with_a_connected_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solution with a circle is cut off and solved again, in the time that is left; bounds only rise."""
    solver = Solver(
        monkeypatch,
        {"x": in_a_circle, "mip_dual_bound": 500.0},
        {"x": lambda program: as_values(program, [0, 1, 2]), "mip_dual_bound": 400.0},
    )
    calls: list[tuple[int, float, str]] = []
    found = exact(around_a_hub(), time_limit=60.0, progress=lambda *call: calls.append(call))
    assert solver.given == [60.0, 20.0]
    [(rounds, share, said)] = calls
    assert (rounds, said) == (1, "cost 4, at least 2")
    assert share == pytest.approx(2 / 3)
    assert found.cost == 4.0
    assert found.lower_bound == pytest.approx(2.0)


def test_the_time_ends_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a solution, rounds go on until the time is over, which is all of it and no more."""
    solver = Solver(
        monkeypatch, {"status": 1}, {"status": 1, "x": lambda program: as_values(program, [0, 1, 2])}
    )
    calls: list[tuple[int, float, str]] = []
    found = exact(around_a_hub(), time_limit=60.0, progress=lambda *call: calls.append(call))
    assert [(rounds, share) for rounds, share, _ in calls] == [(1, pytest.approx(2 / 3)), (2, 1.0)]
    assert not solver.answers
    assert not found.proven


def test_a_program_that_is_too_tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that rejects a known assignment proves it; without one, there is none, or none in time."""
    Solver(monkeypatch, {"status": INFEASIBLE})
    assert exact(around_a_hub()).proven

    def stuck(*_: object, **__: object) -> Any:
        raise InputError("no room")

    monkeypatch.setattr(import_module("meshwright.content.exact"), "descent", stuck)
    Solver(monkeypatch, {"status": INFEASIBLE})
    with pytest.raises(InputError, match="no assignment keeps within all capacities"):
        exact(around_a_hub())
    Solver(monkeypatch, {"status": 1}, {"status": 1})
    with pytest.raises(InputError, match="no room"):
        exact(around_a_hub(), time_limit=60.0)


def test_no_time_gives_a_bound() -> None:
    """Without time the result is descent's assignment, a lower bound, and the gap between both."""
    workload = synthetic(30, 4, 6, length=0.3, seed=3)
    found = exact(workload, time_limit=0.0)
    assert found.cost == cost(workload, descent(workload)).total
    assert 0 < found.lower_bound < found.cost
    assert not found.proven
    assert (
        assign(workload, "exact", time_limit=0.0).gap
        == found.gap
        == pytest.approx(1 - found.lower_bound / found.cost)
    )


def test_large_workloads_are_rejected() -> None:
    """A workload with too many variables is rejected before anything is solved, and so is a negative time."""
    with pytest.raises(InputError, match="exact is for small workloads; use descent"):
        exact(synthetic(1000, 20), time_limit=5.0)
    with pytest.raises(InputError, match="give a number of zero or more"):
        exact(synthetic(4, 2, 2), time_limit=-1.0)


def test_progress_reports_bounds() -> None:
    """Progress reports rounds, the fraction of the time, and a bound that does not exceed the cost."""
    workload = synthetic(8, 3, 5, model="plane", length=0.4, ratio=0.3, seed=7)
    calls: list[tuple[int, float, str]] = []
    found = exact(workload, progress=lambda *call: calls.append(call))
    assert found.proven
    assert [rounds for rounds, _, _ in calls] == list(range(1, len(calls) + 1))
    for _, share, phase in calls:
        upper, lower = phase.removeprefix("cost ").split(", at least ")
        assert 0 <= share <= 1
        assert float(lower.replace(",", "")) <= float(upper.replace(",", ""))
