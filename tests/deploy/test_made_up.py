"""Made-up federations: fit to run, and with loops where a storm is to be shown."""

from __future__ import annotations

import pytest

from meshwright.deploy import wire
from meshwright.deploy.federation.made_up import made_up
from meshwright.deploy.federation.storm import untreed


@pytest.mark.parametrize("brokers", [3, 4, 6, 12, 30])
def test_there_is_something_to_storm(brokers: int) -> None:
    """Asked for loops, some topic's links have one, whatever the seed; the trees have none."""
    for seed in range(5):
        routed, links, _ = made_up(brokers, loops=True, seed=seed)
        assert len(routed.brokers) == brokers
        assert untreed(routed, links)[1] is not None
        assert all(len(way.links) == len(way.carriers) - 1 for way in routed.checked().ways.values())
        assert {frozenset(pair) for pair in wire(routed).bridges} <= {frozenset(pair) for pair in links}
