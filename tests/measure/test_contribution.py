"""What must hold of contributions and the support curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import naive
from meshwright import Interest, Overlay
from meshwright.errors import InputError
from meshwright.measure import contributions, support, support_curve
from strategies import overlays


@given(overlays())
def test_contributions_equal_the_naive_twin(overlay: Overlay) -> None:
    """Each edge merges as many topics as the twin says, given the edges before it."""
    twin = naive.Components(overlay.interest)
    expected = [twin.link(u, v) for u, v in zip(overlay.u.tolist(), overlay.v.tolist(), strict=True)]
    found = contributions(overlay.interest, overlay.u, overlay.v)
    assert found.tolist() == expected
    assert found.dtype == np.int32


@given(overlays(most_nodes=7))
def test_curve_is_the_support_of_every_prefix(overlay: Overlay) -> None:
    """Entry i of the curve is what scipy's components say of the first i edges."""
    curve = support_curve(overlay)
    assert curve.tolist() == pytest.approx([support(overlay.prefix(i)) for i in range(len(overlay) + 1)])


@pytest.mark.parametrize("subscriptions", [{}, {"a": []}, {"a": ["x"]}])
def test_curve_where_nothing_can_be_connected(subscriptions: dict[str, list[str]]) -> None:
    """The empty prefix of an overlay with nothing to connect has support 1."""
    assert support_curve(Overlay.empty(Interest.from_dict(subscriptions))).tolist() == [1.0]


@pytest.mark.parametrize(("u", "v"), [([1], [0]), ([0], [2]), ([-1], [1]), ([1], [1])])
def test_bad_pairs_are_named(u: list[int], v: list[int]) -> None:
    """A pair that cannot be an edge is rejected and named."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    with pytest.raises(InputError, match=rf"\({u[0]}, {v[0]}\).*u < v < 2"):
        contributions(interest, np.array(u), np.array(v))


def test_ends_of_different_number() -> None:
    """Columns of different length are rejected."""
    with pytest.raises(InputError, match="1 ends u but 2 ends v"):
        contributions(Interest.from_dict({"a": {"x"}}), np.array([0]), np.array([1, 2]))
