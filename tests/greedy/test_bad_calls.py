"""Invalid calls raise one line that says what is wrong and how to fix it."""

from __future__ import annotations

import math
from fractions import Fraction
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
def test_invalid_budgets(interest: Interest, budget: str, limit: Any) -> None:
    """A budget that is not a whole number of zero or more is refused, with its name."""
    with pytest.raises(InputError, match=rf"^{budget} .*{limit}.*: give .*$"):
        grow(interest, rules.gm, **{budget: limit})


@pytest.mark.parametrize("limit", [2, np.int32(2), np.uint8(2), np.int64(2)])
def test_numpy_integers_as_budgets(interest: Interest, limit: Any) -> None:
    """A budget may be an integer of numpy's as well as of Python's."""
    assert len(grow(interest, rules.gm, max_edges=limit)) == 2
    assert len(grow(interest, rules.gm, max_edges=2, max_degree=limit)) == 2


@pytest.mark.parametrize("k", [3, 3.0, np.int64(3), np.float32(3), Fraction(3)])
def test_lows_k_is_any_real_number(k: Any) -> None:
    """Low-ODA's k may be any real number: Python's, numpy's or a fraction."""
    assert rules.low(k) == rules.Rule("low", 3.0)
    assert type(rules.low(k).k) is float


def test_lows_k_beyond_floats() -> None:
    """A k that a float cannot hold is refused."""
    with pytest.raises(InputError, match="k is larger than a float can hold: give a smaller one"):
        rules.low(10**5000)


@pytest.mark.parametrize("k", [0.99, 0, -3, math.nan, -math.inf, True, "3", None])
def test_lows_k_below_one(k: Any) -> None:
    """Low-ODA's k must be a number of at least 1."""
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
def test_candidates_with_unknown_nodes(interest: Interest, unknown: candidates.Candidates) -> None:
    """All kinds of candidates refuse unknown nodes and name them."""
    with pytest.raises(InputError, match=r"nodes 6; ids are 0 to 5"):
        grow(interest, rules.gm, candidates=unknown)


@pytest.mark.parametrize("make", [candidates.among, lambda nodes: candidates.star(0, nodes)])
def test_candidates_below_zero(interest: Interest, make: Any) -> None:
    """Negative ids are refused; they do not count from the end."""
    with pytest.raises(InputError, match="nodes -1"):
        grow(interest, rules.gm, candidates=make([-1, 1]))


@pytest.mark.parametrize("make", [candidates.pairs, candidates.all_but])
def test_pairs_of_a_node_with_itself(make: Any) -> None:
    """A pair of a node with itself is refused."""
    with pytest.raises(InputError, match="pair nodes 3 with themselves"):
        make([(0, 1), (3, 3)])


def test_a_star_leaves_its_center_out() -> None:
    """A star ignores its centre among the others."""
    star = candidates.star(2, [1, 2, 4]).pairs
    assert star is not None
    assert star.tolist() == [[1, 2], [2, 4]]


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([0.5, 1.7], r"^nodes 0\.5, 1\.7 are not integers: give ids$"),
        ([0, None], r"^nodes 0, None are not integers: give ids$"),
        ([True, False], r"^nodes True, False are not integers: give ids$"),
        (["a"], r"^nodes 'a' are not integers: give their ids, as node_id and topic_id find them$"),
        ([1, 2**40], r"^nodes 1099511627776 are beyond 2³¹ − 1"),
        ([2**90], rf"^nodes {2**90} are beyond 2³¹ − 1"),
        (np.array([2**63], dtype=np.uint64), rf"^nodes {2**63} are beyond 2³¹ − 1"),
        ([(0, 1)], r"^nodes have the shape \(1, 2\): give one column of ids$"),
        (7, r"^nodes are 7: give "),
        (np.array(7), r"^nodes are array\(7\): give "),
    ],
)
def test_invalid_ids(ids: Any, said: str) -> None:
    """Values that are not integers, exceed 32 bits or have a wrong shape are refused before any cast."""
    with pytest.raises(InputError, match=said):
        candidates.among(ids)


@pytest.mark.parametrize(
    "ids", [[2, 0], {0, 2}, iter([0, 2]), np.array([0, 2, 2]), np.array([0, 2], np.uint8)]
)
def test_ids_of_every_kind(ids: Any) -> None:
    """Ids may be lists, sets, iterators and arrays of any integer type."""
    nodes = candidates.among(ids).nodes
    assert nodes is not None
    assert nodes.dtype == np.int32
    assert nodes.tolist() == [0, 2]


@pytest.mark.parametrize("make", [candidates.pairs, candidates.all_but])
@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([(0, 1, 2), (1, 2, 0)], r"^pairs have the shape \(2, 3\): give 2 columns of ids$"),
        ([0, 1, 2, 3], r"^pairs have the shape \(4,\): give 2 columns of ids$"),
        ([(0, 1), (2,)], r"^pairs are \[\(0, 1\), \(2,\)\]: give ids, each in the same form$"),
        ([("a", "b")], r"^pairs 'a', 'b' are not integers: give their ids"),
        (np.array([[0, 2**32 + 1]]), rf"^pairs {2**32 + 1} are beyond 2³¹ − 1"),
    ],
)
def test_invalid_pairs(make: Any, edges: Any, said: str) -> None:
    """Pairs need exactly two columns of ids; names are refused."""
    with pytest.raises(InputError, match=said):
        make(edges)


@pytest.mark.parametrize("topics", [[0.9], ["x"], [2**40]])
def test_invalid_topics(interest: Interest, topics: Any) -> None:
    """Topics that are not ids are refused, not rounded."""
    with pytest.raises(InputError, match=r"^topics .* are (not integers|beyond)"):
        grow(interest, rules.gm, topics=topics)


@pytest.mark.parametrize("rule", ["gm", None, rules.low])
def test_invalid_rules(interest: Interest, rule: Any) -> None:
    """A rule must be a `Rule`; its name is refused."""
    with pytest.raises(InputError, match=r"^the rule is .*: make one by rules.gm, rules.minmax or rules.low"):
        grow(interest, rule)


@pytest.mark.parametrize("nodes", [5, 7])
def test_a_start_over_other_nodes(interest: Interest, nodes: int) -> None:
    """A start with more or fewer nodes than the interest is refused."""
    start = overlay_of(unif(nodes, 4, size=2, seed=1), [(0, 1)])
    with pytest.raises(InputError, match="start"):
        grow(interest, rules.gm, start=start)


def test_a_start_over_other_subscriptions(interest: Interest) -> None:
    """A start with other subscriptions is refused; an equal interest built a second time is accepted."""
    with pytest.raises(InputError, match="another interest"):
        grow(interest, rules.gm, start=overlay_of(unif(6, 4, size=2, seed=2), [(0, 1)]))
    again = unif(6, 4, size=2, seed=1)
    assert again is not interest
    assert len(grow(interest, rules.gm, start=overlay_of(again, [(0, 1)]))) > 1


@pytest.mark.parametrize("topics", [[0, 4], [-1], np.array([9, 1]), {4}])
def test_unknown_topics(interest: Interest, topics: Any) -> None:
    """Unknown topics are refused and named."""
    with pytest.raises(InputError, match=r"topics (4|-1|9).*0 to 3"):
        grow(interest, rules.gm, topics=topics)


@pytest.mark.parametrize("threads", [0, -2])
def test_too_few_threads(interest: Interest, threads: int) -> None:
    """Fewer than one thread is refused."""
    with pytest.raises(InputError, match=f"{threads} threads"):
        grow(interest, rules.gm, threads=threads)


@pytest.mark.parametrize("window", [0, -4])
def test_tuning_without_a_window(window: int) -> None:
    """A window of less than one pair is refused."""
    with pytest.raises(InputError, match=f"window of {window} pairs: give at least 1"):
        Tuning(window=window)
