"""SpiderCast and SpiderCastM equal their obvious twin, cover what they promise and keep their limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds, triples
from meshwright import Interest
from meshwright.designs import chance as design_file
from meshwright.designs import topic_sets
from meshwright.designs.chance import spidercast, spidercastm
from meshwright.designs.kernels.coverage import TRIES
from meshwright.errors import InputError
from meshwright.verify import verify_overlay
from meshwright.workloads import zipf
from strategies import interests

any_interest = st.one_of(interests(most_nodes=9, most_topics=6), crowds(nodes=(2, 25), subscriptions=150))
coverages = st.tuples(st.integers(0, 4), st.integers(0, 3))


class Stream:
    """Marsaglia's xorshift in plain integers."""

    def __init__(self, state: int) -> None:
        self.state = state

    def below(self, count: int) -> int:
        """Draw bits, as many as count − 1 has, until the number is below `count`."""
        while True:
            self.state ^= self.state << 13 & 2**64 - 1
            self.state ^= self.state >> 7
            self.state ^= self.state << 17 & 2**64 - 1
            drawn = self.state & (1 << (count - 1).bit_length()) - 1
            if drawn < count:
                return drawn


class Node:
    """One node of the twin, with all that it knows."""

    def __init__(self, v: int, topics: set[int], greedy: int, state: int) -> None:
        self.v, self.topics = v, topics
        self.at_random = False
        self.lacking = dict.fromkeys(sorted(topics), greedy)
        self.picks: list[int] = []
        self.degree = 0
        self.stream = Stream(max(state, 1))

    def gain(self, other: Node) -> int:
        return sum(self.lacking[t] > 0 for t in self.topics & other.topics)

    def choose(self, everyone: list[Node], limit: float, random: int) -> Node | None:
        """Return the next pick."""

        def allowed() -> list[Node]:
            return [
                it for it in everyone
                if it is not self and it.v not in self.picks and it.degree < limit and self.gain(it)
            ]  # fmt: skip

        if self.degree >= limit:
            return None
        if not self.at_random:
            if allowed():
                return max(allowed(), key=self.gain)
            self.at_random = True
            self.lacking = dict.fromkeys(sorted(self.topics), random)
        drawn = [it for t, often in self.lacking.items() if often for it in everyone if t in it.topics]
        if drawn != [self] * len(drawn):
            for _ in range(TRIES):
                one = drawn[self.stream.below(len(drawn))]
                if one in allowed() and (self.gain(one) == 1 or self.stream.below(self.gain(one)) == 0):
                    return one
        return allowed()[self.stream.below(len(allowed()))] if allowed() else None


def twin(interest: Interest, greedy: int, random: int, limit: float, seed: int) -> list[naive.Edge]:
    """Let all nodes pick in turns until no node picks."""
    states = np.random.PCG64(seed).random_raw(interest.num_nodes).tolist()
    held = naive.topic_sets(interest)
    everyone = [Node(v, own, greedy, state) for v, (own, state) in enumerate(zip(held, states, strict=True))]
    edges: list[naive.Edge] = []
    taking = everyone
    while taking:
        going = []
        for one in taking:
            other = one.choose(everyone, limit, random)
            if other is None:
                continue
            going.append(one)
            one.picks.append(other.v)
            for t in one.topics & other.topics:
                one.lacking[t] = max(one.lacking[t] - 1, 0)
            if one.v not in other.picks:
                edges.append((min(one.v, other.v), max(one.v, other.v)))
                one.degree += 1
                other.degree += 1
        taking = going
    return edges


@settings(max_examples=examples(80, 30))
@given(any_interest, coverages, st.one_of(st.none(), st.integers(0, 6)), seeds, st.data())
def test_coverage_equals_the_twin(
    interest: Interest, times: tuple[int, int], limit: int | None, seed: int, data: st.DataObject
) -> None:
    """Whatever the windows, and whether topics are popular or rare: each link is the twin's, in order."""
    given = {"coverage_greedy": times[0], "coverage_random": times[1], "seed": seed}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(design_file, "WINDOW", data.draw(st.sampled_from([1, 2, 8]), label="window"))
        patch.setattr(topic_sets, "RARE", data.draw(st.sampled_from([1, 3, 400]), label="rare"))
        if limit is None:
            overlay = spidercast(interest, **given)
        else:
            overlay = spidercastm(interest, max_degree=limit, **given)
    components = naive.Components(interest)
    edges = twin(interest, *times, float("inf") if limit is None else limit, seed)
    assert triples(overlay) == [(u, v, components.link(u, v)) for u, v in edges]


@settings(max_examples=examples(10, 2))
@given(crowds(nodes=(65, 130), topics=(20, 90), subscriptions=400), seeds)
def test_more_nodes_than_a_word_has_bits(interest: Interest, seed: int) -> None:
    """With rows of several words, too, each link is the twin's."""
    assert [(u, v) for u, v, _ in triples(spidercast(interest, seed=seed))] == twin(
        interest, 3, 1, float("inf"), seed
    )


@given(any_interest, coverages, seeds)
def test_every_topic_is_covered(interest: Interest, times: tuple[int, int], seed: int) -> None:
    """Each node is linked to K_g + K_r subscribers of each of its topics, or to all others there are."""
    overlay = spidercast(interest, coverage_greedy=times[0], coverage_random=times[1], seed=seed)
    held = naive.topic_sets(interest)
    linked = {(u, v) for u, v, _ in triples(overlay)} | {(v, u) for u, v, _ in triples(overlay)}
    for u, own in enumerate(held):
        for topic in own:
            others = [v for v, theirs in enumerate(held) if v != u and topic in theirs]
            assert sum((u, v) in linked for v in others) >= min(sum(times), len(others))


@given(any_interest, st.integers(0, 5), coverages, seeds)
def test_the_limit_holds(interest: Interest, limit: int, times: tuple[int, int], seed: int) -> None:
    """No node has more links than the limit, and contributions are what they claim."""
    overlay = spidercastm(
        interest, max_degree=limit, coverage_greedy=times[0], coverage_random=times[1], seed=seed
    )
    found = verify_overlay(overlay)
    assert found.degrees.maximum <= limit
    assert found.contributions_agree


@given(any_interest, seeds)
def test_a_limit_that_nobody_reaches_changes_nothing(interest: Interest, seed: int) -> None:
    """With as many links allowed as there are nodes, SpiderCastM is SpiderCast."""
    limited = spidercastm(interest, max_degree=interest.num_nodes, seed=seed)
    assert triples(limited) == triples(spidercast(interest, seed=seed))


def test_the_seed_matters_to_random_picks_only() -> None:
    """The same seed gives the same links, another one others, unless all picks are greedy."""
    interest = zipf(60, 20, size=5, seed=3)
    once, again, other = (triples(spidercast(interest, seed=seed)) for seed in (1, 1, 2))
    assert once == again
    assert once != other
    calm = [triples(spidercast(interest, coverage_random=0, seed=seed)) for seed in (1, 2)]
    assert calm[0] == calm[1]


def test_random_picks_are_uniform() -> None:
    """Of the nodes that share little or much with a, each is its first random pick equally often."""
    interest = Interest.from_dict(
        {"a": {"x", "y", "z"}, "b": {"x", "y", "z"}, "c": {"x", "y"}, "d": {"z"}, "e": {"y"}, "f": {"w"}}
    )
    counts = dict.fromkeys("bcdef", 0)
    rounds = 4000
    for seed in range(rounds):
        overlay = spidercast(interest, coverage_greedy=0, coverage_random=1, seed=seed)
        one, other = overlay.edges[0]
        assert one == "a"
        counts[str(other)] += 1
    assert counts.pop("f") == 0
    spread = sum((count - rounds / 4) ** 2 / (rounds / 4) for count in counts.values())
    assert spread < 16.27  # χ² with three degrees of freedom exceeds it once in a thousand times


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"coverage_greedy": -1}, "coverage_greedy is -1"),
        ({"coverage_random": 1.5}, "coverage_random is 1.5"),
        ({"seed": -3}, "seed is -3"),
    ],
)
def test_bad_values_are_rejected(parameters: dict[str, Any], message: str) -> None:
    """A value that is not a whole number of zero or more is named."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    with pytest.raises(InputError, match=f"{message}: give a whole number of 0 or more"):
        spidercast(interest, **parameters)
    with pytest.raises(InputError, match="max_degree is -1: give"):
        spidercastm(interest, max_degree=-1)
