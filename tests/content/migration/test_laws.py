"""Migration by messages: whatever is delayed, declined or dies, what must hold does."""

from __future__ import annotations

import numpy as np
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from calls import COMPILED, examples, seeds
from meshwright.content import Workload, cost, synthetic
from meshwright.content.assignment.incremental_cost import RunningCost
from meshwright.content.assignment.packing import random
from meshwright.content.migration import Crash, CrashAt, Migration, Terms, migrate
from meshwright.content.migration.ledger import WORTHWHILE
from meshwright.errors import InputError


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Workload, int]:
    """Draw a small workload, in either model of cost, with some brokers short of room."""
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
    """Draw which brokers die, and when."""
    replicating = st.builds(Crash, st.integers(1, 12), st.sampled_from(["home", "foreign"]))
    timed = st.builds(CrashAt, st.floats(0.0, 1.0), st.integers(0, brokers - 1))
    return st.lists(st.one_of(replicating, timed), max_size=4).map(tuple)


@st.composite
def terms(draw: st.DrawFn, brokers: int = 0) -> Terms:
    """Draw terms under which much happens at once; some of so many brokers die."""
    least = draw(st.sampled_from([0.0, 0.001]))
    return Terms(
        publications=draw(st.integers(0, 150)),
        seconds=draw(st.sampled_from([0.05, 1.0])),
        decline=draw(st.sampled_from([0.0, 0.3, 1.0])),
        ttl=draw(st.sampled_from([0.0, 0.02, 1.0])),
        requests=draw(st.sampled_from([1, 3, 10])),
        delay=(least, least + draw(st.sampled_from([0.0, 0.005, 0.1]))),
        pause=draw(st.sampled_from([0.0005, 0.01])),
        patience=2.0,
        gather=draw(st.sampled_from([0.0, 0.03])),
        crashes=draw(crashes(brokers)) if brokers else (),
        limit=60.0,
    )


def check_ledger(run: Migration) -> None:
    """Look that every accepted move lowers the cost, by the one function, and keeps within capacity."""
    workload, places = run.workload, np.array(run.start)
    before = cost(workload, places).total
    least = 0.5 * WORTHWHILE * before
    for step in run.steps:
        assert places[step.user] == step.home
        places[step.user] = step.foreign
        after = cost(workload, places)
        assert after.within_capacity
        assert not step.paid or after.total < before - least
        assert np.isclose(step.cost, after.total)
        before = after.total
    assert (places == run.broker_of).all()


@settings(max_examples=examples(80, 5))
@given(worlds(), st.data())
def test_without_crashes_every_message_has_one_copy(world: tuple[Workload, int], data: st.DataObject) -> None:
    """If no broker dies, nothing is lost, and nothing is even sent twice; whatever the TTL."""
    workload, seed = world
    run = migrate(workload, random(workload, seed=seed), data.draw(terms()), seed=seed)
    assert run.rested
    assert run.verdict.sound
    assert run.verdict.delivered == run.messages.get("deliver", 0)
    assert (run.events["published again"], run.events["duplicates dropped"]) == (0, 0)
    check_ledger(run)


@settings(max_examples=examples(120, 10))
@given(worlds(), st.data())
def test_whoever_dies(world: tuple[Workload, int], data: st.DataObject) -> None:
    """If brokers die, it still comes to rest, and every user on a broker has every message once."""
    workload, seed = world
    run = migrate(workload, random(workload, seed=seed), data.draw(terms(workload.num_brokers)), seed=seed)
    assert run.rested
    assert run.verdict.sound
    check_ledger(run)
    dead = {broker for _, broker in run.crashed}
    on_dead = {user for user, broker in enumerate(run.broker_of.tolist()) if broker in dead}
    assert on_dead == set(run.stranded) & on_dead


@settings(max_examples=examples(40, 3))
@given(worlds(), st.data())
def test_at_rest_no_move_pays(world: tuple[Workload, int], data: st.DataObject) -> None:
    """If nobody declines, then in the end no user can move to a broker alive with room and save anything."""
    workload, seed = world
    asked = data.draw(terms(workload.num_brokers))
    run = migrate(
        workload,
        random(workload, seed=seed),
        Terms(decline=0.0, publications=5, seconds=0.1, delay=asked.delay, crashes=asked.crashes),
        seed=seed,
    )
    assert run.rested
    running = RunningCost(workload, run.broker_of)
    dead = {broker for _, broker in run.crashed}
    least = 2 * WORTHWHILE * cost(workload, run.start).total
    for user in set(range(workload.num_users)) - set(run.stranded):
        for broker in set(range(workload.num_brokers)) - dead:
            assert not running.has_room(user, broker) or running.change(user, broker) >= -least


def test_if_all_decline_nobody_moves() -> None:
    """Users that decline everything stay where they are, and are asked once for each broker at most."""
    workload = synthetic(40, 4, 10, seed=1)
    run = migrate(workload, random(workload), Terms(decline=1.0, publications=50))
    assert run.rested
    assert not run.steps
    assert 0 < run.events["declined"] <= 40 * 3


def test_the_same_seed_gives_the_same_run() -> None:
    """A run is decided by its seed to the last message, and another seed gives another."""
    workload = synthetic(40, 5, 10, seed=2)
    terms = Terms(decline=0.3, publications=300, seconds=0.5, crashes=(Crash(5),))
    runs = [migrate(workload, random(workload), terms, seed=seed) for seed in (1, 1, 2)]
    assert runs[0].steps == runs[1].steps
    assert runs[0].samples == runs[1].samples
    assert runs[0].figures == runs[1].figures
    assert runs[0].steps != runs[2].steps


def test_crash_in_the_middle_of_a_replicate() -> None:
    """Home or foreign may die as a replicate is under way, with many moves and messages in the air."""
    users, brokers = (200, 8) if COMPILED else (30, 4)
    workload = synthetic(users, brokers, 20, seed=3)
    for side in ("home", "foreign"):
        terms = Terms(publications=10 * users, seconds=1.0, decline=0.2, crashes=(Crash(10, side),))
        run = migrate(workload, random(workload, seed=4), terms, seed=5)
        assert len(run.crashed) == 1
        assert run.sound
        assert run.events["redirected"] > 0
        assert run.events["withdrawn"] > 0
        assert sum(not step.paid for step in run.steps) > 0
        check_ledger(run)
