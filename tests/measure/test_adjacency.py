"""What must hold of degrees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from meshwright import Interest, Overlay
from meshwright.measure import degrees
from strategies import overlays


@given(overlays())
def test_degrees_are_those_of_the_graph(overlay: Overlay) -> None:
    """Every figure follows from counting the edges at each node."""
    edges = list(zip(overlay.u.tolist(), overlay.v.tolist(), strict=True))
    expected = [sum(v in edge for edge in edges) for v in range(overlay.interest.num_nodes)]
    found = degrees(overlay)
    assert found.of_node.tolist() == expected
    assert found.maximum == max(expected, default=0)
    assert found.average == pytest.approx(sum(expected) / max(len(expected), 1))
    assert found.distribution.tolist() == [expected.count(d) for d in range(max(expected, default=-1) + 1)]


def test_no_nodes() -> None:
    """Without nodes the degrees are zero, not an error."""
    found = degrees(Overlay.empty(Interest.from_dict({})))
    assert (found.average, found.maximum, len(found.of_node), len(found.distribution)) == (0.0, 0, 0, 0)


def test_nodes_without_links() -> None:
    """Nodes without links count in the average and in the distribution."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": set()})
    overlay = Overlay(interest, *(np.array([i], dtype=np.int32) for i in (0, 1, 1)))
    found = degrees(overlay)
    assert found.average == pytest.approx(2 / 3)
    assert found.distribution.tolist() == [1, 2]
