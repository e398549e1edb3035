"""Migration at full size."""

from __future__ import annotations

import pytest

from meshwright.content import cost, synthetic
from meshwright.content.assignment.packing import random
from meshwright.content.migration import Crash, Terms, migrate


@pytest.mark.slow
def test_a_thousand_users_and_a_hundred_thousand_publications() -> None:
    """With declines, delays, reordering and a crash nothing is lost or doubled, and it rests."""
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
