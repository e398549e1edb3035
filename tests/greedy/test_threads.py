"""Neither threads nor tuning nor the hash seed change a link."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import COMPILED, RULES, Triple, crowds, examples, restless_engine, triples, tunings
from meshwright import Interest
from meshwright.greedy import Tuning, grow, level_run, rules
from meshwright.greedy.kernels import sweep
from meshwright.greedy.kernels.state import HOLDING
from meshwright.greedy.level_run import RowThreads
from meshwright.greedy.rules import Rule
from meshwright.workloads import unif, zipf

large_enough = pytest.mark.skipif(not COMPILED, reason="takes minutes where kernels are not compiled")

DIGEST = """
import hashlib
from meshwright.greedy import candidates, grow, rules
from meshwright.workloads import zipf

interest = zipf(120, 30, min_size=1, max_size=9, seed=7)
digest = hashlib.sha256(interest.fingerprint.encode())
for rule in (rules.gm, rules.minmax, rules.low(3)):
    overlay = grow(interest, rule, candidates=candidates.among(set(range(0, 120, 2))), topics=set(range(20)))
    for column in (overlay.u, overlay.v, overlay.contribution):
        digest.update(column.tobytes())
print(digest.hexdigest())
"""


@settings(max_examples=examples(35, 15))
@given(crowds(), st.sampled_from(list(RULES.values())), st.integers(2, 4), tunings)
def test_waves_of_any_size_change_nothing(
    interest: Interest, rule: Rule, threads: int, tuning: Tuning
) -> None:
    """With every row rebuilt in waves on several threads, the links are those of one thread."""
    alone = triples(grow(interest, rule, tuning=tuning))
    with restless_engine():
        assert triples(grow(interest, rule, threads=threads, tuning=tuning)) == alone


@large_enough
@pytest.mark.parametrize("rule", [rules.gm, rules.minmax, rules.low(3)], ids=lambda rule: rule.name)
def test_threads_change_nothing_where_they_help(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 3000 nodes threads do prepare rows, and the links are those of one thread."""
    prepared = []

    def prepare_rows(state: Any, swept: Any, whole: Any, scratch: Any, hand: Any, level: int) -> None:
        prepared.append(len(hand))
        compiled(state, swept, whole, scratch, hand, level)

    compiled = sweep.prepare_rows
    monkeypatch.setattr(level_run, "prepare_rows", prepare_rows)
    interest = zipf(3000, 200, size=10, seed=1)
    alone = grow(interest, rule)
    assert prepared == []
    assert triples(grow(interest, rule, threads=2)) == triples(alone)
    assert sum(prepared) > 3000


@large_enough
def test_rows_keep_their_owners_while_threads_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """While rows are prepared ahead of the thread that links, large components wait for bit rows."""
    under_way = []

    def run(state: Any, *given: Any) -> int:
        if any(crew.jobs for crew in crews):
            under_way.append(int(state.tally[HOLDING]))
        return int(compiled(state, *given))

    class Crew(RowThreads):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            crews.append(self)

    crews: list[RowThreads] = []
    compiled = sweep.run
    monkeypatch.setattr(level_run, "run", run)
    monkeypatch.setattr(level_run, "RowThreads", Crew)
    grow(zipf(3000, 200, size=10, seed=1), rules.gm, threads=2)
    assert set(under_way) == {1}


@large_enough
def test_threads_stop_when_a_run_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """What progress raises ends the run, and nothing is left to the threads."""
    stopped = []

    class Crew(RowThreads):
        def stop(self) -> None:
            super().stop()
            stopped.append(len(self.hands) + len(self.jobs))

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(level_run, "RowThreads", Crew)
    with pytest.raises(KeyboardInterrupt):
        grow(zipf(3000, 200, size=10, seed=1), rules.gm, threads=2, progress=fail)
    assert stopped == [0, 0]


@cache
def large_runs(rule: Rule) -> list[tuple[Interest, list[Triple]]]:
    """Return two interests of 1500 nodes, each with the links of a run under the default tuning."""
    chosen = zipf(1500, 150, min_size=2, max_size=60, seed=2), unif(1500, 700, size=8, seed=3)
    return [(interest, triples(grow(interest, rule))) for interest in chosen]


@large_enough
@pytest.mark.parametrize("rule", [rules.gm, rules.minmax, rules.low(3)], ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    "tuning",
    [
        Tuning(window=1),
        Tuning(window=3, heavy=0, large=2),
        Tuning(heavy=10**6, node_bits=False),
        Tuning(heavy=50, large=7, giant=2, node_bits=True),
    ],
    ids=str,
)
def test_tuning_changes_nothing_on_many_nodes(rule: Rule, tuning: Tuning) -> None:
    """On sizes beyond the naive twin, very different tunings give the same links."""
    for interest, links in large_runs(rule):
        assert triples(grow(interest, rule, tuning=tuning)) == links


def test_another_hash_seed_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing depends on the iteration order of sets: another process finds the same links as this one."""
    exec(DIGEST, {})
    here = capsys.readouterr().out
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    there = subprocess.run(
        [sys.executable, "-c", DIGEST],
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert here == there
    assert len(here.strip()) == 64
