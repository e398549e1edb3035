"""Comparisons keep their order and name what was compared; proofs of degrees use the limit that counts."""

from __future__ import annotations

import pytest

import meshwright as mw
from meshwright.designs.certified import prove_degrees
from meshwright.designs.comparison import compare

HELD = {"a": {"x", "y"}, "b": {"x", "z"}, "c": {"y", "z"}, "d": {"x", "y", "z"}}


def test_plans_are_found_by_their_algorithm() -> None:
    """A comparison has its plans in the order asked for; other names list them."""
    compared = compare(mw.Interest.from_dict(HELD), ["ring", "gm"])
    assert [plan.algorithm for plan in compared] == ["ring", "gm"]
    assert compared["gm"].algorithm == "gm"
    with pytest.raises(KeyError, match="low: compared were ring, gm"):
        compared["low"]


def test_designs_get_the_parameters_they_take() -> None:
    """A parameter goes to the designs that have it, and to no other."""
    low, gm = compare(mw.Interest.from_dict(HELD), ["low", "gm"], k=2)
    assert low.parameters["k"] == 2
    assert "k" not in gm.parameters


@pytest.mark.parametrize(("limit", "proven"), [(1, 1), (9, 2)])
def test_the_limit_of_a_proof(limit: int, proven: int) -> None:
    """A plan that connects all topics is proven at its own maximum degree, a split one at its given limit."""
    interest = mw.Interest.from_dict({"a": {"x"}, "b": {"x", "y"}, "c": {"y"}})
    plan = mw.certify(mw.design(interest, "gpm", max_degree=limit))
    proof = prove_degrees(plan).degree_proof
    assert proof is not None
    assert proof.links.degree == proven
