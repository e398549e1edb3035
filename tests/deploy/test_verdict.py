"""Verdicts: what is missing, doubled or leaked is seen, also while a federation changes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from meshwright.deploy import Routed, Way
from meshwright.deploy.federation.churn_verdict import UNDER_WAY, WAVE, Churned, Count, Window, sorted_out
from meshwright.deploy.federation.traffic import Message
from meshwright.deploy.federation.verdict import Verdict, hops_from, judge

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


def window(event: str = "leave", topics: str = "x", **more: Any) -> Window:
    """Return a change that takes `c` away within one second, and changes the tree of x."""
    spans = dict.fromkeys(topics, (20.0, 21.0))
    fields: dict[str, Any] = {"disturbed": frozenset("c"), "ended": 21.0, **more}
    return Window(event, "c", 20.0, frozenset("x"), spans=spans, **fields)


def test_losses_in_a_window_are_counted_apart() -> None:
    """While waves touch a topic, losses by what they disturb are counted; elsewhere they are faults."""
    around = window(disturbed=frozenset("bc"))
    lost = [message("a", "a", sent=20.5), message("a", "ab", sent=20.0 - UNDER_WAY / 2)]
    calm, leaked, passed = churned([(each, 0) for each in lost], around)
    assert (calm.published, leaked, passed) == (0, 0, True)
    assert (around.of_changed, around.of_restarted) == (Count(2, 4, 1, 0), Count())
    for late in (
        message("a", "a", sent=21.5),
        message("a", "a", sent=20.5, topic="y"),
        message("a", "ab", sent=20.0 - 2 * UNDER_WAY),
    ):
        calm, _, passed = churned([(late, 1 if late.sent > 21 else 0)], window())
        assert len(calm.missing) == 1
        assert not passed


def test_unchanged_trees_are_counted_apart() -> None:
    """A topic whose tree stays and a broker of it restarts is counted by itself."""
    around = window(topics="xy", disturbed=frozenset("bc"))
    assert churned([(message("a", "a", sent=20.5, topic="y"), 0)], around)[2]
    assert (around.of_changed, around.of_restarted) == (Count(), Count(1, 2, 1, 0))
    assert around.described()["restarted_topics"] == 1


def test_what_nothing_disturbs_is_not_lost() -> None:
    """In a window too a loss is a fault where the way stays and no broker on it ends or restarts."""
    around = window()
    assert not churned([(message("a", "a", sent=20.5), 0)], around)[2]
    assert around.unexcused == 1
    assert churned([(message("c", "c", sent=20.5), 0)], window())[2]


def test_doubles_are_faults_where_nothing_is_disturbed() -> None:
    """Who is cut off may send again; elsewhere a message that comes twice is a fault, in windows too."""
    around = window()
    assert not churned([(message("a", "abb", sent=20.5), 0)], around)[2]
    assert (around.duplicate, around.unexcused) == (1, 1)
    around = window(disturbed=frozenset("b"))
    assert churned([(message("a", "abb", sent=20.5), 0)], around)[2]
    assert (around.duplicate, around.unexcused) == (1, 0)


def test_what_waited_may_come_twice_on_a_tree_that_changes() -> None:
    """Where messages wait, a double is a fault if the tree stays, and counted if it changes."""
    around = window(durable=True)
    assert churned([(message("a", "abb", sent=20.5), 0)], around)[2]
    assert (around.of_changed.duplicate, around.unexcused) == (1, 0)
    for seen in ("abb", "a"):
        around = window(topics="xy", durable=True)
        assert not churned([(message("a", seen, sent=20.5, topic="y"), 0)], around)[2]
        assert around.unexcused == 1


def test_windows_end_in_time() -> None:
    """A change may take as long as its waves may, and no longer."""
    assert churned([], window(ended=20.0 + WAVE))[2]
    assert not churned([], window(ended=20.1 + WAVE))[2]
    assert churned([], window(ended=20.1 + WAVE, waves=2))[2]


def test_a_topic_is_calm_after_its_last_wave() -> None:
    """While later waves touch others, a topic is judged by its new way, and nothing of it may be lost."""
    around = window(ended=29.0)
    calm, leaked, passed = churned([(message("a", "ab", sent=25.0), 0)], around)
    assert (calm.expected, leaked, passed) == (2, 0, True)
    assert not churned([(message("a", "a", sent=25.0), 0)], window(ended=29.0))[2]
    around.touch("xz", 26.0, 27.0)
    assert around.spans == {"x": (20.0, 27.0), "z": (26.0, 27.0)}


def test_what_waits_is_under_way_for_longer() -> None:
    """Where messages wait, what was sent twice as long before a wave may be lost with who ends in it."""
    for durable in (True, False):
        around = window(disturbed=frozenset("bc"), durable=durable)
        assert churned([(message("a", "ac", sent=20.0 - 1.5 * UNDER_WAY), 0)], around)[2] == durable
        assert around.missing == durable


def test_a_tree_that_changes_in_one_of_two_windows_changes() -> None:
    """What falls into two windows is counted in the later one, by whether either changes its tree."""
    pair = Way((("a", "b"),), frozenset("ab"))
    windows = [window(), Window("leave", "d", 21.5, spans={"x": (21.5, 22.0)}, disturbed=frozenset("b"))]
    chain = Way((("a", "b"), ("b", "c")), frozenset("abc"))
    versions = [Routed(tuple("abc"), {"x": chain}), *[Routed(tuple("ab"), {"x": pair})] * 2]
    sorted_out([(message("a", "a", sent=20.9), 0)], versions, windows)
    assert (windows[1].of_changed, windows[1].of_restarted) == (Count(1, 2, 1, 0), Count())


def test_leaks_are_faults_everywhere() -> None:
    """A broker that asked for a topic neither before nor after must never see it, in no window."""
    _, leaked, passed = churned([(message("a", "abd", sent=20.5), 0)], window())
    assert (leaked, passed) == (1, False)


def test_joins_take_nothing_away() -> None:
    """In the window of a join a loss is a fault, also of what was sent shortly before it."""
    for sent in (20.5, 20.0 - UNDER_WAY / 2):
        assert not churned([(message("a", "a", sent=sent), 0)], window("join", disturbed=frozenset("bc")))[2]
        assert churned([(message("a", "ab", sent=sent), 0)], window("join"))[2]


def test_what_was_sent_before_a_join_is_not_due_to_the_newcomer() -> None:
    """Sent before one change was over and the next begins, a message is due to those of its own time."""
    pair = Way((("a", "b"),), frozenset("ab"))
    chain = Way((("a", "b"), ("b", "c")), frozenset("abc"))
    versions = [Routed(tuple("abc"), {"x": way}) for way in (pair, chain, chain)]
    spans = [Window("join", "c", 10.0, spans={"x": (10.6, 11.0)}), window()]
    _, leaked = sorted_out([(message("a", "ab", sent=19.5), 0)], versions, spans)
    assert (leaked, spans[1].of_changed) == (0, Count(1, 2, 0, 0))
