"""Made-up churn and its replay: as drawn, as told, and as the paper found."""

from __future__ import annotations

import pytest

from meshwright.churn import Event, LiveOverlay, Policy, random_churn, replay
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.workloads import WORKLOADS, unif

INTEREST = unif(100, 20, min_size=2, max_size=8, seed=1)


def live(policy: str = "shadow") -> LiveOverlay:
    return LiveOverlay(grow(INTEREST, rules.low(3)), policy)


def test_churn_is_drawn_from_what_is_there() -> None:
    """Newcomers are new and have sizes and topics that occur; who leaves is there; the seed decides."""
    rounds = list(random_churn(INTEREST, 400, seed=3))
    assert rounds == list(random_churn(INTEREST, 400, seed=3))
    assert rounds != list(random_churn(INTEREST, 400, seed=4))
    there, joins = set(INTEREST.node_names.to_pylist()), 0
    for (event,) in rounds:
        if event.event == "join":
            joins += 1
            assert event.node not in there
            assert 2 <= len(set(event.topics)) == len(event.topics) <= 8
            there.add(event.node)
        else:
            assert event.event == "leave"
            there.remove(event.node)
    assert 150 < joins < 250


def test_bursts_come_and_crash_together() -> None:
    """With a burst of five, five join or crash in each round, and the audit is clean throughout."""
    overlay = live()
    for events in random_churn(INTEREST, 30, seed=1, burst=5):
        assert {event.event for event in events} in ({"join"}, {"crash"})
        assert len({event.node for event in events}) == 5
        replay(overlay, [events])
        assert overlay.audit() == ()


def test_churn_goes_on_when_almost_nobody_is_left() -> None:
    """From two nodes on, nobody leaves who is the last; integers are named on."""
    few = Interest.from_dict({0: [1, 2], 5: [2]})
    overlay = LiveOverlay(grow(few, rules.gm))
    run = replay(overlay, random_churn(few, 50, seed=2))
    assert overlay.audit() == ()
    assert len(overlay) >= 1
    assert min(repair.nodes[0] for repair in run.repairs if repair.event == "join") == 6


@pytest.mark.parametrize(("given", "message"), [((-1, 1), "rounds"), ((1, 0), "burst")])
def test_impossible_churn_is_refused(given: tuple[int, int], message: str) -> None:
    """A negative number of rounds or an empty burst makes no sense."""
    with pytest.raises(InputError, match=message):
        next(random_churn(INTEREST, given[0], burst=given[1]))


def test_nothing_to_draw_from_is_told() -> None:
    """Where nobody has a topic, newcomers cannot be made up."""
    with pytest.raises(InputError, match="nobody subscribes"):
        next(random_churn(Interest.from_dict({"a": []}), 5))


def test_a_replay_sums_up() -> None:
    """The table has a row for each round, and the figures are those of the rows."""
    told: list[tuple[int, int]] = []
    run = replay(
        live(), random_churn(INTEREST, 60, seed=1), progress=lambda done, links: told.append((done, links))
    )
    rows = run.rounds.to_pylist()
    assert [row["round"] for row in rows] == list(range(60))
    assert told[-1] == (60, run.live.num_edges)
    joins = [row["edges_added"] + row["edges_removed"] for row in rows if row["event"] == "join"]
    assert run.figures["mean_join_edges"] == pytest.approx(sum(joins) / len(joins))
    assert run.figures["joins"] == len(joins)
    assert rows[-1]["max_degree"] == run.figures["max_degree"] == run.live.max_degree
    rebuilt = LiveOverlay(grow(run.live.interest(), rules.low(3)))
    assert run.figures["rebuild_max_degree"] == rebuilt.max_degree


def test_batches_are_replayed_at_once() -> None:
    """Several events of a round are one repair: a crash where all leave, else a batch."""
    batch = [Event("leave", "b00"), Event("join", "n", ("t00",))]
    run = replay(live(), [[Event("leave", "b01"), Event("crash", "b02")], batch])
    assert [repair.event for repair in run.repairs] == ["crash", "batch"]
    assert run.rounds.column("node").to_pylist() == ["b01, b02", "b00, n"]
    assert run.figures["mean_join_edges"] is None


def test_bursts_are_told_node_by_node() -> None:
    """Nodes that join or leave at once are joins and leaves, and what a repair took is shared among them."""
    names = ["n1", "n2", "n3"]
    joins = [Event("join", name, ("t00", "t01")) for name in names]
    run = replay(live(), [joins, [Event("leave", name) for name in names]])
    join, crash = run.repairs
    assert (run.figures["joins"], run.figures["leaves"]) == (3, 3)
    assert run.figures["mean_join_edges"] == (len(join.added) + len(join.removed)) / 3
    assert run.figures["mean_leave_edges"] == (len(crash.added) + len(crash.removed)) / 3
    assert run.figures["median_join_seconds"] == join.seconds / 3


def test_a_round_that_cannot_be_is_named() -> None:
    """The message says which round it was."""
    with pytest.raises(InputError, match=r"round 2: .*nobody"):
        replay(live(), [[Event("leave", "b01")], [Event("leave", "nobody")]])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("popularity", ["zipf", "expo", "unif"])
def test_the_papers_experiment(popularity: str, seed: int) -> None:
    """After 1000 rounds degrees are low and fall as λ grows; uniform: repairs within 1.15 of the paper's."""
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
