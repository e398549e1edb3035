"""Changes of running brokers under traffic: what they lose stays small, and each topic is cut briefly."""

from __future__ import annotations

import pytest
from benchmarks.changes import measure

from brokers import PROGRAM


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
@pytest.mark.parametrize(("profile", "most"), [("plain", 0.08), ("durable", 0.04)])
def test_a_change_loses_little(profile: str, most: float) -> None:
    """Before brokers acted together, a change lost 25 % (plain) and 16 % (durable) of all deliveries."""
    found = measure(profile, changes=2, seed=2)
    assert found["due"] > 1000
    assert found["missing"] < most * found["due"]
    assert found["cut_median_s"] < 1.0
    if profile == "durable":
        assert found["missing_where_trees_stay"] == 0
