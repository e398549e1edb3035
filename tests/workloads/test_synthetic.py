"""Synthetic workloads as a user calls them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.workloads import WORKLOADS, Sizes, synthetic, zipf
from meshwright.workloads.synthetic import numbered

RANGE = {"min_size": 5, "max_size": 60}


@pytest.mark.parametrize(
    ("name", "arguments", "fingerprint"),
    [
        ("zipf", {"size": 10}, "9c2f83ad86d656eb"),
        ("zipf", {"alpha": 2.0, **RANGE}, "f9d2cedc7c497f53"),
        ("expo", {"size": 10}, "f1ced9c0ae49c8bf"),
        ("expo", RANGE, "da63ae4627f1b655"),
        ("unif", {"size": 10}, "c90038b0b2a00261"),
        ("unif", {"exponent": 2.5, **RANGE}, "a442f2143cb0fcb5"),
    ],
)
def test_a_seed_means_the_same_everywhere(name: str, arguments: dict[str, Any], fingerprint: str) -> None:
    """These workloads are the same on every platform and every numpy; a change here breaks users' seeds."""
    assert WORKLOADS[name](300, 100, seed=7, **arguments).whole_fingerprint[:16] == fingerprint


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(list(WORKLOADS.values())),
    st.integers(1, 60),
    st.integers(1, 40),
    st.integers(0, 2**70),
    st.data(),
)
def test_every_node_has_its_topics(
    workload: Callable[..., Interest], nodes: int, topics: int, seed: int, data: st.DataObject
) -> None:
    """Counts are as requested, sizes lie in their range, and names alone give the same interest again."""
    low = data.draw(st.integers(1, topics))
    high = data.draw(st.integers(low, topics))
    interest = workload(nodes, topics, min_size=low, max_size=high, seed=seed)
    sizes = np.diff(interest.node_ptr)
    assert (interest.num_nodes, interest.num_topics) == (nodes, topics)
    assert low <= sizes.min() <= sizes.max() <= high
    table = interest.to_arrow()
    again = Interest.from_pairs(
        table["node"],
        table["topic"],
        all_nodes=interest.node_names.to_pylist(),
        all_topics=interest.topic_names.to_pylist(),
    )
    assert again.fingerprint == interest.fingerprint
    assert workload(nodes, topics, min_size=low, max_size=high, seed=seed).fingerprint == again.fingerprint


def test_seeds_differ() -> None:
    """Another seed gives another workload."""
    assert len({zipf(50, 20, size=5, seed=seed).fingerprint for seed in range(20)}) == 20


def test_sizes_have_the_frequencies_of_their_law() -> None:
    """The share of each size is near its probability."""
    law = Sizes(2, 8, 1.5)
    interest = synthetic(50_000, np.ones(10), law, seed=3)
    shares = np.bincount(np.diff(interest.node_ptr), minlength=9)[2:] / 50_000
    np.testing.assert_allclose(shares, law.probabilities, atol=5 * np.sqrt(0.25 / 50_000))


def test_popular_topics_come_first() -> None:
    """Under Zipf and exponential popularity earlier topics have more subscribers, by tenths of all topics."""
    for name in ("zipf", "expo"):
        interest = WORKLOADS[name](5000, 100, size=10, seed=2)
        by_tenth = np.diff(interest.topic_ptr).reshape(10, 10).sum(axis=1)
        assert (np.diff(by_tenth) < 0).all()


@pytest.mark.parametrize("count", [1, 10, 11, 1234])
def test_names_sort_as_numbers(count: int) -> None:
    """Names are padded to the width of the largest, and their order is that of the numbers."""
    width = len(str(count - 1))
    names = numbered("b", count).to_pylist()
    assert names == [f"b{i:0{width}d}" for i in range(count)] == sorted(names)


def test_names_of_more_text_than_strings_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are together too long for Arrow's strings become large strings with the same text."""
    expected = zipf(20, 9, size=3)
    monkeypatch.setitem(numbered.__globals__, "MOST_BYTES", 30)
    names = numbered("b", 11)
    assert (names.type, names.to_pylist()) == (pa.large_string(), [f"b{number:02d}" for number in range(11)])
    assert zipf(20, 9, size=3).fingerprint == expected.fingerprint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nodes": 0}, "0 nodes: give at least 1"),
        ({"nodes": -3}, "-3 nodes"),
        ({"topics": 0}, "0 topics"),
        ({"size": 21}, "up to 21 distinct topics for each node, but only 20"),
        ({"size": -1}, "-1 topics for each node"),
        ({"min_size": 3, "max_size": 40}, "only 20 topics"),
        ({"alpha": -1.0}, "alpha"),
        ({"seed": -1}, "a seed of -1"),
        ({"seed": 1.5}, "a seed of 1.5"),
        ({"nodes": 10**9, "size": 3}, "2³¹"),
        ({"nodes": 10**10, "size": 1}, "^10000000000 nodes: at most .* give fewer$"),
        ({"topics": 10**10, "size": 1}, "^10000000000 topics: at most .* give fewer$"),
        ({"nodes": 2.5}, "^2.5 nodes: give a whole number"),
        ({"size": 2.5}, "^2.5 topics for each node: give a whole number"),
        ({"min_size": 2, "max_size": 3.5}, "^3.5 topics for each node: give a whole number"),
    ],
)
def test_bad_parameters_are_rejected(arguments: dict[str, Any], message: str) -> None:
    """An invalid parameter is rejected with one line that names it and says how to fix it."""
    with pytest.raises(InputError, match=message) as caught:
        zipf(**{"nodes": 10, "topics": 20, **arguments})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("popularity", [[0.5, -0.1], [0.5, np.nan], [0.5, np.inf]])
def test_bad_popularity_is_rejected(popularity: list[float]) -> None:
    """An invalid weight is rejected, and the message names the topic."""
    with pytest.raises(InputError, match="topics 1 is"):
        synthetic(5, popularity, Sizes(1, 1))
