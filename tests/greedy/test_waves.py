"""Rows rebuilt elsewhere, from a snapshot, change no link."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings

from calls import RULES, Call, calls, crowds, examples, restless_engine, triples
from meshwright.errors import InputError
from meshwright.greedy import grow, rules, waves
from meshwright.greedy.level_run import Task
from meshwright.greedy.rules import Rule
from meshwright.greedy.waves import Rebuilder, Wave, Windows
from meshwright.workloads import zipf


class Apart:
    """Rebuilds the rows of waves from pickles, in a state of its own, a few rows at a time."""

    def __init__(self, hands: int = 3) -> None:
        self.hands = hands
        self.waves: list[Wave] = []

    def __call__(self, task: Task, wave: Wave) -> Iterator[Windows]:
        self.waves.append(wave)
        for hand in reversed(range(self.hands)):
            sent_task, sent_wave = pickle.loads(pickle.dumps((task.bare(), wave)))
            yield from Rebuilder(sent_task, sent_wave).rebuild(wave.rows[hand :: self.hands])


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send away every wave that has a row."""
    monkeypatch.setattr(waves, "LEAST_WORK", 1)
    monkeypatch.setattr(waves, "PATIENCE", 1 << 60)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_waves_elsewhere_change_nothing(rule: Rule) -> None:
    """Under any arguments, the links are those of an engine that rebuilds every row itself."""
    sent: list[bool] = []

    @settings(max_examples=examples(20, 12))
    @given(calls(crowds(nodes=(12, 40)), rule))
    def check(call: Call) -> None:
        apart = Apart()
        with restless_engine():
            grown = call.grown(elsewhere=apart)
        assert triples(grown) == triples(call.grown())
        sent.extend(wave.sparing for wave in apart.waves)

    check()
    assert sent.count(False) > examples(5, 2)
    assert rule is rules.gm or sent.count(True) > examples(5, 2)


def test_the_first_wave_has_all_rows_and_small_ones_stay() -> None:
    """Small waves are not sent away; where the work is enough, the first wave has all rows."""
    interest = zipf(300, 40, size=6, seed=1)
    apart = Apart()
    alone = triples(grow(interest, rules.gm))
    assert triples(grow(interest, rules.gm, elsewhere=apart)) == alone
    assert apart.waves == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waves, "LEAST_WORK", 10_000)
        assert triples(grow(interest, rules.gm, elsewhere=apart)) == alone
    assert apart.waves[0].rows.tolist() == list(range(300))
    assert len(apart.waves) < 5


def test_a_lost_row_ends_the_run() -> None:
    """A wave that does not return all its rows ends the run with an error."""

    def losing(task: Task, wave: Wave) -> Iterator[Windows]:
        yield from Rebuilder(task, wave).rebuild(wave.rows[1:])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waves, "LEAST_WORK", 1)
        with pytest.raises(AssertionError, match="1 rows of a wave"):
            grow(zipf(50, 10, size=3, seed=1), rules.gm, elsewhere=losing)


def test_given_degrees_cannot_be_sent() -> None:
    """Executors derive degrees from the links, so `degrees` and `elsewhere` cannot be combined."""
    interest = zipf(50, 10, size=3, seed=1)
    with pytest.raises(InputError, match="elsewhere and degrees"):
        grow(interest, rules.minmax, elsewhere=Apart(), degrees=np.zeros(50, dtype=np.int32))
