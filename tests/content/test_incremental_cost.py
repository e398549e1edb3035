"""Running costs stay those of the assignment as users move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content_naive import workloads
from meshwright.content import RunningCost, cost, synthetic
from meshwright.errors import InputError


@given(st.data())
def test_moves_keep_the_cost(data: st.DataObject) -> None:
    """After every move the running cost is that of the assignment, and the change was predicted."""
    workload = data.draw(workloads())
    broker = st.integers(0, workload.num_brokers - 1)
    running = RunningCost(workload, [0] * workload.num_users)
    for _ in range(data.draw(st.integers(1, 6))):
        user, target = data.draw(st.integers(0, workload.num_users - 1)), data.draw(broker)
        before, changes = running.total, running.changes(user)
        assert running.move(user, target) == changes[target]
        assert running.broker_of[user] == target
        fresh = cost(workload, running.broker_of)
        assert running.total == pytest.approx(fresh.total)
        assert running.total - before == pytest.approx(changes[target], abs=1e-9)
        assert running.load == pytest.approx(fresh.load)
        assert running.cost().total == fresh.total


def test_full_brokers_are_rejected() -> None:
    """A move to a broker without room is rejected, and so are unknown users and brokers."""
    workload = synthetic(10, 2, 2, capacity=1.0)
    running = RunningCost(workload, [0, 1] * 5)
    user = int(workload.load.argmax())
    other = 1 - int(running.broker_of[user])
    assert not running.has_room(user, other)
    assert running.has_room(user, 1 - other)
    with pytest.raises(InputError, match=r"'broker\d' has no room for user 'user\d'"):
        running.move(user, other)
    for wrong in ((10, 0), (-1, 0), (0, 2)):
        with pytest.raises(InputError, match="there are 0 to"):
            running.change(*wrong)
