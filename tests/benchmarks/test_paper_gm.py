"""The paper's own GM, a competitor of the engine, is correct."""

import numpy as np
import pytest
from benchmarks.competitors.paper_gm import MOST_NODES, paper_gm
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.greedy.candidates import everything
from meshwright.interest import Interest
from meshwright.workloads import WORKLOADS, cuboid
from naive import Components, candidate_pairs

pytestmark = pytest.mark.slow  # compiling the competitor takes longer than most rooms' tests


def assert_greedy(interest: Interest) -> None:
    """Replay the edges: each has the largest contribution when added, and no pair contributes at the end."""
    components = Components(interest)
    pairs = candidate_pairs(everything, interest.num_nodes)
    for u, v, gain in np.stack(paper_gm(interest)).T.tolist():
        best = max(len(components.merged_topics(a, b)) for a, b in pairs)
        assert components.link(u, v) == gain == best > 0
    assert not any(components.merged_topics(u, v) for u, v in pairs)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sets(st.integers(0, 7), max_size=6), min_size=1, max_size=14))
def test_every_edge_has_the_largest_contribution(topics: list[set[int]]) -> None:
    """On any interest, the competitor is greedy and connects every topic."""
    assert_greedy(Interest.from_dict(dict(enumerate(topics))))


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_edge_has_the_largest_contribution_on_workloads(name: str) -> None:
    """The same on workloads like those of the benchmarks, where components are large."""
    assert_greedy(WORKLOADS[name](40, 12, min_size=2, max_size=9, seed=4))


def test_the_cuboid_is_as_bad_as_proved() -> None:
    """Lemma 6.6 holds for the paper's own algorithm."""
    assert len(paper_gm(cuboid(3, 4))[0]) == 18


def test_too_many_nodes_are_rejected() -> None:
    """More than 65,536 nodes are rejected, because pair numbers would overflow."""
    crowd = WORKLOADS["unif"](MOST_NODES + 1, 2, size=1)
    with pytest.raises(ValueError, match="65537 nodes"):
        paper_gm(crowd)
