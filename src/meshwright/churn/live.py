"""The live overlay: it changes in place, and every change is repaired before the call returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright import measure
from meshwright.arrays import Ids
from meshwright.churn.events import CRASH, JOIN, LEAVE, SUBSCRIBE, UNSUBSCRIBE, Event, check_batch, distinct
from meshwright.churn.kernels.covers import GREEDY, PRIMAL_DUAL
from meshwright.churn.kernels.live_arrays import RepairRule
from meshwright.churn.kernels.tidy import Budget
from meshwright.churn.live_state import LiveState
from meshwright.churn.repair import EVERYBODY, Policy, Repair, net_links
from meshwright.churn.state_arrays import audit
from meshwright.errors import InputError, first_five
from meshwright.formatting import counted
from meshwright.interest import Interest
from meshwright.jit.announce import working_seconds
from meshwright.names import Name
from meshwright.overlay import Overlay

BATCH = "batch"
REPAIRING = ("naive", "shadow")
"""The policies that do nothing after the repair of a change."""


class LiveOverlay:
    """An overlay that nodes join and leave; every topic is connected after every change.

    Parameters
    ----------
    overlay
        The overlay to begin with, or a plan; it must connect every topic.
    policy
        How changes are repaired: a `Policy`, or the name of one with its default parameters.
    seed
        The same seed and the same changes give the same overlay.

    Raises
    ------
    InputError
        If a topic is split. Also by every change that names an unknown node, a node that is there already,
        a topic that the node does not have or already has, or no topic, and by a batch that contradicts
        itself. A rejected change changes nothing.

    Examples
    --------
    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({"a": {"x"}, "b": {"x", "y"}})
    >>> live = LiveOverlay(Overlay(interest, [0], [1], [1]))
    >>> live.join("c", ["x", "y"]).added
    (('b', 'c'),)
    >>> live.leave("b").added
    (('a', 'c'),)
    >>> live
    LiveOverlay(2 nodes, 1 link, policy shadow)
    >>> live.audit()
    ()
    """

    def __init__(self, overlay: Overlay | Any, policy: Policy | str = "shadow", *, seed: int = 0) -> None:
        self.policy = Policy(policy) if isinstance(policy, str) else policy
        overlay = Overlay.of(overlay)
        fragments = measure.components(overlay).of_topic
        if (fragments > 1).any():
            split = overlay.interest.topic_names.take(np.flatnonzero(fragments > 1)).to_pylist()
            raise InputError(
                f"topics {first_five(split)} are split: begin with an overlay that connects them"
            )
        self._state = LiveState(overlay, _repair_rule(self.policy), seed)

    # -- changes ------------------------------------------------------------------------------------

    def join(self, node: Name, topics: Iterable[Name]) -> Repair:
        """Add a new node."""
        return self._apply_one(Event(JOIN, node, _as_tuple(topics)))

    def leave(self, node: Name) -> Repair:
        """Remove a node."""
        return self._apply_one(Event(LEAVE, node))

    def crash(self, nodes: Iterable[Name]) -> Repair:
        """Remove several nodes at once."""
        return self._apply([Event(CRASH, node) for node in distinct(nodes)], CRASH)

    def subscribe(self, node: Name, topics: Iterable[Name]) -> Repair:
        """Subscribe a node to more topics."""
        return self._apply_one(Event(SUBSCRIBE, node, _as_tuple(topics)))

    def unsubscribe(self, node: Name, topics: Iterable[Name]) -> Repair:
        """Unsubscribe a node from some of its topics."""
        return self._apply_one(Event(UNSUBSCRIBE, node, _as_tuple(topics)))

    def apply(self, batch: Iterable[Event]) -> Repair:
        """Apply several events at once: all of them, or nothing if one is rejected.

        All nodes that leave do so together; then come the unsubscribes, then the rest, in order.
        """
        return self._apply(tuple(batch), BATCH)

    def copy(self) -> LiveOverlay:
        """Return an independent copy."""
        other = LiveOverlay.__new__(LiveOverlay)
        other.policy, other._state = self.policy, self._state.copy()
        return other

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'node')}, {counted(self.num_edges, 'link')}"
        return f"LiveOverlay({size}, policy {self.policy.name})"

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_table

        head = ("nodes", "links", "average degree", "maximum degree", "policy")
        cells = (f"{len(self):,}", f"{self.num_edges:,}", f"{self.average_degree:.2f}")
        return html_table([(*cells, f"{self.max_degree:,}", self.policy.name)], head=head)

    # -- contents -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._state.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._state.nodes.numbers

    @property
    def nodes(self) -> list[Name]:
        """The nodes, in the order of their slots."""
        return [name for name in self._state.nodes.names if name is not None]

    @property
    def num_edges(self) -> int:
        """The number of links."""
        return self._state.figures.links

    @property
    def max_degree(self) -> int:
        """The largest number of links of a node."""
        return self._state.figures.max_degree

    @property
    def average_degree(self) -> float:
        """The mean number of links of a node."""
        return self._state.figures.average_degree

    @property
    def nbytes(self) -> int:
        """The memory of the arrays and of the tables of names, in bytes, without the names themselves."""
        return self._state.nbytes

    def topics_of(self, node: Name) -> list[Name]:
        """Return the topics of a node."""
        return list(self._state.topics_of(self._slot(node)))

    def neighbours(self, node: Name) -> list[Name]:
        """Return the nodes that a node is linked with."""
        return self._state.name_nodes(self._state.neighbours(self._slot(node)).tolist())

    def backups(self, node: Name) -> list[Name]:
        """Return the backups of a node, which stand in for it when it leaves."""
        return self._state.name_nodes(self._state.backups(self._slot(node)).tolist())

    def primaries(self, node: Name) -> list[Name]:
        """Return the nodes that a node is a backup of."""
        return self._state.name_nodes(self._state.primaries(self._slot(node)).tolist())

    def node_table(self) -> pa.Table:
        """Return a table of the nodes: their topics, links, backups and primaries in numbers."""
        return self._state.node_table()

    def interest(self) -> Interest:
        """Return the interest as it is now; topics without a subscriber are kept."""
        return self._state.snapshot()[0]

    def overlay(self) -> Overlay:
        """Return the overlay as it is now, in the order of its pairs."""
        return self._state.overlay()

    def audit(self) -> tuple[str, ...]:
        """Recompute everything that must hold, and return a line for each fault; empty if all is well."""
        return audit(self._state)

    def _slot(self, node: Name) -> int:
        return self._state.nodes.find([node])[0]

    # -- applying events ----------------------------------------------------------------------------

    def _apply_one(self, event: Event) -> Repair:
        """Check one event, apply it, and return what that did.

        A change takes some ten microseconds, so where only the change itself is to be repaired, nothing else
        is done here.
        """
        if self.policy.name not in REPAIRING:
            return self._apply((event,), event.event)
        began, state = working_seconds(), self._state
        change = state.change((event,), _check_event(state, event))
        topics = event.topics or state.name_topics(change.topics)
        added, removed = state.name_links(change.made), state.name_links(change.lost)
        if event.event == LEAVE:
            state.nodes.remove(event.node)
        return Repair(
            event=event.event,
            nodes=(event.node,),
            added=added,
            removed=removed,
            topics=topics,
            fragments=change.fragments,
            max_degree=change.max_degree,
            average_degree=2 * change.links / change.nodes if change.nodes else 0.0,
            seconds=working_seconds() - began,
            edges_before=change.links - len(added) + len(removed),
            shadow_size=change.candidates if state.rule.coverage else None,
            greedy_seconds=change.nanoseconds / 1e9,
        )

    def _apply(self, events: Sequence[Event], what: str) -> Repair:
        """Check some events, apply them, and return what that did."""
        began, state = working_seconds(), self._state
        if not events:
            raise InputError("nothing happens in this batch: give at least one event")
        check_batch(events)
        for event in events:
            _check_event(state, event)
        edges = state.figures.links
        first, *others = _steps(events)
        change = state.change(first)
        topics = events[0].topics or state.name_topics(change.topics)
        made, lost = state.name_links(change.made), state.name_links(change.lost)
        # The names of nodes that left were needed for their links.
        if first[0].event in (LEAVE, CRASH):
            for event in first:
                state.nodes.remove(event.node)
        fragments, candidates, spent = change.fragments, change.candidates, change.nanoseconds / 1e9
        log = [(link, False) for link in lost] + [(link, True) for link in made]
        ends = {*change.made, *change.lost}
        for step in others:
            change = state.change(step)
            topics += step[0].topics
            fragments += change.fragments
            candidates += change.candidates
            spent += change.nanoseconds / 1e9
            log += [(link, True) for link in state.name_links(change.made)]
            ends |= set(change.made)
        tidied = 0
        if self.policy.name == "tidy":
            tidying, tidied = state.tidy(ends, Budget(self.policy.steps, self.policy.moves, self.policy.lose))
            log += tidying
        if self.policy.name == "rebuild":
            made, lost, spent = state.rebuild()
            log += [(link, False) for link in lost] + [(link, True) for link in made]
        if others or self.policy.name not in REPAIRING:
            made, lost = net_links(log)
            topics = tuple(dict.fromkeys(topics))
        after = state.figures
        return Repair(
            event=what,
            nodes=tuple([event.node for event in events]),
            added=made,
            removed=lost,
            topics=topics,
            fragments=fragments,
            max_degree=after.max_degree,
            average_degree=after.average_degree,
            seconds=working_seconds() - began,
            tidied=tidied,
            edges_before=edges,
            shadow_size=candidates if state.rule.coverage else None,
            greedy_seconds=spent,
        )


def _check_event(state: LiveState, event: Event) -> Ids | None:
    """Reject an event that cannot happen; return the numbers of its topics, or None if one is new."""
    if event.event == JOIN:
        state.nodes.check_new(event.node)
        if event.node in state.nodes.numbers:
            raise InputError(f"node {event.node!r} is there already: let it leave first, or subscribe")
    else:
        state.nodes.find((event.node,))
    if not event.topics:
        return None
    topics = state.topics.find_known(event.topics)
    if topics is None:
        if event.event == UNSUBSCRIBE:
            state.topics.find(event.topics)
        for topic in event.topics:
            if topic not in state.topics.numbers:
                state.topics.check_new(topic)
    if event.event in (SUBSCRIBE, UNSUBSCRIBE):
        own = set(state.topics_of(state.nodes.numbers[event.node]))
        wrong = [topic for topic in event.topics if (topic in own) == (event.event == SUBSCRIBE)]
        if wrong:
            has = "already has" if event.event == SUBSCRIBE else "does not have"
            raise InputError(f"node {event.node!r} {has} the topics {first_five(wrong)}: leave them out")
    return topics


def _as_tuple(topics: Iterable[Name]) -> tuple[Name, ...]:
    """Return topics as a tuple; `Event` removes duplicates from one."""
    return topics if type(topics) is tuple else distinct(topics)


def _steps(events: Sequence[Event]) -> list[Sequence[Event]]:
    """Return the steps of a batch: all leaves at once, then each unsubscribe, then each of the rest."""
    if len(events) == 1:
        return [events]
    leaves = [event for event in events if event.event in (LEAVE, CRASH)]
    unsubscribes = [[event] for event in events if event.event == UNSUBSCRIBE]
    rest = [[event] for event in events if event.event in (JOIN, SUBSCRIBE)]
    return [*([leaves] if leaves else []), *unsubscribes, *rest]


def _repair_rule(policy: Policy) -> RepairRule:
    return RepairRule(
        k=float(policy.rho),
        local=policy.local_degree and policy.keeps_backups,
        everybody=not policy.keeps_backups,
        coverage=policy.coverage if policy.keeps_backups else 0,
        method=GREEDY if policy.backups == "greedy" else PRIMAL_DUAL,
        window=EVERYBODY if policy.window is None else policy.window,
        rebuild_backups=policy.rebuild_backups,
        newcomers=policy.newcomers,
        repairs=policy.name != "rebuild",
        spares=policy.name == "tidy",
        slack=policy.slack,
    )
