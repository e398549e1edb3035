"""Calls that make no sense are refused in one line that says what and how to mend it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from calls import overlay_of
from meshwright import Interest
from meshwright.errors import InputError
from meshwright.greedy import Tuning, candidates, grow, rules
from meshwright.workloads import unif


@pytest.fixture
def interest() -> Interest:
    return unif(6, 4, size=2, seed=1)


@pytest.mark.parametrize("budget", ["max_edges", "max_degree"])
@pytest.mark.parametrize("limit", [-1, -(2**40), 2.5, 3.0, "3", math.inf, math.nan])
def test_budgets_that_are_no_counts(interest: Interest, budget: str, limit: Any) -> None:
    """A budget is a whole number of at least zero; anything else is refused by its name."""
    with pytest.raises(InputError, match=rf"^{budget} .*{limit}.*: give .*$"):
        grow(interest, rules.gm, **{budget: limit})


@pytest.mark.parametrize("limit", [2, np.int32(2), np.uint8(2), np.int64(2)])
def test_budgets_may_be_numpys_integers(interest: Interest, limit: Any) -> None:
    """A budget that comes out of an array serves like Python's own."""
    assert len(grow(interest, rules.gm, max_edges=limit)) == 2
    assert len(grow(interest, rules.gm, max_edges=2, max_degree=limit)) == 2


@pytest.mark.parametrize("k", [0.99, 0, -3, math.nan, -math.inf])
def test_lows_k_below_one(k: float) -> None:
    """Low-ODA is defined for k ≥ 1 only."""
    with pytest.raises(InputError, match=r"k is .*at least 1"):
        rules.low(k)


@pytest.mark.parametrize(
    "unknown",
    [
        candidates.among([0, 6]),
        candidates.pairs([(0, 1), (6, 2)]),
        candidates.star(6, [0, 1]),
        candidates.all_but([(0, 6)]),
    ],
)
def test_candidates_that_name_unknown_nodes(interest: Interest, unknown: candidates.Candidates) -> None:
    """Whatever the kind of candidates, a node that does not exist is named."""
    with pytest.raises(InputError, match=r"nodes 6; ids are 0 to 5"):
        grow(interest, rules.gm, candidates=unknown)


@pytest.mark.parametrize("make", [candidates.among, lambda nodes: candidates.star(0, nodes)])
def test_candidates_below_zero(interest: Interest, make: Any) -> None:
    """A negative id does not count from the end."""
    with pytest.raises(InputError, match="nodes -1"):
        grow(interest, rules.gm, candidates=make([-1, 1]))


@pytest.mark.parametrize("make", [candidates.pairs, candidates.all_but])
def test_pairs_of_a_node_with_itself(make: Any) -> None:
    """No node can be linked to itself."""
    with pytest.raises(InputError, match="pair nodes 3 with themselves"):
        make([(0, 1), (3, 3)])


def test_a_star_leaves_its_center_out() -> None:
    """A star over a set that holds its centre is the star over the others."""
    star = candidates.star(2, [1, 2, 4]).pairs
    assert star is not None
    assert star.tolist() == [[1, 2], [2, 4]]


@pytest.mark.parametrize("nodes", [5, 7])
def test_a_start_over_other_nodes(interest: Interest, nodes: int) -> None:
    """A start with more or fewer nodes than the interest belongs to another one."""
    start = overlay_of(unif(nodes, 4, size=2, seed=1), [(0, 1)])
    with pytest.raises(InputError, match="start"):
        grow(interest, rules.gm, start=start)


def test_a_start_over_other_subscriptions(interest: Interest) -> None:
    """So does one with as many nodes, but other subscriptions; not one over the same that was made anew."""
    with pytest.raises(InputError, match="another interest"):
        grow(interest, rules.gm, start=overlay_of(unif(6, 4, size=2, seed=2), [(0, 1)]))
    again = unif(6, 4, size=2, seed=1)
    assert again is not interest
    assert len(grow(interest, rules.gm, start=overlay_of(again, [(0, 1)]))) > 1


@pytest.mark.parametrize("topics", [[0, 4], [-1], np.array([9, 1]), {4}])
def test_unknown_topics(interest: Interest, topics: Any) -> None:
    """A topic that does not exist is named."""
    with pytest.raises(InputError, match=r"topics (4|-1|9).*0 to 3"):
        grow(interest, rules.gm, topics=topics)


@pytest.mark.parametrize("threads", [0, -2])
def test_too_few_threads(interest: Interest, threads: int) -> None:
    """Somebody has to do the work."""
    with pytest.raises(InputError, match=f"{threads} threads"):
        grow(interest, rules.gm, threads=threads)


@pytest.mark.parametrize("window", [0, -4])
def test_tuning_without_a_window(window: int) -> None:
    """A row's window holds a pair at least."""
    with pytest.raises(InputError, match=f"window of {window} pairs: give at least 1"):
        Tuning(window=window)
