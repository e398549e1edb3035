"""Trees by name, as deployments need them: who carries each topic, and over which links."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from meshwright.errors import InputError, first_five
from meshwright.filters.mqtt import check_filters, overlapping, widest

if TYPE_CHECKING:
    import pyarrow as pa

    from meshwright.store import StoredTrees

RELAY, PUBLISHER, ALONE = "relay", "publisher", "alone"


@dataclass(frozen=True)
class Way:
    """How one topic travels: links as (parent, child), brokers by what they are to it."""

    links: tuple[tuple[str, str], ...]
    subscribers: frozenset[str]
    relays: frozenset[str] = frozenset()
    publishers: Mapping[str, str] = field(default_factory=dict)
    """Brokers that only publish, and the carrier that each hands its messages to."""
    merged: tuple[str, ...] = ()
    """The filters that were merged into this one, itself included; none if it stands for itself."""

    @property
    def carriers(self) -> frozenset[str]:
        """Who may see its messages."""
        return self.subscribers | self.relays


@dataclass(frozen=True)
class Routed:
    """All topics' ways, and all brokers, those without any way included; both sorted."""

    brokers: tuple[str, ...]
    ways: Mapping[str, Way]

    @classmethod
    def of(cls, stored: StoredTrees) -> Routed:
        """Return the trees of a stored plan.

        Raises
        ------
        InputError
            If the plan is not topic-connected and some topic has no tree.
        """
        edges = stored.plan.edges
        ends = [*edges.column("u").to_pylist(), *edges.column("v").to_pylist()]
        apart = stored.described.get("figures", {}).get("unreachable", 0)
        if apart:
            raise InputError(
                f"plan {stored.plan.path} is not topic-connected: {apart} topics have no tree; "
                "make a plan that connects every topic"
            )
        return cls.from_tables(stored.trees, stored.roles, brokers=ends)

    @classmethod
    def from_tables(cls, trees: pa.Table, roles: pa.Table, brokers: Iterable[str] = ()) -> Routed:
        """Return the trees of two tables as a plan keeps them; `brokers` may name more."""
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
        members: dict[str, dict[str, set[str]]] = {}
        publishers: dict[str, dict[str, str]] = {}
        for row in trees.to_pylist():
            topic, parent, child = row["topic"], row["parent"], row["child"]
            everyone.add(child)
            role = role_of.get((topic, child))
            if role == PUBLISHER:
                publishers.setdefault(topic, {})[child] = parent
                continue
            links.setdefault(topic, [])
            kinds = members.setdefault(topic, {"subscriber": set(), RELAY: set()})
            kinds[RELAY if role == RELAY else "subscriber"].add(child)
            if parent is not None:
                links[topic].append((parent, child))
        for topic, broker in alone.items():
            links[topic], members[topic] = [], {"subscriber": {broker}, RELAY: set()}
        ways = {
            topic: Way(
                tuple(links[topic]),
                frozenset(members[topic]["subscriber"]),
                frozenset(members[topic][RELAY]),
                publishers.get(topic, {}),
            )
            for topic in sorted(links)
        }
        return cls(tuple(sorted(everyone)), ways)

    def checked(self, *, overlaps: str = "refuse", relays: bool = False) -> Routed:
        """Return the same ways, fit to be deployed; with `overlaps="merge"` some are merged into one.

        Raises
        ------
        InputError
            For filters that are not sound, filters that overlap, or relays where none may be.
        """
        if overlaps not in ("refuse", "merge"):
            raise InputError(f"no way {overlaps!r} to treat overlaps: choose refuse or merge")
        check_filters(self.ways)
        relayed = [topic for topic, way in self.ways.items() if way.relays]
        if relayed and not relays:
            raise InputError(
                f"not topic-connected: {first_five(relayed)} need relays, brokers that did not ask for them; "
                "make a plan that connects every topic, or take relays with --allow-relays"
            )
        groups = overlapping(self.ways)
        if groups and overlaps == "refuse":
            raise InputError(
                f"topics {first_five(groups[0])} overlap, and messages would come twice: "
                "rename them, or let them share one tree with --overlaps merge"
            )
        ways = dict(self.ways)
        for group in groups:
            merged = _merge(group, ways)
            for topic in group:
                del ways[topic]
            ways[widest(group)] = merged
        return replace(self, ways=dict(sorted(ways.items())))


def _merge(group: list[str], ways: Mapping[str, Way]) -> Way:
    """Return one way for filters that overlap, over the links of all of them."""
    widest(group)
    carriers = sorted(frozenset().union(*(ways[topic].carriers for topic in group)))
    near: dict[str, list[str]] = {broker: [] for broker in carriers}
    for topic in group:
        for a, b in ways[topic].links:
            near[a].append(b)
            near[b].append(a)
    links, seen, queue = [], {carriers[0]}, deque(carriers[:1])
    while queue:
        here = queue.popleft()
        for there in near[here]:
            if there not in seen:
                seen.add(there)
                links.append((here, there))
                queue.append(there)
    if len(seen) < len(carriers):
        raise InputError(
            f"topics {first_five(group)} overlap but no broker has part in all of their trees: "
            "plan them as one topic"
        )
    publishers = {
        broker: via for topic in group for broker, via in ways[topic].publishers.items() if broker not in seen
    }
    subscribers = frozenset().union(*(ways[topic].subscribers for topic in group))
    return Way(tuple(links), subscribers, frozenset(seen) - subscribers, publishers, tuple(group))
