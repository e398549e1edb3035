"""Whole calls of `grow` for hypothesis to draw, and what the naive twin says of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import naive
from meshwright.greedy import Tuning, candidates, engine, grow, level_run, rules
from meshwright.greedy.candidates import Candidates, everything
from meshwright.greedy.rules import Rule
from meshwright.interest import Interest
from meshwright.jit.compiler import config
from meshwright.measure import contributions
from meshwright.overlay import Overlay

COMPILED = not config.DISABLE_JIT
"""Whether kernels are compiled; if not, they run as plain Python, some hundred times slower."""

RULES = {
    rule.name + (f" {rule.k:g}" if rule.name == "low" else "") + (" strict" if rule.strict else ""): rule
    for rule in (
        *(rules.gm, rules.minmax, rules.low(1), rules.low(1.5), rules.low(2), rules.low(3), rules.low(10)),
        *(rules.low(k, strict=True) for k in (1, 1.5, 3)),
    )
}
"""Every rule, by a name to show."""

Triple = tuple[int, int, int]

seeds = st.integers(0, 2**32)
"""What hypothesis draws where it would itself draw too much that is trivial."""


def examples(compiled: int, plain: int) -> int:
    """Choose how many examples a test tries, by whether kernels are compiled."""
    return compiled if COMPILED else plain


def triples(overlay: Overlay, first: int = 0) -> list[Triple]:
    """Return (u, v, contribution) for each edge from the `first` on."""
    columns = (overlay.u[first:], overlay.v[first:], overlay.contribution[first:])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def overlay_of(interest: Interest, edges: list[naive.Edge]) -> Overlay:
    """Return the overlay of these edges in order, with the contributions that they have."""
    u, v = np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy()
    return Overlay(interest, u, v, contributions(interest, u, v))


@contextmanager
def restless_engine(stride: int = 1, wave_rows: int = 1) -> Iterator[None]:
    """Let the engine pause, and rebuild rows on its threads, long before that would be worth it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "STRIDE", stride)
        patch.setattr(level_run, "WAVE_ROWS", wave_rows)
        yield


@dataclass(frozen=True)
class Call:
    """The arguments of one call of `grow`."""

    interest: Interest
    rule: Rule
    start: list[naive.Edge] = field(default_factory=list)
    candidates: Candidates = everything
    topics: list[int] | None = None
    max_edges: int | None = None
    max_degree: int | None = None
    threads: int = 1
    tuning: Tuning = field(default_factory=Tuning)
    restless: bool = False
    """Whether the engine pauses, and wakes its threads, at every occasion."""

    def grown(self) -> Overlay:
        """Return the engine's answer."""
        with restless_engine() if self.restless else nullcontext():
            return grow(
                self.interest,
                self.rule,
                start=overlay_of(self.interest, self.start) if self.start else None,
                candidates=self.candidates,
                topics=self.topics,
                max_edges=self.max_edges,
                max_degree=self.max_degree,
                threads=self.threads,
                tuning=self.tuning,
            )

    def on(self, interest: Interest, topics: list[int] | None) -> Call:
        """Return the same call on another interest over the same nodes, with these topics."""
        return replace(self, interest=interest, topics=topics)

    def candidate_pairs(self) -> set[naive.Edge]:
        """Return the pairs that may be linked."""
        return set(naive.candidate_pairs(self.candidates, self.interest.num_nodes))

    def started(self) -> list[Triple]:
        """Return the start as its overlay has it."""
        return triples(overlay_of(self.interest, self.start))

    def twin(self) -> list[Triple]:
        """Return the edges that the naive twin adds."""
        return naive.grow(
            self.interest,
            self.rule,
            start=self.start,
            candidates=self.candidates,
            topics=None if self.topics is None else set(self.topics),
            max_edges=self.max_edges,
            max_degree=self.max_degree,
        )


tunings: st.SearchStrategy[Tuning] = st.builds(
    Tuning,
    window=st.sampled_from([1, 2, 3, 4, None]),
    heavy=st.sampled_from([None, 0, 2, 5, 1000]),
    large=st.sampled_from([None, 2, 3, 6]),
    giant=st.sampled_from([2, 5, 8, 100]),
    node_bits=st.sampled_from([None, True, False]),
    counted=st.sampled_from([None, 0, 3, 6, 1000]),
    index=st.sampled_from([None, 0, 1, 2, 3, 4]),
    room=st.sampled_from([None, 1, 5, 50]),
)
"""Thresholds so small, or so large, that small interests take every path of the engine."""


@st.composite
def crowds(
    draw: st.DrawFn,
    nodes: tuple[int, int] = (2, 40),
    topics: tuple[int, int] = (1, 75),
    subscriptions: int = 250,
) -> Interest:
    """Draw an interest with sizes in these ranges, its pairs by a seed; popularity is flat, skewed or steep.

    `subscriptions` bounds their number, roughly, so that the naive twin is done in time.
    """
    num_nodes, num_topics = draw(st.integers(*nodes)), draw(st.integers(*topics))
    rng = np.random.default_rng(draw(seeds))
    most = int(rng.integers(1, max(2, min(num_topics, 2 * subscriptions // num_nodes)) + 1))
    weights = np.arange(1, num_topics + 1) ** -rng.choice([0.0, 0.7, 2.0])
    node_ids: list[int] = []
    topic_ids: list[int] = []
    for v in range(num_nodes):
        size = min(int(rng.integers(0, most + 1)), num_topics)
        # The largest of these keys are a weighted draw without replacement.
        chosen = np.argsort(rng.random(num_topics) ** (1 / weights))[num_topics - size :]
        node_ids += [v] * size
        topic_ids += chosen.tolist()
    names = pa.array(np.arange(num_nodes)), pa.array(np.arange(num_topics))
    return Interest.from_ids(*names, np.array(node_ids, np.int64), np.array(topic_ids, np.int64))


def some_candidates(rng: np.random.Generator, num_nodes: int) -> Candidates:
    """Choose candidates of any of the four kinds that leave something out."""
    share = rng.choice([0.2, 0.6, 0.9, 0.98])
    chosen = np.flatnonzero(rng.random(num_nodes) < share).tolist()
    pairs = [pair for pair in combinations(range(num_nodes), 2) if rng.random() < share]
    # Neither order nor direction nor repetition may matter.
    pairs = [(v, u) if rng.random() < 0.5 else (u, v) for u, v in rng.permutation(pairs).tolist()] + pairs[:2]
    kind = rng.integers(4)
    if kind == 0:
        return candidates.among(chosen)
    if kind == 1:
        return candidates.star(int(rng.integers(num_nodes)), chosen)
    return candidates.pairs(pairs) if kind == 2 else candidates.all_but(pairs[: int(rng.integers(60))])


def some_edges(rng: np.random.Generator, num_nodes: int) -> list[naive.Edge]:
    """Choose edges to start from, few or many, in any order."""
    pairs = list(combinations(range(num_nodes), 2))
    return [pairs[i] for i in rng.permutation(len(pairs))[: int(rng.integers(num_nodes + 1))]]


@st.composite
def calls(draw: st.DrawFn, interests: st.SearchStrategy[Interest], rule: Rule) -> Call:
    """Draw a whole call: any start, candidates, topics, budgets, number of threads and tuning."""
    interest = draw(interests)
    nodes, topics = interest.num_nodes, interest.num_topics
    given = draw(st.sets(st.sampled_from(["start", "candidates", "topics", "max_edges", "max_degree"])))
    rng = np.random.default_rng(draw(seeds))
    return Call(
        interest,
        rule,
        start=some_edges(rng, nodes) if "start" in given else [],
        candidates=some_candidates(rng, nodes) if "candidates" in given and nodes else everything,
        topics=rng.permutation(topics)[: int(rng.integers(topics + 1))].tolist()
        if "topics" in given
        else None,
        max_edges=int(rng.integers(2 * nodes + 1)) if "max_edges" in given else None,
        max_degree=int(rng.integers(7)) if "max_degree" in given else None,
        threads=int(rng.choice([1, 1, 2])),
        tuning=draw(tunings),
        restless=bool(rng.integers(2)),
    )
