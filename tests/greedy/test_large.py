"""The engine is exact at real sizes: against a dense twin, and with any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from meshwright import workloads
from meshwright.greedy import grow, rules
from meshwright.greedy.rules import Rule
from meshwright.interest import Interest
from meshwright.verify import verify_overlay

pytestmark = pytest.mark.slow

SHAPES = {
    "many alike": {"nodes": 1200, "topics": 60, "size": 8},
    "mixed sizes": {"nodes": 700, "topics": 150, "min_size": 5, "max_size": 120},
    "many topics": {"nodes": 500, "topics": 900, "min_size": 3, "max_size": 200},
}


def dense_twin(interest: Interest, rule: Rule) -> list[tuple[int, int, int]]:
    """Keep every pair's contribution in a matrix, and take its first largest entry in every step."""
    n = interest.num_nodes
    incidence = interest.to_scipy().toarray()
    contribution = np.triu(incidence @ incidence.T, 1)
    component = np.where(incidence, np.arange(n)[:, None], -1)
    degree = np.zeros(n, dtype=int)
    added: list[tuple[int, int, int]] = []
    while True:
        u, v = divmod(int(contribution.argmax()), n)
        best = int(contribution[u, v])
        if best == 0:
            return added
        if rule.k is not None:
            below = degree < degree.max()
            sparing = np.where(np.outer(below, below), contribution, 0)
            a, b = divmod(int(sparing.argmax()), n)
            gain = int(sparing[a, b])
            if gain > 0 and gain * rule.k >= best:
                u, v, best = a, b, gain
        for topic in np.flatnonzero(
            (component[u] >= 0) & (component[v] >= 0) & (component[u] != component[v])
        ):
            mine, yours = (np.flatnonzero(component[:, topic] == component[end, topic]) for end in (u, v))
            for x, others in ((x, yours) for x in mine):
                np.subtract.at(contribution, (np.minimum(x, others), np.maximum(x, others)), 1)
            component[yours, topic] = component[u, topic]
        degree[[u, v]] += 1
        added.append((u, v, best))


@pytest.mark.parametrize("rule", [rules.gm, rules.minmax, rules.low(3)], ids=lambda rule: rule.name)
@pytest.mark.parametrize("popularity", ["zipf", "expo", "unif"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_workloads_equal_the_dense_twin(shape: dict[str, int], popularity: str, rule: Rule) -> None:
    """With hundreds of nodes, each link and contribution is that of the dense twin."""
    interest = workloads.WORKLOADS[popularity](**shape, seed=4)
    overlay = grow(interest, rule)
    added = np.stack((overlay.u, overlay.v, overlay.contribution), axis=1)
    assert added.tolist() == [list(edge) for edge in dense_twin(interest, rule)]


@pytest.mark.parametrize("rule", [rules.gm, rules.minmax, rules.low(3)], ids=lambda rule: rule.name)
def test_threads_change_nothing_at_thirty_thousand_nodes(rule: Rule) -> None:
    """One, two and three threads give the same links, which connect every topic."""
    interest = workloads.zipf(30_000, 500, min_size=5, max_size=40, seed=2)
    once, *more = (grow(interest, rule, threads=threads) for threads in (1, 2, 3))
    for overlay in more:
        assert np.array_equal(once.u, overlay.u)
        assert np.array_equal(once.v, overlay.v)
        assert np.array_equal(once.contribution, overlay.contribution)
    assert verify_overlay(once).connected
