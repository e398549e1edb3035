"""After any sequence of changes under any policy, every audited property holds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from calls import examples
from meshwright.churn import Event, LiveOverlay, Policy
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.interest import Interest
from strategies import interests

TOPICS = st.sets(st.integers(0, 70), min_size=1, max_size=6)

POLICIES = {
    "naive": Policy("naive"),
    "shadow": Policy("shadow", window=2),
    "many covers": Policy("shadow", coverage=6, window=4),
    "shadow by the letter": Policy.letter(coverage=2),
    "greedy backups": Policy("shadow", backups="greedy", coverage=1, rho=1.5),
    "tidy": Policy("tidy", rho=2),
    "rebuild": Policy("rebuild"),
}


class Churn(RuleBasedStateMachine):
    """A live overlay next to a dictionary of the topics of each node."""

    policy: Policy

    def __init__(self) -> None:
        super().__init__()
        self.names = count(1000)

    @initialize(interest=interests(most_nodes=10, most_topics=6), seed=st.integers(0, 2**32))
    def begin(self, interest: Interest, seed: int) -> None:
        self.live = LiveOverlay(grow(interest, rules.low(3)), self.policy, seed=seed)
        self.held: dict[Any, set[Any]] = {v: set(interest.topics_of(v)) for v in range(interest.num_nodes)}
        self.edges = {frozenset(edge) for edge in self.live.overlay().edges}

    def check(self, repair: Any) -> None:
        """Compare what a repair reports with what happened."""
        added, removed = ({frozenset(link) for link in links} for links in (repair.added, repair.removed))
        assert len(added) == len(repair.added)
        assert len(removed) == len(repair.removed)
        assert not added & self.edges
        assert removed <= self.edges
        self.edges = (self.edges - removed) | added
        assert repair.max_degree == self.live.max_degree
        assert repair.average_degree == self.live.average_degree

    def some(self, data: st.DataObject) -> Any:
        return data.draw(st.sampled_from(sorted(self.held)))

    @rule(topics=TOPICS)
    def join(self, topics: set[int]) -> None:
        node = next(self.names)
        self.check(self.live.join(node, topics))
        self.held[node] = set(topics)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        node = self.some(data)
        self.check(self.live.leave(node))
        del self.held[node]

    @precondition(lambda self: len(self.held) > 1)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        gone = data.draw(st.sets(st.sampled_from(sorted(self.held)), min_size=1, max_size=4))
        self.check(self.live.crash(gone))
        for node in gone:
            del self.held[node]

    @precondition(lambda self: self.held)
    @rule(data=st.data(), topics=TOPICS)
    def subscribe(self, data: st.DataObject, topics: set[int]) -> None:
        node = self.some(data)
        topics = topics - self.held[node]
        if topics:
            self.check(self.live.subscribe(node, topics))
            self.held[node] |= topics

    @precondition(lambda self: any(self.held.values()))
    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        node = data.draw(st.sampled_from(sorted(v for v, own in self.held.items() if own)))
        topics = data.draw(st.sets(st.sampled_from(sorted(self.held[node])), min_size=1))
        self.check(self.live.unsubscribe(node, topics))
        self.held[node] -= topics

    @precondition(lambda self: self.held)
    @rule(data=st.data(), topics=TOPICS, more=TOPICS)
    def apply(self, data: st.DataObject, topics: set[int], more: set[int]) -> None:
        gone, changed, new = self.some(data), self.some(data), next(self.names)
        batch = [Event("join", new, tuple(topics)), Event("leave", gone)]
        take, give = more - self.held[changed], more & self.held[changed]
        if changed != gone:
            batch += [Event("subscribe", changed, tuple(take))] if take else []
            batch += [Event("unsubscribe", changed, tuple(give))] if give else []
            self.held[changed] = (self.held[changed] | take) - give
        self.check(self.live.apply(batch))
        del self.held[gone]
        self.held[new] = set(topics)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), topics=TOPICS)
    def reject(self, data: st.DataObject, topics: set[int]) -> None:
        node, live = self.some(data), self.live
        own = self.held[node]
        stranger = next(self.names)
        wrong: list[Callable[[], Any]] = [
            lambda: live.join(node, topics),
            lambda: live.join(stranger, []),
            lambda: live.join("text", topics),
            lambda: live.leave(stranger),
            lambda: live.crash([node, stranger]),
            lambda: live.subscribe(stranger, topics),
            lambda: live.unsubscribe(node, [71]),
            lambda: live.unsubscribe(node, []),
            lambda: live.apply(
                [Event("leave", node), Event("join", stranger, (1,)), Event("leave", stranger)]
            ),
            lambda: live.apply([Event("join", stranger, (1,)), Event("leave", node), Event("leave", node)]),
            lambda: live.apply([]),
        ]
        if own:
            wrong.append(lambda: live.subscribe(node, own))
        before = [array.tobytes() for array in live._state.arrays]
        for call in wrong:
            with pytest.raises(InputError):
                call()
        assert [array.tobytes() for array in live._state.arrays] == before

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "live"):
            assert self.live.audit() == ()
            assert {v: set(self.live.topics_of(v)) for v in self.live.nodes} == self.held
            assert {frozenset(edge) for edge in self.live.overlay().edges} == self.edges


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_any_changes_keep_the_overlay_sound(policy: Policy) -> None:
    """After any change the audit is clean, repairs report what they did, and rejected ones change nothing."""
    machine: Any = type("Machine", (Churn,), {"policy": policy})
    run = machine.TestCase
    run.settings = settings(
        max_examples=examples(12, 3),
        stateful_step_count=12,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    run("runTest").runTest()
