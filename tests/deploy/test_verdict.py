"""Verdicts: what is missing, doubled or leaked is seen, also while a federation changes."""

from __future__ import annotations

from collections import Counter

from meshwright.deploy import Routed, Way
from meshwright.deploy.churn_verdict import UNDER_WAY, Churned, Window, sorted_out
from meshwright.deploy.traffic import Message
from meshwright.deploy.verdict import Verdict, hops_from, judge

CHAIN = Way((("a", "b"), ("b", "c")), frozenset("ac"), frozenset("b"), {"p": "a"})


def message(origin: str, seen: str, *, sent: float = 10.0, topic: str = "x") -> Message:
    """Return a message that was seen by each broker as often as its letter is there."""
    return Message(topic, origin, sent, Counter(seen), dict.fromkeys(seen, sent + 0.5))


def test_each_fault_is_seen() -> None:
    """A subscriber left out, one served twice, a stranger served; relays and publishers are none of these."""
    fine = judge([message("a", "abc"), message("p", "pabc"), message("c", "ca")], {"x": CHAIN})
    assert fine.passed
    assert (fine.published, fine.expected) == (3, 7)
    assert fine.latency[0] == (3, 0.5, 0.5)
    found = judge([message("a", "ab"), message("a", "abcc"), message("a", "abcd")], {"x": CHAIN})
    assert found.missing == (("x", "a", "c"),)
    assert found.duplicate == (("x", "a", "c"),)
    assert found.leaked == (("x", "a", "d"),)
    assert not found.passed
    assert {name: found.described()[name] for name in ("missing", "duplicate", "leaked")} == {
        "missing": 1, "duplicate": 1, "leaked": 1
    }  # fmt: skip


def test_hops_are_those_of_the_tree() -> None:
    """Hops are counted from where a message is published, over a publisher's one-way link too."""
    assert hops_from(CHAIN, "c") == {"c": 0, "b": 1, "a": 2}
    assert hops_from(CHAIN, "p") == {"p": 0, "a": 1, "b": 2, "c": 3}


def churned(sent: list[tuple[Message, int]], window: Window) -> tuple[Verdict, int, bool]:
    """Judge messages around a change that takes `c` away from x; y stays as it is."""
    pair = Way((("a", "b"),), frozenset("ab"))
    before = Routed(tuple("abc"), {"x": Way((("a", "b"), ("b", "c")), frozenset("abc")), "y": pair})
    after = Routed(tuple("ab"), {"x": pair, "y": pair})
    calm, leaked = sorted_out(sent, [before, after], [window])
    nothing = Verdict(0, 0, (), (), (), {})
    return calm, leaked, Churned(calm, [window], leaked, nothing, (), 1.0).passed


def window(event: str = "leave") -> Window:
    return Window(event, "c", 20.0, {"x"}, [], ended=21.0)


def test_losses_in_a_window_are_counted_apart() -> None:
    """In the window of a touched topic losses and doubles are counted; elsewhere they are faults."""
    around = window()
    lost = [message("a", "a", sent=20.5), message("a", "aabb", sent=20.0 - UNDER_WAY / 2)]
    calm, leaked, passed = churned([(each, 0) for each in lost], around)
    assert (calm.published, leaked, passed) == (0, 0, True)
    assert (around.published, around.expected, around.missing, around.duplicate) == (2, 4, 1, 2)
    for late in (
        message("a", "a", sent=21.5),
        message("a", "a", sent=20.5, topic="y"),
        message("a", "ab", sent=20.0 - 2 * UNDER_WAY),
    ):
        calm, _, passed = churned([(late, 1 if late.sent > 21 else 0)], window())
        assert len(calm.missing) == 1
        assert not passed


def test_leaks_are_faults_everywhere() -> None:
    """A broker that asked for a topic neither before nor after must never see it, in no window."""
    _, leaked, passed = churned([(message("a", "abd", sent=20.5), 0)], window())
    assert (leaked, passed) == (1, False)


def test_joins_take_nothing_away() -> None:
    """In the window of a join a loss is a fault, and what was sent before it is not in it."""
    assert not churned([(message("a", "a", sent=20.5), 0)], window("join"))[2]
    assert churned([(message("a", "abc", sent=19.9), 0)], window("join"))[0].published == 1
