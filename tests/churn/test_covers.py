"""Covers: backups are those of the paper's algorithms, written in plain Python."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds
from meshwright.churn import LiveOverlay, Policy
from meshwright.greedy import grow, rules
from meshwright.interest import Interest

some_interests = crowds(nodes=(2, 25), topics=(1, 80), subscriptions=120)


class Chance:
    """The kernels' generator (splitmix64), in Python integers."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def draw(self, below: int) -> int:
        """Draw a number from 0 to `below` − 1."""
        mask = 2**64 - 1
        self.state = (self.state - 7046029254386353131) & mask
        word = self.state
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
        return ((word ^ (word >> 31)) >> 33) % below


def build(
    topics: list[set[int]], degree: list[int], coverage: int, seed: int, greedy: bool
) -> list[set[int]]:
    """Return the backups of every node by Alg. 11 or Alg. 12 of the paper, node after node."""
    chance, backups = Chance(seed), [set[int]() for _ in topics]
    primaries = [0] * len(topics)
    held = {t: [v for v, own in enumerate(topics) if t in own] for own in topics for t in own}
    for v, own in enumerate(topics):
        for _ in range(coverage):
            rest, paid = set(own), Counter[int]()
            if greedy:
                # The kernel draws where it begins to look, also where it looks at all subscribers.
                for topic in sorted(rest):
                    chance.draw(len(held[topic]))
            while rest:
                weight = [degree[u] + primaries[u] for u in range(len(topics))]
                if greedy:
                    able = [
                        u for u in range(len(topics)) if u != v and u not in backups[v] and topics[u] & rest
                    ]
                    if not able:
                        break
                    chosen = min(able, key=lambda u: (weight[u] / len(topics[u] & rest), u))
                else:
                    topic = sorted(rest)[chance.draw(len(rest))]
                    chance.draw(len(held[topic]))
                    able = [u for u in held[topic] if u != v and u not in backups[v]]
                    if not able:
                        rest.discard(topic)
                        continue
                    left = {u: weight[u] - paid[u] for u in able if weight[u] > paid[u]}
                    if left:
                        chosen = min(left, key=lambda u: (left[u], u))
                        paid.update(dict.fromkeys(left, left[chosen]))
                    else:
                        chosen = min(able, key=lambda u: (weight[u], u))
                backups[v].add(chosen)
                primaries[chosen] += 1
                rest -= topics[chosen]
    return backups


@pytest.mark.parametrize("greedy", [True, False], ids=["greedy", "primal-dual"])
@settings(max_examples=examples(40, 8), deadline=None)
@given(some_interests, st.integers(1, 4), seeds)
def test_backups_are_those_of_the_paper(greedy: bool, interest: Interest, coverage: int, seed: int) -> None:
    """Without a window, the first backups of every node are those of the paper's algorithm."""
    overlay = grow(interest, rules.low(3))
    degree = [0] * interest.num_nodes
    for end in (*overlay.u.tolist(), *overlay.v.tolist()):
        degree[end] += 1
    policy = Policy(backups="greedy" if greedy else "primal-dual", coverage=coverage, window=None)
    live = LiveOverlay(overlay, policy, seed=seed)
    expected = build(naive.topic_sets(interest), degree, coverage, seed, greedy)
    assert [set(live.backups(v)) for v in range(interest.num_nodes)] == expected
