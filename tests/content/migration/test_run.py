"""`migrate`: bad calls are rejected, a seed decides the whole run, and full size works."""

from __future__ import annotations

import numpy as np
import pytest

from meshwright.content import cost, synthetic
from meshwright.content.migration import Crash, CrashAt, Terms, migrate
from meshwright.content.sequential import random
from meshwright.errors import InputError


def test_bad_calls() -> None:
    """An overloaded broker, a broker or transport that does not exist, and too few brokers are rejected."""
    workload = synthetic(20, 4, 5)
    with pytest.raises(InputError, match="more users than it can carry"):
        migrate(workload, np.zeros(20, int))
    spread = np.arange(20) % 4
    for broker in (4, -1):
        with pytest.raises(InputError, match=f"no broker {broker} to crash: there are 0 to 3"):
            migrate(workload, spread, Terms(crashes=(CrashAt(1.0, broker),)))
    with pytest.raises(InputError, match="no transport 'pigeons': choose asyncio or mosquitto"):
        migrate(workload, spread, transport="pigeons")
    with pytest.raises(InputError, match="19 brokers for 20 users"):
        migrate(workload, spread[1:])


def test_the_same_seed_gives_the_same_run() -> None:
    """A run is the same to the last message for the same seed, and different for another."""
    workload = synthetic(40, 5, 10, seed=2)
    terms = Terms(decline=0.3, publications=300, seconds=0.5, crashes=(Crash(5),))
    runs = [migrate(workload, random(workload), terms, seed=seed) for seed in (1, 1, 2)]
    assert runs[0].steps == runs[1].steps
    assert runs[0].samples == runs[1].samples
    assert runs[0].figures == runs[1].figures
    assert runs[0].steps != runs[2].steps


def test_progress_and_samples() -> None:
    """Progress reports each sample: messages, the share of the publishing time, and deliveries as text."""
    workload = synthetic(20, 3, 5, seed=2)
    calls: list[tuple[int, float, str]] = []
    terms = Terms(publications=30, seconds=0.5)
    run = migrate(workload, random(workload), terms, progress=lambda *call: calls.append(call))
    assert [sample.messages for sample in run.samples] == [done for done, _, _ in calls]
    assert [min(sample.time / 0.5, 1.0) for sample in run.samples] == [share for _, share, _ in calls]
    last = run.samples[-1]
    assert calls[-1] == (sum(run.messages.values()), 1.0, f"{last.time:.1f} s, {last.delivered:,} delivered")
    assert last.delivered == run.verdict.delivered > 0
    assert run.samples[0].delivered < last.delivered


def test_the_limit_ends_a_run() -> None:
    """A run that reaches its time limit stops there, is not at rest, and therefore not sound."""
    workload = synthetic(40, 4, 10, seed=1)
    terms = Terms(publications=50, seconds=1.0, limit=0.2)
    run = migrate(workload, random(workload), terms)
    assert not run.rested
    assert not run.sound
    assert 0.2 <= run.samples[-1].time < 1.0


@pytest.mark.slow
def test_a_thousand_users_and_a_hundred_thousand_publications() -> None:
    """With declines, delays, reordering and a crash, nothing is lost or doubled, and the run ends."""
    workload = synthetic(1000, 20, 100, seed=1)
    terms = Terms(publications=100_000, seconds=10.0, decline=0.2, crashes=(Crash(100, "home"),))
    run = migrate(workload, random(workload, seed=3), terms, seed=0)
    assert len(run.crashed) == 1
    assert run.sound
    assert run.verdict.expected > 900_000
    assert not run.stranded
    assert run.events["declined"] > 100
    assert cost(workload, run.broker_of).total < 0.7 * cost(workload, run.start).total
    assert cost(workload, run.broker_of).within_capacity
