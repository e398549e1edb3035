"""The slow, obvious twin of each kernel: plain Python, straight from the definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from meshwright.greedy.candidates import Candidates, everything
from meshwright.greedy.rules import Rule
from meshwright.interest import Interest

Edge = tuple[int, int]


def topic_sets(interest: Interest) -> list[set[int]]:
    """Return the topics of each node, by id."""
    ptr, topics = interest.node_ptr, interest.node_topics
    return [set(topics[ptr[v] : ptr[v + 1]].tolist()) for v in range(interest.num_nodes)]


class Components:
    """For each topic, which component each subscriber is in: a dict, relabelled in full on each merge."""

    def __init__(self, interest: Interest, topics: set[int] | None = None) -> None:
        everyone = topic_sets(interest)
        self.topics = [own if topics is None else own & topics for own in everyone]
        self.of: dict[int, dict[int, int]] = {}
        for v, own in enumerate(self.topics):
            for t in own:
                self.of.setdefault(t, {})[v] = v

    def merged_topics(self, u: int, v: int) -> list[int]:
        """Return the topics that an edge between u and v would merge."""
        return [t for t in self.topics[u] & self.topics[v] if self.of[t][u] != self.of[t][v]]

    def link(self, u: int, v: int) -> int:
        """Add an edge and return its contribution."""
        merged = self.merged_topics(u, v)
        for t in merged:
            old, new = self.of[t][u], self.of[t][v]
            self.of[t] = {w: new if label == old else label for w, label in self.of[t].items()}
        return len(merged)


def candidate_pairs(candidates: Candidates, num_nodes: int) -> list[Edge]:
    """Spell the candidates out, in lexicographic order."""
    if candidates.pairs is not None:
        return [(int(u), int(v)) for u, v in candidates.pairs]
    nodes = range(num_nodes) if candidates.nodes is None else candidates.nodes.tolist()
    barred = set() if candidates.excluded is None else {(int(u), int(v)) for u, v in candidates.excluded}
    return [pair for pair in combinations(nodes, 2) if pair not in barred]


def grow(
    interest: Interest,
    rule: Rule,
    *,
    start: list[Edge] | None = None,
    candidates: Candidates = everything,
    topics: set[int] | None = None,
    max_edges: int | None = None,
    max_degree: int | None = None,
) -> list[tuple[int, int, int]]:
    """Return the added edges (u, v, contribution) in order: look at every candidate in every step.

    A candidate that merges nothing is dropped: what is connected stays connected.
    """
    components = Components(interest, topics)
    degree = [0] * interest.num_nodes
    for u, v in start or []:
        components.link(u, v)
        degree[u] += 1
        degree[v] += 1
    pairs = candidate_pairs(candidates, interest.num_nodes)
    added: list[tuple[int, int, int]] = []
    while max_edges is None or len(added) < max_edges:
        # The best link, and the best that does not raise the maximum degree.
        best = sparing = None
        top = max(degree, default=0)
        gains = [(u, v, len(components.merged_topics(u, v))) for u, v in pairs]
        pairs = [(u, v) for u, v, gain in gains if gain]
        for u, v, gain in gains:
            highest = max(degree[u], degree[v])
            if not gain or (max_degree is not None and highest >= max_degree):
                continue
            if best is None or gain > best[2]:
                best = (u, v, gain)
            if highest < top and (sparing is None or gain > sparing[2]):
                sparing = (u, v, gain)
        if best is None:
            break
        if rule.k is not None and sparing is not None:
            better = sparing[2] * rule.k > best[2]
            if better or (sparing[2] * rule.k == best[2] and not rule.strict):
                best = sparing
        u, v, _ = best
        components.link(u, v)
        degree[u] += 1
        degree[v] += 1
        added.append(best)
    return added


def printed(
    interest: Interest,
    k: float,
    *,
    strict: bool = False,
    max_edges: int | None = None,
    max_degree: int | None = None,
) -> list[tuple[int, int, int]]:
    """Follow icdcs10, Alg. 1, line by line: e1 may connect nothing. With k = ∞ this is MinMax-ODA.

    With `max_degree` it breaks off where the next edge would exceed it (icdcs16, Alg. 3, lines 5 and 6).
    """
    components = Components(interest)
    degree = [0] * interest.num_nodes
    unused = list(combinations(range(interest.num_nodes), 2))
    added: list[tuple[int, int, int]] = []
    while max_edges is None or len(added) < max_edges:
        weight = {pair: len(components.merged_topics(*pair)) for pair in unused}
        if not any(weight.values()):  # every topic is connected
            break
        raised = {(u, v): max(*degree, degree[u] + 1, degree[v] + 1) for u, v in unused}
        least = min(raised.values())
        # `max` takes the first of equals, and `unused` is in order.
        e1 = max((pair for pair in unused if raised[pair] == least), key=weight.__getitem__)
        e2 = max(unused, key=weight.__getitem__)
        needed = 0 if k == math.inf else weight[e2] / Fraction(k)
        u, v = e1 if weight[e1] > needed or (weight[e1] == needed and not strict) else e2
        if max_degree is not None and raised[u, v] > max_degree:
            break
        added.append((u, v, components.link(u, v)))
        degree[u] += 1
        degree[v] += 1
        unused.remove((u, v))
    return added


def loads(interest: Interest, price: Sequence[float]) -> dict[Edge, float]:
    """Return what each pair of nodes carries: over the topics they share, the larger of their prices."""
    own: list[dict[int, float]] = [{} for _ in range(interest.num_nodes)]
    for slot, topic in enumerate(interest.node_topics.tolist()):
        own[int(interest.node_of_slot[slot])][topic] = price[slot]
    return {
        (u, v): sum(max(own[u][topic], own[v][topic]) for topic in own[u].keys() & own[v].keys())
        for u, v in combinations(range(interest.num_nodes), 2)
    }


def proven_with_degrees(
    interest: Interest, scaled: Sequence[int], allowance: Sequence[int], degree: int | None, scale: int
) -> int:
    """Return what prices and allowances prove of links at a degree, or of the degree itself."""
    of_topic: list[list[int]] = [[] for _ in range(interest.num_topics)]
    for slot, topic in enumerate(interest.node_topics.tolist()):
        of_topic[topic].append(scaled[slot])
    value = sum(sum(prices) - min(prices) for prices in of_topic if prices)
    for (u, v), load in loads(interest, scaled).items():
        value -= max(0, int(load) - allowance[u] - allowance[v])
    if degree is None:
        return max(0, -(-value // sum(allowance))) if sum(allowance) else 0
    return max(0, -(-(value - degree * sum(a - scale // 2 for a in allowance)) // scale))


def proven_links(interest: Interest, scaled: Sequence[int], scale: int) -> int:
    """Return how many links some prices prove to be needed, in Python's own integers."""
    of_topic: list[list[int]] = [[] for _ in range(interest.num_topics)]
    for slot, topic in enumerate(interest.node_topics.tolist()):
        of_topic[topic].append(scaled[slot])
    asked = sum(sum(prices) - min(prices) for prices in of_topic if prices)
    beyond = sum(max(0, int(load) - scale) for load in loads(interest, scaled).values())
    return max(0, -((beyond - asked) // scale))
