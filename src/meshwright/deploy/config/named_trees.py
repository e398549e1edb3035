"""The trees of a plan by name: which brokers carry each topic, and over which links."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from meshwright.errors import InputError, first_five
from meshwright.filters.mqtt import check_filters, overlapping, widest

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from meshwright.store import StoredTrees

RELAY, PUBLISHER, ALONE = "relay", "publisher", "alone"
"""The roles that a plan's table of roles knows."""


@dataclass(frozen=True)
class TopicTree:
    """The tree of one topic."""

    links: tuple[tuple[str, str], ...]
    """Links as (parent, child)."""
    subscribers: frozenset[str]
    relays: frozenset[str] = frozenset()
    """Brokers that pass messages on without subscribing."""
    publishers: Mapping[str, str] = field(default_factory=dict)
    """Brokers that only publish, each with the carrier that takes its messages."""
    merged: tuple[str, ...] = ()
    """The overlapping filters that share this tree, including its own; empty if it has just one."""

    @property
    def carriers(self) -> frozenset[str]:
        """Brokers that see the topic's messages: subscribers and relays."""
        return self.subscribers | self.relays


@dataclass(frozen=True)
class NamedTrees:
    """All brokers, including those in no tree, and the tree of each topic; both sorted."""

    brokers: tuple[str, ...]
    trees: Mapping[str, TopicTree]

    @classmethod
    def from_plan(cls, stored: StoredTrees) -> NamedTrees:
        """Return the trees of a stored plan.

        Raises
        ------
        InputError
            If the plan is not topic-connected and some topic has no tree.
        """
        edges = stored.plan.edges
        ends = [*edges.column("u").to_pylist(), *edges.column("v").to_pylist()]
        unreachable = stored.described.get("figures", {}).get("unreachable", 0)
        if unreachable:
            raise InputError(
                f"plan {stored.plan.path} is not topic-connected: {unreachable} topics have no tree; "
                "make a plan that connects every topic"
            )
        return cls.from_tables(stored.trees, stored.roles, brokers=ends)

    @classmethod
    def from_tables(cls, trees: pa.Table, roles: pa.Table, brokers: Iterable[str] = ()) -> NamedTrees:
        """Return the trees of a plan's two tables; `brokers` may name further brokers."""
        everyone = set(brokers)
        role_of: dict[tuple[str, str], str] = {}
        alone: dict[str, str] = {}
        for row in roles.to_pylist():
            everyone.add(row["broker"])
            if row["role"] != ALONE:
                role_of[row["topic"], row["broker"]] = row["role"]
            elif row["topic"] is not None:
                alone[row["topic"]] = row["broker"]
        links: dict[str, list[tuple[str, str]]] = {}
        subscribers: dict[str, set[str]] = {}
        relays: dict[str, set[str]] = {}
        publishers: dict[str, dict[str, str]] = {}
        for row in trees.to_pylist():
            topic, parent, child = row["topic"], row["parent"], row["child"]
            everyone.add(child)
            role = role_of.get((topic, child))
            if role == PUBLISHER:
                publishers.setdefault(topic, {})[child] = parent
                continue
            links.setdefault(topic, [])
            (relays if role == RELAY else subscribers).setdefault(topic, set()).add(child)
            if parent is not None:
                links[topic].append((parent, child))
        for topic, broker in alone.items():
            links[topic], subscribers[topic] = [], {broker}
        by_topic = {
            topic: TopicTree(
                tuple(links[topic]),
                frozenset(subscribers.get(topic, ())),
                frozenset(relays.get(topic, ())),
                publishers.get(topic, {}),
            )
            for topic in sorted(links)
        }
        return cls(tuple(sorted(everyone)), by_topic)

    def subscriptions(self) -> dict[str, set[str]]:
        """Return the topics that each broker subscribes to; brokers without any are left out."""
        topics: dict[str, set[str]] = {}
        for topic, tree in self.trees.items():
            for broker in tree.subscribers:
                topics.setdefault(broker, set()).add(topic)
        return topics

    def deployable(self, *, overlaps: str = "refuse", allow_relays: bool = False) -> NamedTrees:
        """Return the trees in a form that brokers can run; `overlaps="merge"` joins overlapping filters.

        Raises
        ------
        InputError
            For invalid filters, for overlapping filters that are not merged or that no filter of the group
            covers, and for relays unless they are allowed.
        """
        if overlaps not in ("refuse", "merge"):
            raise InputError(f"cannot treat overlaps by {overlaps!r}: choose refuse or merge")
        check_filters(self.trees)
        relayed = [topic for topic, tree in self.trees.items() if tree.relays]
        if relayed and not allow_relays:
            raise InputError(
                f"not topic-connected: topics {first_five(relayed)} need relays, brokers that do not "
                "subscribe to them; make a plan that connects every topic, or accept relays with "
                "--allow-relays"
            )
        groups = overlapping(self.trees)
        if groups and overlaps == "refuse":
            raise InputError(
                f"topics {first_five(groups[0])} overlap, so messages would arrive twice: "
                "rename them, or let them share one tree with --overlaps merge"
            )
        trees = dict(self.trees)
        for group in groups:
            widest_filter = widest(group)
            merged = _merge_trees(group, trees)
            for topic in group:
                del trees[topic]
            trees[widest_filter] = merged
        return replace(self, trees=dict(sorted(trees.items())))


def read_named_trees(plan: str | Path, *, overlaps: str = "refuse", allow_relays: bool = False) -> NamedTrees:
    """Read the trees of a plan's folder in a form that brokers can run.

    Raises
    ------
    InputError
        If the plan has no trees, or brokers cannot run them.
    FormatError
        If the folder is not a plan, has a newer schema, or is damaged.
    """
    from meshwright.deploy.config.sound_plan import require_sound
    from meshwright.store import read_trees

    stored = read_trees(plan)
    require_sound(stored)
    return NamedTrees.from_plan(stored).deployable(overlaps=overlaps, allow_relays=allow_relays)


def neighbours(links: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return each broker's neighbours over some links, in the order of the links."""
    near: dict[str, list[str]] = {}
    for a, b in links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    return near


def _merge_trees(group: list[str], trees: Mapping[str, TopicTree]) -> TopicTree:
    """Return one tree for overlapping filters: breadth first over the links of all their trees."""
    carriers = sorted(frozenset().union(*(trees[topic].carriers for topic in group)))
    near = neighbours(link for topic in group for link in trees[topic].links)
    links, seen, queue = [], {carriers[0]}, deque(carriers[:1])
    while queue:
        here = queue.popleft()
        for there in near.get(here, ()):
            if there not in seen:
                seen.add(there)
                links.append((here, there))
                queue.append(there)
    if len(seen) < len(carriers):
        raise InputError(
            f"topics {first_five(group)} overlap, but their trees do not connect: plan them as one topic"
        )
    publishers = {
        broker: carrier
        for topic in group
        for broker, carrier in trees[topic].publishers.items()
        if broker not in seen
    }
    subscribers = frozenset().union(*(trees[topic].subscribers for topic in group))
    return TopicTree(tuple(links), subscribers, frozenset(seen) - subscribers, publishers, tuple(group))
