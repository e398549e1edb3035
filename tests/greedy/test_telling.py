"""What a run tells of itself while it goes on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from calls import COMPILED, restless_engine
from meshwright import Interest, Overlay, measure
from meshwright.greedy import grow, rules
from meshwright.greedy.rules import Rule
from meshwright.workloads import zipf

THREE_RULES = (rules.gm, rules.minmax, rules.low(3))
STRIDE = 300_000 if COMPILED else 3_000

Told = list[tuple[int, float, str]]


@pytest.fixture(scope="module")
def interest() -> Interest:
    return zipf(3000, 200, size=10, seed=1) if COMPILED else zipf(150, 30, size=5, seed=1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rule", THREE_RULES, ids=lambda rule: rule.name)
def test_edges_and_support_only_grow(interest: Interest, rule: Rule, threads: int) -> None:
    """Edges and support never fall, support stays within 0 and 1, and the last word is the whole overlay."""
    told: Told = []
    with restless_engine(STRIDE, 512 if COMPILED else 16):
        overlay = grow(interest, rule, threads=threads, progress=lambda *words: told.append(words))
    assert len(told) > 5
    for (edges, support, _), (more_edges, more_support, _) in pairwise(told):
        assert 0 <= edges <= more_edges
        assert 0 <= support <= more_support <= 1
    assert told[-1][:2] == (len(overlay), 1.0)
    assert len({edges for edges, *_ in told}) > 3


def test_support_is_that_of_start_and_topics(interest: Interest) -> None:
    """What is told at the end of a run with a start, a topic filter and a budget is what is measured."""
    told: Told = []
    counted = interest.restrict(np.arange(20))
    start = grow(interest, rules.gm, max_edges=40)
    overlay = grow(
        interest,
        rules.gm,
        start=start,
        topics=range(20),
        max_edges=30,
        progress=lambda *words: told.append(words),
    )
    edges, support, _ = told[-1]
    assert edges == len(overlay) - len(start) == 30
    seen = Overlay(counted, overlay.u, overlay.v, overlay.contribution)
    assert support == pytest.approx(measure.support(seen))
    assert 0 < support < 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("calls", [1, 5])
def test_what_the_callback_raises_ends_the_run(interest: Interest, threads: int, calls: int) -> None:
    """An exception from the callback, Ctrl-C's too, comes out at once: the callback is not asked again."""
    told: Told = []

    def interrupt(edges: int, support: float, doing: str) -> None:
        told.append((edges, support, doing))
        if len(told) == calls:
            raise KeyboardInterrupt

    with restless_engine(STRIDE, 512 if COMPILED else 16), pytest.raises(KeyboardInterrupt):
        grow(interest, rules.gm, threads=threads, progress=interrupt)
    assert len(told) == calls


def test_a_lost_count_ends_the_run(interest: Interest, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a link does not merge what the sweep promised, no overlay comes out."""
    from meshwright.greedy.kernels import sweep
    from meshwright.greedy.kernels.state import BROKEN

    grow(interest, rules.gm, max_edges=1)
    monkeypatch.setattr(sweep, "run", lambda *arguments: BROKEN)
    with pytest.raises(AssertionError, match="lost count"):
        grow(interest, rules.gm)
