"""Comparisons keep their order and name what was compared; proofs of degrees use the limit that counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

import meshwright as mw
from meshwright.designs.design import compare
from meshwright.designs.proofs import prove_degrees

HELD = {"a": {"x", "y"}, "b": {"x", "z"}, "c": {"y", "z"}, "d": {"x", "y", "z"}}


def test_plans_are_found_by_their_algorithm() -> None:
    """A comparison has its plans in the order asked for; other names list them."""
    compared = compare(mw.Interest.from_dict(HELD), ["ring", "gm"])
    assert [plan.algorithm for plan in compared] == ["ring", "gm"]
    assert compared["gm"].algorithm == "gm"
    with pytest.raises(KeyError, match="low: compared were ring, gm"):
        compared["low"]


def test_a_plan_of_an_unknown_name_is_shown_by_that_name() -> None:
    """A comparison with somebody's own design shows itself in a notebook."""
    gm = mw.design(HELD, "gm")
    shown = mw.Comparison((replace(gm, algorithm="<mine>"), gm))._repr_html_()
    assert "&lt;mine&gt;" in shown
    assert "Greedy Merge" in shown


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


def test_known_proofs_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices and the lowest degree are proven once for an interest, and links once for each degree."""
    interest = mw.workloads.unif(40, 12, min_size=2, max_size=6, seed=1)
    minmax = mw.certify(mw.design(interest, "minmax"))
    low = mw.certify(mw.design(interest, "low"), known=[minmax])
    assert minmax.degree_proof is not None
    assert low.degree_proof is not None
    assert low.prices is minmax.prices
    assert low.degree_proof.lowest is minmax.degree_proof.lowest
    assert low.figures == {**mw.certify(mw.design(interest, "low")).figures, "seconds": low.seconds}
    again = mw.certify(mw.design(interest, "minmax"), known=[low, minmax])
    assert again.degree_proof is minmax.degree_proof
    assert mw.certify(mw.design(interest, "gm"), known=low).prices is minmax.prices
    other = mw.workloads.unif(40, 12, min_size=2, max_size=6, seed=2)
    with pytest.raises(mw.MeshwrightError, match="made for another interest"):
        mw.certify(mw.design(other, "gm"), known=[low])
    # A proof of degrees is refused even if better prices of the right interest come with it.
    theirs = mw.certify(mw.design(other, "minmax"))
    mixed = replace(theirs, prices=None)
    with pytest.raises(mw.MeshwrightError, match="made for another interest"):
        mw.certify(mw.design(interest, "minmax"), known=[minmax, mixed])


def test_a_proof_without_time_is_made_again_with_some() -> None:
    """A bound that proves no more than plain prices may have lacked time: it is not used again."""
    interest = mw.workloads.unif(60, 20, min_size=2, max_size=6, seed=1)
    plan = mw.design(interest, "gpm", max_degree=4)
    hasty = mw.certify(plan, seconds=0.0)
    assert hasty.figures["bound_at_degree"] == hasty.figures["lower_bound"]
    assert (
        mw.certify(plan, known=[hasty], seconds=60.0).figures["bound_at_degree"]
        > hasty.figures["lower_bound"]
    )
