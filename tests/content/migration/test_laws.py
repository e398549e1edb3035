"""The laws of migration, under any delays, declined requests and crashes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from calls import COMPILED, examples, seeds
from meshwright.content import Workload, cost, synthetic
from meshwright.content.cost import RunningCost
from meshwright.content.migration import Crash, CrashAt, Migration, Terms, migrate
from meshwright.content.migration.broker_state import MIN_SAVING
from meshwright.content.sequential import random
from meshwright.errors import InputError


@st.composite
def workloads(draw: st.DrawFn) -> tuple[Workload, int]:
    """Draw a small workload and a seed, in either cost model, some with little spare capacity."""
    users, brokers = draw(st.integers(1, 30)), draw(st.integers(1, 6))
    workload = synthetic(
        users,
        brokers,
        draw(st.integers(1, 8)),
        model=draw(st.sampled_from(["uniform", "plane"])),
        length=draw(st.sampled_from([None, 0.3])),
        ratio=draw(st.sampled_from([0.2, 1.0, 5.0])),
        capacity=draw(st.sampled_from([1.4, 3.0 * brokers, 10.0 * brokers])),
        seed=draw(seeds),
    )
    seed = draw(seeds)
    try:
        random(workload, seed=seed)
    except InputError:
        reject()
    return workload, seed


def crashes(brokers: int) -> st.SearchStrategy[tuple[Crash | CrashAt, ...]]:
    """Draw which brokers crash, and when."""
    replicating = st.builds(Crash, st.integers(1, 12), st.sampled_from(["home", "foreign"]))
    timed = st.builds(CrashAt, st.floats(0.0, 1.0), st.integers(0, brokers - 1))
    return st.lists(st.one_of(replicating, timed), max_size=4).map(tuple)


@st.composite
def terms(draw: st.DrawFn, brokers: int = 0) -> Terms:
    """Draw terms under which much happens at once; with `brokers`, some of that number crash."""
    shortest = draw(st.sampled_from([0.0, 0.001]))
    return Terms(
        publications=draw(st.integers(0, 150)),
        seconds=draw(st.sampled_from([0.05, 1.0])),
        decline=draw(st.sampled_from([0.0, 0.3, 1.0])),
        ttl=draw(st.sampled_from([0.0, 0.02, 1.0])),
        requests=draw(st.sampled_from([1, 3, 10])),
        delay=(shortest, shortest + draw(st.sampled_from([0.0, 0.005, 0.1]))),
        pause=draw(st.sampled_from([0.0005, 0.01])),
        patience=2.0,
        gather=draw(st.sampled_from([0.0, 0.03])),
        crashes=draw(crashes(brokers)) if brokers else (),
        limit=60.0,
    )


def check_steps(run: Migration) -> None:
    """Check, with `cost` from scratch, that every accepted move lowers the cost and respects capacities."""
    workload, broker_of = run.workload, np.array(run.start)
    before = cost(workload, broker_of).total
    min_saving = 0.5 * MIN_SAVING * before
    for step in run.steps:
        assert broker_of[step.user] == step.home
        broker_of[step.user] = step.foreign
        after = cost(workload, broker_of)
        assert after.within_capacity
        assert not step.paid or after.total < before - min_saving
        assert np.isclose(step.cost, after.total)
        before = after.total
    assert (broker_of == run.broker_of).all()


@settings(max_examples=examples(30, 5))
@given(workloads(), st.data())
def test_without_crashes_every_message_has_one_copy(drawn: tuple[Workload, int], data: st.DataObject) -> None:
    """Without crashes, nothing is lost and nothing is sent twice, for any TTL."""
    workload, seed = drawn
    run = migrate(workload, random(workload, seed=seed), data.draw(terms()), seed=seed)
    assert run.rested
    assert run.verdict.sound
    assert run.verdict.delivered == run.messages.get("deliver", 0)
    assert (run.events["published again"], run.events["duplicates dropped"]) == (0, 0)
    check_steps(run)


@settings(max_examples=examples(50, 10))
@given(workloads(), st.data())
def test_crashes_lose_and_double_nothing(drawn: tuple[Workload, int], data: st.DataObject) -> None:
    """With crashes, the run still ends, and every user with a broker has every message once."""
    check_crashes(drawn, data)


@pytest.mark.slow
@settings(max_examples=examples(500, 50))
@given(workloads(), st.data())
def test_many_crashes_lose_and_double_nothing(drawn: tuple[Workload, int], data: st.DataObject) -> None:
    """The same law, on ten times as many runs."""
    check_crashes(drawn, data)


def check_crashes(drawn: tuple[Workload, int], data: st.DataObject) -> None:
    """Run a workload under any terms, with crashes, and check its deliveries and steps."""
    workload, seed = drawn
    run = migrate(workload, random(workload, seed=seed), data.draw(terms(workload.num_brokers)), seed=seed)
    assert run.rested
    assert run.verdict.sound
    check_steps(run)
    dead = {broker for _, broker in run.crashed}
    on_dead = {user for user, broker in enumerate(run.broker_of.tolist()) if broker in dead}
    assert on_dead <= set(run.stranded)


@settings(max_examples=examples(20, 3))
@given(workloads(), st.data())
def test_at_the_end_no_move_pays(drawn: tuple[Workload, int], data: st.DataObject) -> None:
    """If no user declines, no move to a living broker with room lowers the cost at the end."""
    workload, seed = drawn
    base = data.draw(terms(workload.num_brokers))
    run = migrate(
        workload,
        random(workload, seed=seed),
        Terms(decline=0.0, publications=5, seconds=0.1, delay=base.delay, crashes=base.crashes),
        seed=seed,
    )
    assert run.rested
    running_cost = RunningCost(workload, run.broker_of)
    dead = {broker for _, broker in run.crashed}
    min_saving = 2 * MIN_SAVING * cost(workload, run.start).total
    for user in set(range(workload.num_users)) - set(run.stranded):
        for broker in set(range(workload.num_brokers)) - dead:
            has_room = running_cost.has_room(user, broker)
            assert not has_room or running_cost.change(user, broker) >= -min_saving


def test_if_all_decline_nobody_moves() -> None:
    """Users that decline everything stay, and are asked at most once for each broker."""
    workload = synthetic(40, 4, 10, seed=1)
    run = migrate(workload, random(workload), Terms(decline=1.0, publications=50))
    assert run.rested
    assert not run.steps
    assert 0 < run.events["declined"] <= 40 * 3


def test_a_crash_during_a_replicate() -> None:
    """The home or the foreign broker may crash during a replicate, with many other moves under way."""
    users, brokers = (100, 6) if COMPILED else (30, 4)
    workload = synthetic(users, brokers, 20, seed=3)
    for side in ("home", "foreign"):
        terms = Terms(publications=10 * users, seconds=1.0, decline=0.2, crashes=(Crash(10, side),))
        run = migrate(workload, random(workload, seed=4), terms, seed=5)
        assert len(run.crashed) == 1
        assert run.sound
        assert run.events["redirected"] > 0
        assert run.events["withdrawn"] > 0
        assert sum(not step.paid for step in run.steps) > 0
        check_steps(run)
