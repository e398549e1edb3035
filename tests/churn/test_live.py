"""The live overlay: topics stay connected down to no nodes, and invalid changes are rejected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from calls import crowds, examples, seeds
from meshwright.churn import Event, LiveOverlay, Policy, happen, random_churn, replay
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from meshwright.names import Name
from meshwright.overlay import Overlay
from meshwright.verify import verify_overlay
from meshwright.workloads import unif

PAIR = Interest.from_dict({"a": ["x"], "b": ["x", "y"]})
EVERY = ["naive", "shadow", "tidy", "rebuild"]


def linked(interest: Interest, policy: str | Policy = "shadow") -> LiveOverlay:
    return LiveOverlay(grow(interest, rules.low(3)), policy)


@pytest.mark.parametrize("policy", EVERY)
@settings(max_examples=examples(15, 3), deadline=None)
@given(crowds(nodes=(2, 15), topics=(1, 20), subscriptions=60), seeds)
def test_nodes_leave_in_any_order_until_none_is_left(policy: str, interest: Interest, seed: int) -> None:
    """While nodes leave in any order, the audit is clean, until nothing is left."""
    live = linked(interest, policy)
    for v in np.random.default_rng(seed).permutation(interest.num_nodes).tolist():
        live.leave(v)
        assert live.audit() == ()
    assert (len(live), live.num_edges, live.max_degree, live.average_degree) == (0, 0, 0, 0.0)


@pytest.mark.parametrize("policy", EVERY)
def test_join_and_leave_again(policy: str) -> None:
    """After a node joins and leaves again, every topic is connected and the interest is as it was."""
    interest = unif(60, 12, size=4, seed=1)
    live = linked(interest, policy)
    live.join("guest", interest.topic_names.to_pylist()[:6])
    live.leave("guest")
    assert live.audit() == ()
    assert live.interest().fingerprint == interest.fingerprint
    assert verify_overlay(live.overlay()).connected


def test_newcomers_bring_new_topics() -> None:
    """Topics that nobody had, a few at a time and many at once, are connected."""
    live = linked(PAIR)
    for i in range(150):
        live.join(f"n{i}", [f"t{j}" for j in (range(i, i + 3) if i % 50 else range(4 * i, 4 * i + 90))])
        assert live.audit() == ()
    assert live.interest().num_topics == 2 + len(
        {*range(152), *range(90), *range(200, 290), *range(400, 490)}
    )
    assert verify_overlay(live.overlay()).connected


@pytest.mark.parametrize("policy", EVERY)
def test_the_seed_decides(policy: str) -> None:
    """The same seed and events give the same overlay, whatever the order of hashes in sets of topics."""
    interest = unif(80, 15, size=5, seed=2)

    def after(seed: int) -> list[tuple[Name, Name]]:
        live = LiveOverlay(grow(interest, rules.low(3)), policy, seed=seed)
        for events in random_churn(interest, 40, seed=5):
            happen(live, [Event(event.event, event.node, frozenset(event.topics)) for event in events])  # type: ignore[arg-type]
        return live.overlay().edges

    assert after(1) == after(1)


def test_a_copy_is_independent() -> None:
    """A change of a copy does not change the original, and gives the same result there."""
    live = linked(unif(60, 12, size=4, seed=1))
    before = live.overlay().edges
    copy = live.copy()
    there = copy.leave("b07")
    assert live.overlay().edges == before
    assert live.audit() == copy.audit() == ()
    here = live.leave("b07")
    assert (here.added, here.removed) == (there.added, there.removed)


def test_a_split_overlay_is_rejected() -> None:
    """An overlay with a split topic is rejected, with the name of the topic."""
    with pytest.raises(InputError, match="'x' are split"):
        LiveOverlay(Overlay.empty(PAIR))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda live: live.join("a", ["x"]), "there already"),
        (lambda live: live.join("c", "xy"), "one string"),
        (lambda live: live.join("c", []), "no topic"),
        (lambda live: live.join(7, ["x"]), "strings"),
        (lambda live: live.join(" ", ["x"]), "without a name"),
        (lambda live: live.join("c", ["x", 3]), "strings"),
        (lambda live: live.leave("z"), "no node 'z'"),
        (lambda live: live.crash([]), "nothing happens"),
        (lambda live: live.subscribe("a", ["x"]), "already has"),
        (lambda live: live.unsubscribe("a", ["y"]), "does not have"),
        (lambda live: live.unsubscribe("a", ["q"]), "no topic 'q'"),
        (lambda live: live.apply([Event("leave", "a"), Event("subscribe", "a", ("y",))]), "contradicts"),
        (
            lambda live: live.apply([Event("subscribe", "a", ("y",)), Event("unsubscribe", "a", ("y", "x"))]),
            "both subscribes to and unsubscribes from 'y'",
        ),
        (lambda live: live.apply(["leave a"]), "not an event"),
    ],
)
def test_invalid_changes_are_rejected(change, message: str) -> None:  # type: ignore[no-untyped-def]
    """A change that cannot happen is rejected with a reason, and changes nothing."""
    live = linked(PAIR)
    before = [array.tobytes() for array in live._state.arrays]
    with pytest.raises(InputError, match=message):
        change(live)
    assert [array.tobytes() for array in live._state.arrays] == before
    assert live.nodes == ["a", "b"]


def test_tidying_is_bounded() -> None:
    """No round moves more links than `moves`; with 0, nothing is tidied."""
    interest = unif(150, 20, size=6, seed=3)
    for moves in (0, 3):
        live = LiveOverlay(grow(interest, rules.low(3)), Policy("tidy", moves=moves, steps=20))
        run = replay(live, random_churn(interest, 60, seed=1))
        assert max(repair.tidied for repair in run.repairs) <= moves
        assert any(repair.tidied for repair in run.repairs) == (moves > 0)
        assert live.audit() == ()


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["shadow", "tidy"])
def test_ten_thousand_rounds_at_size(policy: str) -> None:
    """Over ten thousand rounds at 20,000 nodes, or 2000 for tidy, every thousandth audit is clean."""
    nodes, topics = (20_000, 1000) if policy == "shadow" else (2000, 200)
    interest = unif(nodes, topics, min_size=10, max_size=90, seed=1)
    live = LiveOverlay(grow(interest, rules.low(3)), policy)
    for number, events in enumerate(random_churn(interest, 10_000, seed=1), start=1):
        happen(live, events)
        if number % 1000 == 0:
            assert live.audit() == ()
