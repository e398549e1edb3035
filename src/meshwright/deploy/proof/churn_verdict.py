"""The verdict on a federation under churn: on each change, and on the messages outside of all changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from meshwright.deploy.named_trees import NamedTrees
from meshwright.deploy.proof.prediction import paths_from, wanted_at
from meshwright.deploy.proof.traffic import Message
from meshwright.deploy.proof.verdict import Verdict, judge
from meshwright.formatting import duration

IN_TRANSIT = 1.0
"""Seconds: a message sent this shortly before a wave may still be in transit when the wave begins.

Twice as long with durable sessions, where QoS 2 needs two round trips for each link.
"""
WAVE_LIMIT = 10.0
"""Seconds that a wave may take: a bridge retries within 5, and a busy machine gets as much again."""


@dataclass
class Count:
    """Messages, the deliveries due before and after a change, and what became of them."""

    published: int = 0
    expected: int = 0
    missing: int = 0
    duplicate: int = 0


@dataclass
class Window:
    """One change, and the messages on topics that it affects, from a topic's first wave to its last."""

    event: str
    broker: str
    began: float
    changed_topics: frozenset[str] = frozenset()
    """Topics whose tree changes."""
    disturbed_brokers: frozenset[str] = frozenset()
    """Brokers that stop, or restart and keep nothing: messages that pass them may be lost."""
    interrupted_links: frozenset[frozenset[str]] = frozenset()
    """Links that a reload interrupts: messages on the way there may be lost."""
    relined: Mapping[str, frozenset[frozenset[str]]] = field(default_factory=dict)
    """By group: links that stay and carry other filters of the group afterwards.

    Messages on the way there may be lost, and the brokers that dial these links act.
    """
    restarts: list[str] = field(default_factory=list)
    reloads: list[str] = field(default_factory=list)
    waves: int = 1
    spans: dict[str, tuple[float, float]] = field(default_factory=dict)
    """When each affected topic may lose messages: during the waves that affect it."""
    ended: float = float("inf")
    changed_trees: Count = field(default_factory=Count)
    """Messages on topics whose tree changes."""
    unchanged_trees: Count = field(default_factory=Count)
    """Messages on topics whose tree stays while a broker of it restarts, or a reload interrupts its links."""
    unexcused: int = 0
    """Deliveries missing or duplicate although the path stayed, and nothing on it was disturbed.

    With durable sessions, duplicates count only if the whole tree stayed.
    """
    disconnected_clients: int = 0
    """Clients whose connection broke, except those of a broker that left or crashed."""
    durable: bool = False
    """Whether messages queue for a broker that restarts."""

    def affect(self, topics: Iterable[str], began: float, ended: float) -> None:
        """Record that a wave affects topics while it lasts."""
        for topic in topics:
            first, last = self.spans.get(topic, (began, ended))
            self.spans[topic] = min(first, began), max(last, ended)

    def covers(self, message: Message) -> bool:
        """Return whether a message was sent while its topic was affected, or shortly before."""
        if message.topic not in self.spans:
            return False
        first, last = self.spans[message.topic]
        return first - IN_TRANSIT * (1 + self.durable) <= message.sent <= last

    @property
    def is_join(self) -> bool:
        """Whether a broker joined."""
        from meshwright.churn.events import JOIN

        return self.event == JOIN

    @property
    def in_time(self) -> bool:
        """Whether the change ended within the time limit of its waves."""
        return self.ended - self.began <= WAVE_LIMIT * max(1, self.waves)

    @property
    def missing(self) -> int:
        """Missing deliveries on all affected topics."""
        return self.changed_trees.missing + self.unchanged_trees.missing

    @property
    def duplicate(self) -> int:
        """Duplicate deliveries on all affected topics: a cut bridge resends unacknowledged messages."""
        return self.changed_trees.duplicate + self.unchanged_trees.duplicate

    def figures(self) -> dict[str, Any]:
        """Return the figures for a JSON answer."""
        return {
            "event": self.event,
            "broker": self.broker,
            "seconds": self.ended - self.began,
            "waves": self.waves,
            "in_time": self.in_time,
            "restarts": self.restarts,
            "reloads": self.reloads,
            "changed_topics": len(self.changed_topics & self.spans.keys()),
            "changed": vars(self.changed_trees),
            "restarted_topics": len(self.spans.keys() - self.changed_topics),
            "restarted": vars(self.unchanged_trees),
            "unexcused": self.unexcused,
            "cut_off": self.disconnected_clients,
        }

    def __str__(self) -> str:
        figures = self.figures()
        counts = [
            f"of {count.expected:,} deliveries on {topics:,} {kind} "
            f"{count.missing:,} missing, {count.duplicate:,} duplicate"
            for topics, kind, count in (
                (figures["changed_topics"], "topics whose tree changes", self.changed_trees),
                (
                    figures["restarted_topics"],
                    "topics whose tree stays but a broker restarts or reloads",
                    self.unchanged_trees,
                ),
            )
            if topics
        ]
        acted = [(len(self.restarts), "restarted"), (len(self.reloads), "reloaded")]
        actions = "".join(f", {count} {word}" for count, word in acted if count)
        took = f"{duration(self.ended - self.began)} in {self.waves} wave{'s' * (self.waves > 1)}"
        faults = [
            *([f"{self.unexcused:,} lost or duplicate on undisturbed paths"] if self.unexcused else []),
            *(["NOT over in time"] if not self.in_time else []),
        ]
        return "; ".join([f"{self.event} of {self.broker}: {took}{actions}", *counts, *faults])


@dataclass(frozen=True)
class ChurnVerdict:
    """What became of a federation under churn."""

    outside: Verdict
    """Messages outside of all windows: none may be missing, duplicate or leaked."""
    windows: Sequence[Window]
    leaked: int
    """Deliveries at brokers that subscribed neither before nor after, in windows too."""
    final: Verdict
    """Messages published everywhere at the end."""
    audit_faults: Sequence[str]
    """Faults that the audit of the live overlay finds at the end."""
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the federation kept its promises.

        - Messages outside of windows and at the end arrive exactly once, and nothing leaks.
        - A join disconnects no client, restarts no broker, and loses or duplicates no message, unless the
          newcomer holds filters of a group that other links have to carry as well.
        - In windows, no delivery on an undisturbed path is missing or duplicate.
        - Every change ends in time.
        """
        joins = [window for window in self.windows if window.is_join and not window.relined]
        return (
            self.outside.passed
            and self.final.passed
            and not self.leaked
            and not self.audit_faults
            and not any(
                join.disconnected_clients or join.restarts or join.missing or join.duplicate for join in joins
            )
            and not any(window.unexcused or not window.in_time for window in self.windows)
        )

    def figures(self) -> dict[str, Any]:
        """Return the figures for a JSON answer."""
        return {
            "events": len(self.windows),
            "seconds": self.seconds,
            "calm": self.outside.figures(),
            "final": self.final.figures(),
            "leaked": self.leaked,
            "windows": [window.figures() for window in self.windows],
        }

    @property
    def lines(self) -> list[str]:
        """Lines for people: each change, and the messages outside of all changes."""
        return [
            *map(str, self.windows),
            f"outside of these: {self.outside.lines[0]}",
            f"at the end: {self.final.lines[0]}",
        ]


def judge_churn(
    sent: Sequence[tuple[Message, int]], versions: Sequence[NamedTrees], windows: Sequence[Window]
) -> tuple[Verdict, int]:
    """Judge messages outside of windows by the trees of their time, and count the others in their window.

    Returns the verdict on the messages outside, and the number of leaked deliveries of all messages.
    """
    outside: dict[int, list[Message]] = {}
    paths = Paths(versions)
    leaked = 0
    for message, version in sent:
        covering = [number for number, window in enumerate(windows) if window.covers(message)]
        if covering:
            leaked += _count_in_window(message, version, covering, windows, paths)
        else:
            outside.setdefault(_tree_version(message, version, windows), []).append(message)
    verdicts = [judge(messages, versions[version].trees) for version, messages in sorted(outside.items())]
    joined = Verdict(
        sum(part.published for part in verdicts),
        sum(part.expected for part in verdicts),
        tuple(fault for part in verdicts for fault in part.missing),
        tuple(fault for part in verdicts for fault in part.duplicate),
        tuple(fault for part in verdicts for fault in part.leaked),
        {},
        sum(part.relayed for part in verdicts),
        sum(part.predicted_relayed for part in verdicts),
    )
    return joined, leaked + len(joined.leaked)


def _count_in_window(
    message: Message, version: int, covering: Sequence[int], windows: Sequence[Window], paths: Paths
) -> int:
    """Count a message in one of the windows that cover it; return its leaked deliveries."""
    # A message sent shortly before a change may have been sent before the last change was over.
    began, ended = min(version, covering[0]), covering[-1] + 1
    spanned = [v for v in range(began, ended + 1) if message.topic in paths.versions[v].trees]
    trees = [paths.versions[v].trees[message.topic] for v in spanned]
    due = frozenset.intersection(*(wanted_at(tree, message.name) for tree in trees)) | {message.origin}
    allowed = frozenset().union(*(tree.carriers for tree in trees))
    # Joins must lose nothing: blame them last.
    window = max((windows[number] for number in covering), key=lambda it: (not it.is_join, it.began))
    missing = due - set(message.seen)
    duplicate = {broker for broker, times in message.seen.items() if times > 1}
    changed = any(message.topic in windows[number].changed_topics for number in covering)
    count = window.changed_trees if changed else window.unchanged_trees
    count.published += 1
    count.expected += len(due)
    count.missing += len(missing)
    count.duplicate += len(duplicate)
    disturbed = frozenset().union(*(windows[number].disturbed_brokers for number in covering))
    interrupted = frozenset().union(
        *(windows[number].interrupted_links for number in covering),
        *(windows[number].relined.get(message.topic, ()) for number in covering),
    )
    # A message queued for a removed link still crosses it, and then travels on over the new link as well.
    for broker in missing if changed and window.durable else missing | duplicate:
        found = {paths.between(v, message.topic, message.origin, broker) for v in spanned}
        same = found.pop() if len(found) == 1 else None
        window.unexcused += same is not None and not _is_disturbed(same, disturbed, interrupted)
    return len(set(message.seen) - allowed - {message.origin})


def _is_disturbed(
    path: Sequence[str], disturbed: Collection[str], interrupted: Collection[frozenset[str]]
) -> bool:
    """Return whether a broker or a link of a path was disturbed."""
    links = {frozenset(link) for link in pairwise(path)}
    return not (links.isdisjoint(interrupted) and set(path).isdisjoint(disturbed))


def _tree_version(message: Message, version: int, windows: Sequence[Window]) -> int:
    """Return the version of the tree that a message outside of windows took.

    It is the next one if the last wave that affects its topic was over before the whole change was.
    """
    if version < len(windows):
        spans = windows[version].spans
        if message.topic in spans and message.sent > spans[message.topic][1]:
            return version + 1
    return version


class Paths:
    """Paths between brokers in the trees of all versions; each tree is searched once for each origin."""

    def __init__(self, versions: Sequence[NamedTrees]) -> None:
        self.versions = versions
        self._previous: dict[tuple[int, str, str], dict[str, str]] = {}

    def between(self, version: int, topic: str, origin: str, broker: str) -> tuple[str, ...] | None:
        """Return the brokers on the path, from `broker` back to `origin`; None if there is no path."""
        key = (version, topic, origin)
        if key not in self._previous:
            self._previous[key] = paths_from(self.versions[version].trees[topic], origin)
        previous, path = self._previous[key], [broker]
        while path[-1] in previous and path[-1] != origin:
            path.append(previous[path[-1]])
        return tuple(path) if path[-1] == origin else None
