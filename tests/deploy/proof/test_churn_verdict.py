"""Verdicts under churn: losses are excused only where a change disturbs the path of a message."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.proof.churn_verdict import (
    IN_TRANSIT,
    WAVE_LIMIT,
    ChurnVerdict,
    Count,
    Paths,
    Window,
    judge_churn,
)
from meshwright.deploy.proof.traffic import Message
from meshwright.deploy.proof.verdict import Verdict

PAIR = TopicTree((("a", "b"),), frozenset("ab"))
CHAIN = TopicTree((("a", "b"), ("b", "c")), frozenset("abc"))
NOTHING = Verdict(0, 0, (), (), (), {})


def message(origin: str, seen: str, *, sent: float = 10.0, topic: str = "x") -> Message:
    """Return a message that each broker saw as often as its letter occurs."""
    return Message(topic, origin, sent, Counter(seen), dict.fromkeys(seen, sent + 0.5))


def window(event: str = "leave", topics: str = "x", **fields: Any) -> Window:
    """Return a change that removes `c` within one second, and changes the tree of x."""
    spans = dict.fromkeys(topics, (20.0, 21.0))
    return Window(
        event,
        "c",
        20.0,
        **{
            "changed_topics": frozenset("x"),
            "disturbed_brokers": frozenset("c"),
            "spans": spans,
            "ended": 21.0,
            **fields,
        },
    )


def judged(sent: list[tuple[Message, int]], around: Window) -> tuple[Verdict, int, bool]:
    """Judge messages around a change that removes `c` from x; y stays as it is."""
    before = NamedTrees(tuple("abc"), {"x": CHAIN, "y": PAIR})
    after = NamedTrees(tuple("ab"), {"x": PAIR, "y": PAIR})
    outside, leaked = judge_churn(sent, [before, after], [around])
    return outside, leaked, ChurnVerdict(outside, [around], leaked, NOTHING, (), 1.0).passed


def test_losses_in_a_window_are_counted_separately() -> None:
    """While waves affect a topic, losses that they explain are counted; elsewhere losses are faults."""
    around = window(disturbed_brokers=frozenset("bc"))
    lost = [message("a", "a", sent=20.5), message("a", "ab", sent=20.0 - IN_TRANSIT / 2)]
    outside, leaked, passed = judged([(each, 0) for each in lost], around)
    assert (outside.published, leaked, passed) == (0, 0, True)
    assert (around.changed_trees, around.unchanged_trees) == (Count(2, 4, 1, 0), Count())
    for late in (
        message("a", "a", sent=21.5),
        message("a", "a", sent=20.5, topic="y"),
        message("a", "ab", sent=20.0 - 2 * IN_TRANSIT),
    ):
        outside, _, passed = judged([(late, 1 if late.sent > 21 else 0)], window())
        assert len(outside.missing) == 1
        assert not passed


def test_unchanged_trees_are_counted_separately() -> None:
    """A topic whose tree stays while a broker of it restarts has its own count."""
    around = window(topics="xy", disturbed_brokers=frozenset("bc"))
    assert judged([(message("a", "a", sent=20.5, topic="y"), 0)], around)[2]
    assert (around.changed_trees, around.unchanged_trees) == (Count(), Count(1, 2, 1, 0))
    assert around.figures()["restarted_topics"] == 1
    assert (around.missing, around.duplicate) == (1, 0)


def test_nothing_undisturbed_is_lost() -> None:
    """In a window too, a loss is a fault if the path stays and no broker on it stops or restarts."""
    around = window()
    assert not judged([(message("a", "a", sent=20.5), 0)], around)[2]
    assert around.unexcused == 1
    assert judged([(message("c", "c", sent=20.5), 0)], window())[2]


@pytest.mark.parametrize(("link", "excused"), [("ab", True), ("bc", False)])
def test_interrupted_links_excuse_losses(link: str, excused: bool) -> None:
    """A loss is excused if a reload interrupted a link of the path, and not by any other link."""
    around = window(
        topics="xy", disturbed_brokers=frozenset(), interrupted_links=frozenset([frozenset(link)])
    )
    assert judged([(message("a", "a", sent=20.5, topic="y"), 0)], around)[2] == excused
    assert around.unexcused == (not excused)


def test_duplicates_are_faults_where_nothing_is_disturbed() -> None:
    """A cut bridge may resend; elsewhere a message that arrives twice is a fault, in windows too."""
    around = window()
    assert not judged([(message("a", "abb", sent=20.5), 0)], around)[2]
    assert (around.duplicate, around.unexcused) == (1, 1)
    around = window(disturbed_brokers=frozenset("b"))
    assert judged([(message("a", "abb", sent=20.5), 0)], around)[2]
    assert (around.duplicate, around.unexcused) == (1, 0)


def test_queued_messages_may_arrive_twice_on_a_changed_tree() -> None:
    """With durable sessions, a duplicate is a fault if the tree stays, and just counted if it changes."""
    around = window(durable=True)
    assert judged([(message("a", "abb", sent=20.5), 0)], around)[2]
    assert (around.changed_trees.duplicate, around.unexcused) == (1, 0)
    for seen in ("abb", "a"):
        around = window(topics="xy", durable=True)
        assert not judged([(message("a", seen, sent=20.5, topic="y"), 0)], around)[2]
        assert around.unexcused == 1


def test_windows_end_in_time() -> None:
    """A change may take as long as its waves may, and no longer."""
    assert judged([], window(ended=20.0 + WAVE_LIMIT))[2]
    assert not judged([], window(ended=20.1 + WAVE_LIMIT))[2]
    assert judged([], window(ended=20.1 + WAVE_LIMIT, waves=2))[2]


def test_a_topic_is_outside_after_its_last_wave() -> None:
    """While later waves affect others, a topic is judged by its new tree, and nothing of it may be lost."""
    around = window(ended=29.0)
    outside, leaked, passed = judged([(message("a", "ab", sent=25.0), 0)], around)
    assert (outside.expected, leaked, passed) == (2, 0, True)
    assert not judged([(message("a", "a", sent=25.0), 0)], window(ended=29.0))[2]
    around.affect("xz", 26.0, 27.0)
    assert around.spans == {"x": (20.0, 27.0), "z": (26.0, 27.0)}


def test_durable_messages_are_in_transit_longer() -> None:
    """With durable sessions, a message sent twice as long before a wave may be lost with a broker."""
    for durable in (True, False):
        around = window(disturbed_brokers=frozenset("bc"), durable=durable)
        assert judged([(message("a", "ac", sent=20.0 - 1.5 * IN_TRANSIT), 0)], around)[2] == durable
        assert around.missing == durable


def test_two_windows_count_a_message_once() -> None:
    """A message in two windows counts in the later one, by whether either changes its tree."""
    windows = [
        window(),
        Window("leave", "d", 21.5, spans={"x": (21.5, 22.0)}, disturbed_brokers=frozenset("b")),
    ]
    versions = [NamedTrees(tuple("abc"), {"x": CHAIN}), *[NamedTrees(tuple("ab"), {"x": PAIR})] * 2]
    judge_churn([(message("a", "a", sent=20.9), 0)], versions, windows)
    assert (windows[1].changed_trees, windows[1].unchanged_trees) == (Count(1, 2, 1, 0), Count())
    assert (windows[0].changed_trees, windows[0].unchanged_trees) == (Count(), Count())


def test_joins_are_blamed_last() -> None:
    """A message in the windows of a leave and a later join counts with the leave: joins lose nothing."""
    windows = [
        window(disturbed_brokers=frozenset("bc")),
        Window("join", "d", 21.5, spans={"x": (21.5, 22.0)}),
    ]
    versions = [NamedTrees(tuple("abc"), {"x": CHAIN}), *[NamedTrees(tuple("ab"), {"x": PAIR})] * 2]
    judge_churn([(message("a", "a", sent=20.9), 0)], versions, windows)
    assert windows[0].missing == 1
    assert windows[1].missing == 0


def test_leaks_are_faults_everywhere() -> None:
    """A broker that subscribes neither before nor after must never see a message, in windows or outside."""
    for sent in (10.0, 20.5):
        _, leaked, passed = judged([(message("a", "abcd", sent=sent), 0)], window())
        assert (leaked, passed) == (1, False)


def test_joins_lose_nothing() -> None:
    """In the window of a join a loss is a fault, also of a message sent shortly before."""
    for sent in (20.5, 20.0 - IN_TRANSIT / 2):
        around = window("join", disturbed_brokers=frozenset("bc"))
        assert not judged([(message("a", "a", sent=sent), 0)], around)[2]
        assert judged([(message("a", "ab", sent=sent), 0)], window("join"))[2]


@pytest.mark.parametrize(
    "fault",
    [{"disconnected_clients": 1}, {"restarts": ["a"]}, {"unchanged_trees": Count(duplicate=1)}],
)
def test_joins_disturb_nobody(fault: dict[str, Any]) -> None:
    """A join that disconnects a client, restarts a broker or duplicates a message fails; a leave may."""
    assert not judged([], window("join", **fault))[2]
    assert judged([], window("leave", **fault))[2]


def test_every_part_must_pass() -> None:
    """A fault in the final traffic or in the audit of the overlay fails the whole run."""
    assert ChurnVerdict(NOTHING, [], 0, NOTHING, (), 1.0).passed
    failed = Verdict(1, 1, (("x", "a", "b"),), (), (), {})
    assert not ChurnVerdict(NOTHING, [], 0, failed, (), 1.0).passed
    assert not ChurnVerdict(failed, [], 0, NOTHING, (), 1.0).passed
    assert not ChurnVerdict(NOTHING, [], 0, NOTHING, ("not connected",), 1.0).passed
    assert not ChurnVerdict(NOTHING, [], 1, NOTHING, (), 1.0).passed


def test_a_newcomer_is_not_due_earlier_messages() -> None:
    """A message sent before a join was over is due only to the subscribers of its own time."""
    versions = [NamedTrees(tuple("abc"), {"x": tree}) for tree in (PAIR, CHAIN, CHAIN)]
    windows = [Window("join", "c", 10.0, spans={"x": (10.6, 11.0)}), window()]
    _, leaked = judge_churn([(message("a", "ab", sent=19.5), 0)], versions, windows)
    assert (leaked, windows[1].changed_trees) == (0, Count(1, 2, 0, 0))


def test_verdicts_outside_of_windows_are_joined() -> None:
    """Messages of several versions give one verdict, each judged by the trees of its time."""
    versions = [NamedTrees(tuple("abc"), {"x": CHAIN}), NamedTrees(tuple("ab"), {"x": PAIR})]
    sent = [(message("a", "aab", sent=1.0), 0), (message("a", "abc", sent=30.0), 1)]
    outside, leaked = judge_churn(sent, versions, [window()])
    assert (outside.published, outside.expected, leaked) == (2, 5, 1)
    assert outside.missing == (("x", "a", "c"),)
    assert outside.duplicate == (("x", "a", "a"),)
    assert outside.leaked == (("x", "a", "c"),)
    assert outside.latency == {}


def test_paths_lead_back_to_the_origin() -> None:
    """A path lists the brokers from the receiver back to the origin; without a way there is none."""
    paths = Paths([NamedTrees(tuple("abcd"), {"x": CHAIN})])
    assert paths.between(0, "x", "a", "c") == ("c", "b", "a")
    assert paths.between(0, "x", "a", "a") == ("a",)
    assert paths.between(0, "x", "a", "d") is None


def test_figures_keep_their_keys() -> None:
    """The JSON document of a window states the change, its actions and both counts."""
    around = window(topics="xyz", restarts=["b"], reloads=["a"], waves=2, disconnected_clients=3)
    assert around.figures() == {
        "event": "leave",
        "broker": "c",
        "seconds": 1.0,
        "waves": 2,
        "in_time": True,
        "restarts": ["b"],
        "reloads": ["a"],
        "changed_topics": 1,
        "changed": {"published": 0, "expected": 0, "missing": 0, "duplicate": 0},
        "restarted_topics": 2,
        "restarted": {"published": 0, "expected": 0, "missing": 0, "duplicate": 0},
        "unexcused": 0,
        "cut_off": 3,
    }
