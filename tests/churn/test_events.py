"""Random churn: newcomers are like the nodes of the interest, and only nodes that are there leave."""

from __future__ import annotations

import pytest

from meshwright.churn import LiveOverlay, random_churn, replay
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.workloads import unif

INTEREST = unif(100, 20, min_size=2, max_size=8, seed=1)


def test_churn_is_like_the_interest() -> None:
    """Newcomers are new, with as many topics as others; only nodes that are there leave; the seed decides."""
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


def test_bursts_join_and_crash_together() -> None:
    """With a burst of five, five nodes join or crash in each round, and the audit stays clean."""
    overlay = LiveOverlay(grow(INTEREST, rules.low(3)))
    for events in random_churn(INTEREST, 30, seed=1, burst=5):
        assert {event.event for event in events} in ({"join"}, {"crash"})
        assert len({event.node for event in events}) == 5
        replay(overlay, [events])
        assert overlay.audit() == ()


def test_the_last_node_never_leaves() -> None:
    """Starting from two nodes, one is always left; integer names continue after the largest."""
    few = Interest.from_dict({0: [1, 2], 5: [2]})
    overlay = LiveOverlay(grow(few, rules.gm))
    run = replay(overlay, random_churn(few, 50, seed=2))
    assert overlay.audit() == ()
    assert len(overlay) >= 1
    assert min(repair.nodes[0] for repair in run.repairs if repair.event == "join") == 6


@pytest.mark.parametrize(("nodes", "crashes"), [(4, False), (5, False), (6, True)])
def test_a_burst_leaves_somebody(nodes: int, crashes: bool) -> None:
    """With no more nodes than a burst has, nodes join; with one more, they may crash."""
    few = Interest.from_dict({f"n{number}": ["x"] for number in range(nodes)})
    kinds = {next(random_churn(few, 1, seed=seed, burst=5))[0].event for seed in range(12)}
    assert kinds == ({"join", "crash"} if crashes else {"join"})


@pytest.mark.parametrize(("given", "message"), [((-1, 1), "rounds"), ((1, 0), "burst")])
def test_invalid_churn_is_rejected(given: tuple[int, int], message: str) -> None:
    """A negative number of rounds and an empty burst are rejected."""
    with pytest.raises(InputError, match=message):
        next(random_churn(INTEREST, given[0], burst=given[1]))


def test_churn_needs_subscriptions() -> None:
    """Without subscriptions, newcomers cannot be drawn, and the message says so."""
    with pytest.raises(InputError, match="nobody subscribes"):
        next(random_churn(Interest.from_dict({"a": []}), 5))
