"""Replays: their figures are those of the rounds, and on the paper's experiment near the paper's."""

from __future__ import annotations

import pytest

from meshwright.churn import Event, LiveOverlay, Policy, random_churn, replay
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.workloads import WORKLOADS, unif

INTEREST = unif(100, 20, min_size=2, max_size=8, seed=1)


def live(policy: str = "shadow") -> LiveOverlay:
    return LiveOverlay(grow(INTEREST, rules.low(3)), policy)


def test_figures_are_those_of_the_rounds() -> None:
    """The table has a row for each round, the figures are those of the rows, and progress counts rounds."""
    calls: list[tuple[int, float, str]] = []
    rounds = list(random_churn(INTEREST, 60, seed=1))
    run = replay(live(), rounds, progress=lambda *call: calls.append(call))
    rows = run.rounds.to_pylist()
    assert [row["round"] for row in rows] == list(range(60))
    assert calls == [(done, done / 60, "repairing") for done in range(1, 61)]
    joins = [row["edges_added"] + row["edges_removed"] for row in rows if row["event"] == "join"]
    assert run.figures["mean_join_edges"] == pytest.approx(sum(joins) / len(joins))
    assert run.figures["joins"] == len(joins)
    assert rows[-1]["max_degree"] == run.figures["max_degree"] == run.live.max_degree
    rebuilt = LiveOverlay(grow(run.live.interest(), rules.low(3)))
    assert run.figures["rebuild_max_degree"] == rebuilt.max_degree


def test_batches_are_replayed_at_once() -> None:
    """The events of a round are one repair: a crash if all nodes leave, else a batch."""
    batch = [Event("leave", "b00"), Event("join", "n", ("t00",))]
    run = replay(live(), [[Event("leave", "b01"), Event("crash", "b02")], batch])
    assert [repair.event for repair in run.repairs] == ["crash", "batch"]
    assert run.rounds.column("node").to_pylist() == ["b01, b02", "b00, n"]
    assert run.figures["mean_join_edges"] is None


def test_figures_of_bursts_are_per_node() -> None:
    """Nodes that join or leave at once count one by one, and edges and seconds are divided among them."""
    names = ["n1", "n2", "n3"]
    joins = [Event("join", name, ("t00", "t01")) for name in names]
    run = replay(live(), [joins, [Event("leave", name) for name in names]])
    join, crash = run.repairs
    assert (run.figures["joins"], run.figures["leaves"]) == (3, 3)
    assert run.figures["mean_join_edges"] == (len(join.added) + len(join.removed)) / 3
    assert run.figures["mean_leave_edges"] == (len(crash.added) + len(crash.removed)) / 3
    assert run.figures["median_join_seconds"] == join.seconds / 3


def test_an_invalid_round_is_named() -> None:
    """The message says which round was rejected."""
    with pytest.raises(InputError, match=r"round 2: .*nobody"):
        replay(live(), [[Event("leave", "b01")], [Event("leave", "nobody")]])


def test_progress_without_a_number_of_rounds() -> None:
    """Where the number of rounds is not known, the share is 0."""
    calls: list[tuple[int, float, str]] = []
    replay(live(), random_churn(INTEREST, 2, seed=1), progress=lambda *call: calls.append(call))
    assert calls == [(1, 0.0, "repairing"), (2, 0.0, "repairing")]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("popularity", ["zipf", "expo", "unif"])
def test_the_experiment_of_the_paper(popularity: str, seed: int) -> None:
    """Degrees stay low and fall as λ grows; on uniform popularity repairs are within 1.15 of the paper's."""
    shape = {"alpha": 2.0} if popularity == "zipf" else {}
    interest = WORKLOADS[popularity](2000, 200, min_size=10, max_size=90, seed=seed, **shape)
    start = grow(interest, rules.low(3))
    averages, joins = [], []
    for coverage in (1, 2, 3, 4):
        overlay = LiveOverlay(start, Policy(coverage=coverage), seed=seed)
        figures = replay(overlay, random_churn(interest, 1000, seed=seed)).figures
        averages.append(figures["average_degree"])
        joins.append(figures["mean_join_edges"])
        if coverage == 3 and popularity == "unif":
            assert figures["mean_join_edges"] <= 1.15 * 4.83  # type: ignore[operator]
            assert figures["mean_leave_edges"] <= 1.15 * 12.24  # type: ignore[operator]
        if coverage == 3:
            assert figures["max_degree"] <= 2 * figures["rebuild_max_degree"]  # type: ignore[operator]
    assert averages == sorted(averages, reverse=True)  # type: ignore[type-var]
    assert joins == sorted(joins, reverse=True)  # type: ignore[type-var]
