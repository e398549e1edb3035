"""Progress: what a run reports while it works, and how it ends early."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from calls import COMPILED, restless_engine
from meshwright import Interest, measure
from meshwright.greedy import grow, rules
from meshwright.greedy.rules import Rule
from meshwright.overlay import unchecked_overlay
from meshwright.workloads import zipf

THREE_RULES = (rules.gm, rules.minmax, rules.low(3))
STRIDE = 300_000 if COMPILED else 3_000

Reports = list[tuple[int, float, str]]


@pytest.fixture(scope="module")
def interest() -> Interest:
    return zipf(3000, 200, size=10, seed=1) if COMPILED else zipf(150, 30, size=5, seed=1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rule", THREE_RULES, ids=lambda rule: rule.name)
def test_links_and_support_only_grow(interest: Interest, rule: Rule, threads: int) -> None:
    """Links and support never fall, support is within 0 and 1, and the last report is the whole overlay."""
    reports: Reports = []
    with restless_engine(STRIDE, 512 if COMPILED else 16):
        overlay = grow(interest, rule, threads=threads, progress=lambda *report: reports.append(report))
    assert len(reports) > 5
    for (edges, support, _), (more_edges, more_support, _) in pairwise(reports):
        assert 0 <= edges <= more_edges
        assert 0 <= support <= more_support <= 1
    assert reports[-1][:2] == (len(overlay), 1.0)
    assert len({edges for edges, *_ in reports}) > 3


def test_support_counts_start_and_topics(interest: Interest) -> None:
    """With a start, a topic filter and a budget, the last report is the support as measured."""
    reports: Reports = []
    counted = interest.restrict(np.arange(20))
    start = grow(interest, rules.gm, max_edges=40)
    overlay = grow(
        interest,
        rules.gm,
        start=start,
        topics=range(20),
        max_edges=30,
        progress=lambda *report: reports.append(report),
    )
    edges, support, _ = reports[-1]
    assert edges == len(overlay) - len(start) == 30
    seen = unchecked_overlay(counted, overlay.u, overlay.v, overlay.contribution)
    assert support == pytest.approx(measure.support(seen))
    assert 0 < support < 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("calls", [1, 5])
def test_an_exception_in_the_callback_ends_the_run(interest: Interest, threads: int, calls: int) -> None:
    """An exception from the callback, such as Ctrl-C, ends the run at once: there is no further call."""
    reports: Reports = []

    def interrupt(edges: int, support: float, phase: str) -> None:
        reports.append((edges, support, phase))
        if len(reports) == calls:
            raise KeyboardInterrupt

    with restless_engine(STRIDE, 512 if COMPILED else 16), pytest.raises(KeyboardInterrupt):
        grow(interest, rules.gm, threads=threads, progress=interrupt)
    assert len(reports) == calls


def test_a_lost_count_ends_the_run(interest: Interest, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a link does not merge what the sweep promised, the run ends with an error."""
    from meshwright.greedy import level_run
    from meshwright.greedy.kernels.state import BROKEN

    grow(interest, rules.gm, max_edges=1)
    monkeypatch.setattr(level_run, "run", lambda *arguments: BROKEN)
    with pytest.raises(AssertionError, match="lost count"):
        grow(interest, rules.gm)
