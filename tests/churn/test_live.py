"""The live overlay at its edges: small, empty, in any order, and always the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from calls import crowds, examples, seeds
from meshwright.churn import Event, LiveOverlay, Policy, happen, random_churn, replay
from meshwright.dynamic.link_lists import CHUNK
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
def test_leaves_in_any_order_down_to_nobody(policy: str, interest: Interest, seed: int) -> None:
    """Nodes leave in any order until none is left, and every topic stays connected all the while."""
    live = linked(interest, policy)
    for v in np.random.default_rng(seed).permutation(interest.num_nodes).tolist():
        live.leave(v)
        assert live.audit() == ()
    assert (len(live), live.num_edges, live.max_degree, live.average_degree) == (0, 0, 0, 0.0)


@pytest.mark.parametrize("policy", EVERY)
def test_join_and_leave_again(policy: str) -> None:
    """A node that joins and leaves again leaves every topic connected, and the interest as it was."""
    interest = unif(60, 12, size=4, seed=1)
    live = linked(interest, policy)
    live.join("guest", interest.topic_names.to_pylist()[:6])
    live.leave("guest")
    assert live.audit() == ()
    assert live.interest().fingerprint == interest.fingerprint
    assert verify_overlay(live.overlay()).connected


def test_topics_that_nobody_had() -> None:
    """Newcomers bring topics, a few at a time and many at once, and each finds its place."""
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
    """The same seed and events give the same overlay; sets are taken in an order that is not the hash's."""
    interest = unif(80, 15, size=5, seed=2)

    def after(seed: int) -> list[tuple[Name, Name]]:
        live = LiveOverlay(grow(interest, rules.low(3)), policy, seed=seed)
        for events in random_churn(interest, 40, seed=5):
            happen(live, [Event(event.event, event.node, frozenset(event.topics)) for event in events])  # type: ignore[arg-type]
        return live.overlay().edges

    assert after(1) == after(1)


def test_a_copy_goes_its_own_way() -> None:
    """What happens to a copy does not happen to the original, and would have been the same there."""
    live = linked(unif(60, 12, size=4, seed=1))
    before = live.overlay().edges
    copy = live.copy()
    there = copy.leave("b07")
    assert live.overlay().edges == before
    assert live.audit() == copy.audit() == ()
    here = live.leave("b07")
    assert (here.added, here.removed) == (there.added, there.removed)


def test_a_split_overlay_is_refused() -> None:
    """An overlay that does not connect a topic cannot be kept connected."""
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
            "both takes and gives up",
        ),
        (lambda live: live.apply(["leave a"]), "no event"),
    ],
)
def test_what_cannot_be_is_told(change, message: str) -> None:  # type: ignore[no-untyped-def]
    """A change that cannot happen is refused by one line that says why, and changes nothing."""
    live = linked(PAIR)
    before = [array.tobytes() for array in live._body.live]
    with pytest.raises(InputError, match=message):
        change(live)
    assert [array.tobytes() for array in live._body.live] == before
    assert live.nodes == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "magic"}, "naive, shadow, tidy, rebuild"),
        ({"backups": "none"}, "primal-dual, greedy"),
        ({"coverage": 0}, "coverage"),
        ({"rho": 0.5}, "at least 1"),
        ({"window": 0}, "window"),
        ({"moves": -1}, "moves"),
    ],
)
def test_policies_check_themselves(given: dict[str, object], message: str) -> None:
    """A parameter that makes no sense is refused, and the valid ones are named."""
    with pytest.raises(InputError, match=message):
        Policy(**given)  # type: ignore[arg-type]


def test_tidying_is_bounded() -> None:
    """No round moves more links than it may; with none to move, nothing is tidied."""
    interest = unif(150, 20, size=6, seed=3)
    for moves in (0, 3):
        live = LiveOverlay(grow(interest, rules.low(3)), Policy("tidy", moves=moves, steps=20))
        run = replay(live, random_churn(interest, 60, seed=1))
        assert max(repair.tidied for repair in run.repairs) <= moves
        assert any(repair.tidied for repair in run.repairs) == (moves > 0)
        assert live.audit() == ()


def test_the_audit_sees_broken_links() -> None:
    """Whichever entry of the lists of neighbours is wrong, or if a count is, the audit says so."""
    sound = LiveOverlay(grow(unif(20, 6, size=3, seed=3), rules.low(3)))
    for slot in range(20):
        live = sound.copy()
        state = live._body.live
        entry = state.near_first[slot] * CHUNK
        for wrong in (slot, 20, (state.entries[entry] + 1) % 20):
            state.entries[entry] = wrong
            assert live.audit()
        live = sound.copy()
        live._body.live.degree[slot] += 1
        assert live.audit()
    assert sound.audit() == ()


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["shadow", "tidy"])
def test_ten_thousand_rounds_at_size(policy: str) -> None:
    """Ten thousand rounds at 20,000 nodes (2000 for tidy), audited every thousand, stay clean."""
    nodes, topics = (20_000, 1000) if policy == "shadow" else (2000, 200)
    interest = unif(nodes, topics, min_size=10, max_size=90, seed=1)
    live = LiveOverlay(grow(interest, rules.low(3)), policy)
    for number, events in enumerate(random_churn(interest, 10_000, seed=1), start=1):
        happen(live, events)
        if number % 1000 == 0:
            assert live.audit() == ()
