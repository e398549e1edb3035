"""The trees of a plan by name: which brokers carry each topic or group of filters, and over which links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from meshwright.errors import InputError, first_five
from meshwright.files.header import damaged
from meshwright.filters.groups import overlap_groups
from meshwright.filters.mqtt import check_filters, has_wildcard, without_covered
from meshwright.plan_tables import ALONE, PUBLISHER, RELAY
from meshwright.store.plan_check import require_meaning
from meshwright.store.trees import StoredTrees, read_trees
from meshwright.verify.link_filters import link_filter_faults


@dataclass(frozen=True)
class TopicTree:
    """The tree of one topic, or of a group of MQTT filters that overlap."""

    links: tuple[tuple[str, str], ...]
    """Links as (parent, child), from the root outwards."""
    subscribers: frozenset[str]
    relays: frozenset[str] = frozenset()
    """Brokers that pass messages on without subscribing."""
    publishers: Mapping[str, str] = field(default_factory=dict)
    """Brokers that only publish, each with the carrier that takes its messages."""
    filters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The filters of the group that each subscriber holds; empty if all hold the one topic of the tree."""

    @property
    def carriers(self) -> frozenset[str]:
        """Brokers that may see the topic's messages: subscribers and relays."""
        return self.subscribers | self.relays

    @cached_property
    def all_filters(self) -> tuple[str, ...]:
        """The filters of the group, sorted; empty for a single topic."""
        return tuple(sorted(frozenset().union(*self.filters.values())))


def filters_by_link(topic: str, tree: TopicTree) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield sender, receiver and filters for each link and direction: what is wanted behind the receiver.

    Covered filters are dropped. So a topic matches a filter of a direction if and only if some broker behind
    the link wants it.
    """
    if not tree.filters:
        for parent, child in tree.links:
            yield parent, child, (topic,)
            yield child, parent, (topic,)
        for publisher, carrier in tree.publishers.items():
            yield publisher, carrier, (topic,)
        return
    nothing: frozenset[str] = frozenset()
    below: dict[str, frozenset[str]] = {}
    children: dict[str, list[str]] = {}
    for parent, child in reversed(tree.links):
        below[child] = tree.filters.get(child, nothing).union(
            *(below[near] for near in children.get(child, ()))
        )
        children.setdefault(parent, []).append(child)
    above: dict[str, frozenset[str]] = {}
    for parent, child in tree.links:
        siblings = [below[near] for near in children[parent] if near != child]
        above[child] = tree.filters.get(parent, nothing).union(above.get(parent, nothing), *siblings)
        yield parent, child, without_covered(below[child])
        yield child, parent, without_covered(above[child])
    for publisher, carrier in tree.publishers.items():
        yield publisher, carrier, without_covered(tree.all_filters)


def carried_faults(stored: StoredTrees, named: NamedTrees) -> Iterator[str]:
    """Yield a line for each group of filters whose links would carry others than are wanted behind them."""
    if stored.plan.choice is None:
        return
    carried = {
        topic: {(sender, receiver): filters for sender, receiver, filters in filters_by_link(topic, tree)}
        for topic, tree in named.trees.items()
        if tree.filters
    }
    yield from link_filter_faults(stored.tables, stored.plan.group_tables, carried)


@dataclass(frozen=True)
class NamedTrees:
    """All brokers, including those in no tree, and the tree of each topic or group; both sorted."""

    brokers: tuple[str, ...]
    trees: Mapping[str, TopicTree]

    @classmethod
    def from_plan(cls, stored: StoredTrees) -> NamedTrees:
        """Return the trees of a stored plan, with the filters that brokers hold.

        Raises
        ------
        InputError
            If the plan is not topic-connected and some topic has no tree.
        FormatError
            If the tables of groups are missing or damaged.
        """
        edges = stored.plan.edges
        ends = [*edges.column("u").to_pylist(), *edges.column("v").to_pylist()]
        unreachable = stored.described.get("figures", {}).get("unreachable", 0)
        if unreachable:
            raise InputError(
                f"plan {stored.plan.place} is not topic-connected: {unreachable} topics have no tree; "
                "make a plan that connects every topic"
            )
        named = cls.from_tables(stored.trees, stored.roles, brokers=ends)
        if stored.plan.choice is None:
            return named
        tables = stored.plan.group_tables
        groups, holders = tables.groups, tables.holders
        return named.with_filters(
            dict(zip(groups.column("filter").to_pylist(), groups.column("group").to_pylist(), strict=True)),
            zip(holders.column("broker").to_pylist(), holders.column("filter").to_pylist(), strict=True),
        )

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

    def with_filters(self, group_of: Mapping[str, str], holders: Iterable[tuple[str, str]]) -> NamedTrees:
        """Return the trees with the filters that each broker holds; groups of one filter stay as they are."""
        sizes = Counter(group_of.values())
        held: dict[str, dict[str, set[str]]] = {}
        for broker, one in holders:
            if sizes[group_of[one]] > 1:
                held.setdefault(group_of[one], {}).setdefault(broker, set()).add(one)
        trees = {
            topic: replace(tree, filters={broker: frozenset(of) for broker, of in held[topic].items()})
            if topic in held
            else tree
            for topic, tree in self.trees.items()
        }
        return replace(self, trees=trees)

    @cached_property
    def tree_of(self) -> dict[str, str]:
        """The topic of the tree that carries each filter of a group."""
        return {one: topic for topic, tree in self.trees.items() for one in tree.all_filters}

    def subscriptions(self) -> dict[str, set[str]]:
        """Return the topics and groups that each broker subscribes to; brokers without any are left out."""
        topics: dict[str, set[str]] = {}
        for topic, tree in self.trees.items():
            for broker in tree.subscribers:
                topics.setdefault(broker, set()).add(topic)
        return topics

    def held_filters(self) -> dict[str, set[str]]:
        """Return the filters that each broker holds; brokers without any are left out."""
        held: dict[str, set[str]] = {}
        for topic, tree in self.trees.items():
            for broker in tree.subscribers:
                held.setdefault(broker, set()).update(tree.filters.get(broker, (topic,)))
        return held

    def deployable(self, *, allow_relays: bool = False) -> NamedTrees:
        """Return the trees if brokers can run them.

        Raises
        ------
        InputError
            For filters that no bridge can carry, for overlapping filters that were planned apart, and for
            brokers outside of a tree that relay, unless they are allowed.
        """
        check_filters(
            dict.fromkeys(
                one
                for topic, tree in self.trees.items()
                if tree.links or tree.publishers
                for _, _, filters in filters_by_link(topic, tree)
                for one in filters
            )
        )
        relayed = [topic for topic, tree in self.trees.items() if tree.relays]
        if relayed and not allow_relays:
            raise InputError(
                f"not topic-connected: topics {first_five(relayed)} need relays, brokers that do not "
                "subscribe to them; make a plan that connects every topic, or accept relays with "
                "--allow-relays"
            )
        names = [topic for topic, tree in self.trees.items() if not tree.filters]
        if any(map(has_wildcard, names)):
            apart = next((group for group in overlap_groups(names) if len(group) > 1), None)
            if apart is not None:
                raise InputError(
                    f"topics {first_five(apart)} overlap but were planned as plain names, so messages would "
                    "arrive twice: plan again with --topic-kind mqtt"
                )
        return self


def read_named_trees(plan: str | Path, *, allow_relays: bool = False) -> NamedTrees:
    """Read the trees of a plan's folder in a form that brokers can run.

    Raises
    ------
    InputError
        If the plan has no trees, or brokers cannot run them.
    FormatError
        If the folder is not a plan, has a newer schema, or is damaged.
    """
    stored = read_trees(plan)
    require_meaning(stored)
    named = NamedTrees.from_plan(stored).deployable(allow_relays=allow_relays)
    for fault in carried_faults(stored, named):
        raise damaged(stored.plan.place, fault)
    return named


def neighbours(links: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return each broker's neighbours over some links, in the order of the links."""
    near: dict[str, list[str]] = {}
    for a, b in links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    return near
