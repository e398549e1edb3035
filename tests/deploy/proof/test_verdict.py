"""Verdicts: missing, duplicate and leaked messages are recognised, and latency is counted by hops."""

from __future__ import annotations

from collections import Counter

from meshwright.deploy.named_trees import TopicTree
from meshwright.deploy.proof.traffic import Message
from meshwright.deploy.proof.verdict import Verdict, hops_from, judge

CHAIN = TopicTree((("a", "b"), ("b", "c")), frozenset("ac"), frozenset("b"), {"p": "a"})


def message(origin: str, seen: str, *, delay: float = 0.5) -> Message:
    """Return a message that each broker saw as often as its letter occurs."""
    return Message("x", origin, 10.0, Counter(seen), dict.fromkeys(seen, 10.0 + delay))


def test_exact_delivery_passes() -> None:
    """Relays and publishers are no leaks, and the broker of the publisher is due a delivery."""
    verdict = judge([message("a", "abc"), message("p", "pabc"), message("c", "cba")], {"x": CHAIN})
    assert verdict.passed
    assert (verdict.published, verdict.expected, verdict.relayed) == (3, 7, 3)
    assert verdict.latency == {
        0: (3, 0.5, 0.5),
        1: (3, 0.5, 0.5),
        2: (3, 0.5, 0.5),
        3: (1, 0.5, 0.5),
    }


def test_each_fault_is_recognised() -> None:
    """A subscriber left out is missing, one served twice is duplicate, a stranger served is a leak."""
    for seen, kind in (("ab", "missing"), ("abcc", "duplicate"), ("abcd", "leaked")):
        verdict = judge([message("a", seen)], {"x": CHAIN})
        broker = "d" if kind == "leaked" else "c"
        for name in ("missing", "duplicate", "leaked"):
            assert getattr(verdict, name) == ((("x", "a", broker),) if name == kind else ())
        assert not verdict.passed
        assert verdict.figures()[kind] == 1


def test_hops_are_those_of_the_tree() -> None:
    """Hops are counted from where a message is published, over a publisher's one-way link too."""
    assert hops_from(CHAIN, "c") == {"c": 0, "b": 1, "a": 2}
    assert hops_from(CHAIN, "p") == {"p": 0, "a": 1, "b": 2, "c": 3}


def test_the_usual_latency_is_the_95th_percentile() -> None:
    """95 % of deliveries take no longer than the usual latency, and it is one that occurred."""
    tree = TopicTree((), frozenset("a"))
    messages = [message("a", "a", delay=number / 4) for number in range(1, 21)]
    assert judge(messages, {"x": tree}).latency == {0: (20, 2.625, 4.75)}
    assert judge(messages[:1], {"x": tree}).latency == {0: (1, 0.25, 0.25)}


def test_figures_keep_their_keys() -> None:
    """The JSON document counts messages, deliveries and faults, and states latency in milliseconds."""
    fault = ("x", "a", "b")
    verdict = Verdict(1, 2, (fault,), (fault,) * 2, (fault,) * 3, {1: (4, 0.5, 0.25)})
    assert verdict.figures() == {
        "published": 1,
        "expected": 2,
        "missing": 1,
        "duplicate": 2,
        "leaked": 3,
        "relayed": 0,
        "predicted_relayed": 0,
        "latency": [{"hops": 1, "deliveries": 4, "mean_ms": 500.0, "usual_ms": 250.0}],
    }


def test_relayed_messages_are_counted_against_the_prediction() -> None:
    """In a group, a broker between others relays what it did not ask for; one that saw nothing is wrong."""
    held = {"a": frozenset({"m/#"}), "b": frozenset({"m/x"}), "c": frozenset({"m/#"})}
    tree = TopicTree((("a", "b"), ("b", "c")), frozenset("abc"), filters=held)
    sent = Message("m/#", "a", 0.0, Counter("abc"), {}, "m/y")
    verdict = judge([sent], {"m/#": tree})
    assert (verdict.expected, verdict.relayed, verdict.predicted_relayed) == (2, 1, 1)
    assert verdict.passed
    jumped = Message("m/#", "a", 0.0, Counter("ac"), {}, "m/y")
    assert not judge([jumped], {"m/#": tree}).passed
    wanted = Message("m/#", "a", 0.0, Counter("abc"), {}, "m/x")
    assert judge([wanted], {"m/#": tree}).relayed == 0
