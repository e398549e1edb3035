"""Social workloads: followers are subscribers, the followed are topics."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.workloads import social
from meshwright.workloads.synthetic import COMMUNITY


def follows(interest: Interest) -> set[tuple[int, int]]:
    """Return who follows whom, by numbers."""
    followers = np.repeat(np.arange(interest.num_nodes), np.diff(interest.node_ptr))
    return set(zip(followers.tolist(), interest.node_topics.tolist(), strict=True))


@settings(max_examples=30)
@given(
    st.integers(3, 250),
    st.floats(0, 3),
    st.floats(0, 1),
    st.booleans(),
    st.integers(0, 2**70),
    st.data(),
)
def test_everybody_follows_somebody_else(
    users: int, alpha: float, locality: float, both_ways: bool, seed: int, data: st.DataObject
) -> None:
    """Every user follows somebody, never itself, and at most as many as it chose; friends follow back."""
    low = data.draw(st.integers(1, users - 1))
    high = data.draw(st.integers(low, users - 1))
    shape: dict[str, Any] = {"alpha": alpha, "locality": locality}
    interest = social(users, min_size=low, max_size=high, both_ways=both_ways, seed=seed, **shape)
    assert interest.num_nodes == interest.num_topics == users
    assert interest.node_names == interest.topic_names
    pairs = follows(interest)
    assert all(u != v for u, v in pairs)
    sizes = np.diff(interest.node_ptr)
    assert sizes.min() >= 1
    one_way = social(users, min_size=low, max_size=high, seed=seed, **shape)
    assert np.diff(one_way.node_ptr).max() <= high
    back = {(v, u) for u, v in follows(one_way)}
    assert pairs == follows(one_way) | (back if both_ways else set())


def test_communities_keep_to_themselves() -> None:
    """With a locality of 1 all follows are inside a community, with 0 hardly any are, with ½ about half."""
    users = 20 * COMMUNITY
    for locality, low, high in ((1.0, 0.99, 1.0), (0.5, 0.45, 0.55), (0.0, 0.0, 0.1)):
        pairs = follows(social(users, size=8, alpha=0.0, locality=locality, seed=2))
        inside = sum(u // COMMUNITY == v // COMMUNITY for u, v in pairs) / len(pairs)
        assert low <= inside <= high


def test_popularity_is_unequal_and_dealt_out_at_random() -> None:
    """With alpha 1 few have most of the followers, and they are not the users of the lowest numbers."""
    followers = np.diff(social(5000, size=10, locality=0.0, seed=3).topic_ptr)
    top = np.argsort(-followers)[:50]
    assert followers[top].sum() > 0.3 * followers.sum()
    assert 1500 < top.mean() < 3500


def test_a_seed_means_the_same_everywhere() -> None:
    """The workload is the same on every platform and every numpy; a change here breaks users' seeds."""
    interest = social(300, min_size=2, max_size=40, both_ways=True, seed=7)
    assert interest.whole_fingerprint[:16] == "9dab1c5445e257cd"


@pytest.mark.parametrize(
    ("users", "options", "reason"),
    [
        (1, {"size": 1}, "1 users: give at least 2"),
        (10**10, {"size": 1}, "^10000000000 users: at most .* give fewer$"),
        (10, {"size": 10}, "up to 10 choices for each of 10 users"),
        (10, {"size": 2, "locality": 1.5}, "a locality of 1.5: give a share from 0 to 1"),
        (10, {"size": 2, "locality": float("nan")}, "a locality of nan"),
        (10, {"size": 2, "seed": -1}, "a seed of -1"),
        (10, {"size": 2, "seed": "x"}, "a seed of 'x'"),
        (10, {"min_size": 2}, "only one of min_size and max_size"),
    ],
)
def test_what_makes_no_sense_is_rejected(users: int, options: dict[str, Any], reason: str) -> None:
    """Each invalid parameter is named in one line."""
    with pytest.raises(InputError, match=reason):
        social(users, **options)
