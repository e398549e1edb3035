"""The network that bridges make: which broker each one reaches, and where a message flows.

A bridge has two *ends*, one at each broker. A broker sends a message over every end whose filters match,
except the one from which it came. So a message is followed from end to end. If it comes to an end again under
the same name, it circles for ever: a storm. If it reaches a broker by two ways, it arrives twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from meshwright.deploy.targets.mosquitto.parse import Bridge, BrokerConfiguration, Listener, TopicLine
from meshwright.filters.mqtt import example, examples, has_wildcard, matches, meet, why_invalid

MOST_HOPS = 64
"""A message that is passed on this often, under ever new names, circles."""
MOST_FILTERS = 500
"""The most filters, and intersections of filters, that are followed."""
MOST_RENAMES = 2
"""How often an intersection is renamed by the prefixes of lines."""


@dataclass(frozen=True, eq=False)
class Link:
    """A bridge whose other end is known."""

    dialler: BrokerConfiguration
    listener: BrokerConfiguration
    bridge: Bridge
    port: int
    """The port that it dials."""

    @property
    def entrance(self) -> Listener | None:
        """The listener on that port, or None if none or several of that broker are."""
        there = [one for one in self.listener.listeners if one.port == self.port]
        return there[0] if len(there) == 1 else None


class End(NamedTuple):
    """One end of a link, by number."""

    link: int
    at_dialler: bool


class Hop(NamedTuple):
    """A message at a broker: by which end it came, or None where it was published."""

    broker: str
    name: str
    end: End | None


class Network:
    """Brokers and the links between them."""

    def __init__(
        self, brokers: Sequence[BrokerConfiguration], hosts: Mapping[str, tuple[str, int]] | None = None
    ) -> None:
        self.brokers = brokers
        self.links: list[Link] = []
        self.lost: list[tuple[BrokerConfiguration, Bridge, tuple[str, int] | None]] = []
        """Bridges to nowhere: the broker that dials, the bridge, and the address, if it has one."""
        self.incomplete = False
        """Whether `names` left out intersections of filters, as there are too many."""
        self._hosts = hosts or {}
        for broker in brokers:
            for bridge in broker.bridges:
                # Mosquitto uses one address at a time; the first that leads somewhere counts.
                found = [(self._listener(broker, host, port), port) for host, port in bridge.addresses]
                other, port = next((one for one in found if one[0] is not None), (None, 0))
                if other is None:
                    self.lost.append((broker, bridge, next(iter(bridge.addresses), None)))
                else:
                    self.links.append(Link(broker, other, bridge, port))
        self._ends: dict[str, list[End]] = {broker.name: [] for broker in brokers}
        for number, link in enumerate(self.links):
            self._ends[link.dialler.name].append(End(number, at_dialler=True))
            self._ends[link.listener.name].append(End(number, at_dialler=False))
        self._lines = {end: self._lines_of(end) for ends in self._ends.values() for end in ends}
        self._sent: dict[tuple[End, str], tuple[TopicLine, str] | None] = {}

    def _listener(self, dialler: BrokerConfiguration, host: str, port: int) -> BrokerConfiguration | None:
        """Return the broker at an address: the only one on that port, or the one that has the host's name."""
        named = [one for one in self.brokers if self._hosts.get(one.name) == (host, port)]
        if named:
            return named[0]
        there = [one for one in self.brokers if any(each.port == port for each in one.listeners)]
        others = [one for one in there if one is not dialler]
        by_name = [
            one
            for one in there
            if host in (one.name.lower(), *(str(each.host).lower() for each in one.listeners))
            or host.split(".", maxsplit=1)[0] == one.name.lower()
        ]
        for found in (by_name, others):
            if len(found) == 1:
                return found[0]
        return None

    def sent_over(self, end: End, name: str) -> tuple[TopicLine, str] | None:
        """Return the line that sends a message over an end, and its name on the other side, if one does.

        However many lines match, the message crosses once, or under MQTT 5 several times under one name. The
        first line with a prefix names it.
        """
        if (end, name) not in self._sent:
            lines = [line for line in self._lines[end] if matches(line[1], name)]
            lines.sort(key=lambda each: not (each[2] or each[3]))
            self._sent[end, name] = next(
                ((line, after + name[len(before) :]) for line, _, before, after in lines), None
            )
        return self._sent[end, name]

    def _lines_of(self, end: End) -> list[tuple[TopicLine, str, str, str]]:
        """Return the lines that send over an end: each with its filter, and the prefixes here and there."""
        ways = ("out", "both") if end.at_dialler else ("in", "both")
        topics = self.links[end.link].bridge.topics
        valid = [line for line in topics if line.direction in ways and not line.why_invalid]
        if end.at_dialler:
            return [(line, line.local, line.local_prefix, line.remote_prefix) for line in valid]
        return [(line, line.remote, line.remote_prefix, line.local_prefix) for line in valid]

    def next_hops(self, hop: Hop) -> Iterator[tuple[Hop, TopicLine]]:
        """Yield where a message goes next, and by which line."""
        for end in self._ends[hop.broker]:
            link = self.links[end.link]
            # Bridges that send messages back are a finding of their own.
            if end == hop.end:
                continue
            sent = self.sent_over(end, hop.name)
            if sent is not None:
                other = link.listener if end.at_dialler else link.dialler
                yield Hop(other.name, sent[1], End(end.link, not end.at_dialler)), sent[0]

    def follow(self, origin: str, name: str) -> tuple[list[tuple[Hop, TopicLine]] | None, dict[str, int]]:
        """Follow a message; return the way in which it circles, if it does, and the ways to each broker."""
        arrived: dict[str, int] = {}
        visits: dict[Hop, int] = {}
        way: list[tuple[Hop, TopicLine]] = []
        circle: list[tuple[Hop, TopicLine]] | None = None

        def walk(hop: Hop) -> None:
            nonlocal circle
            arrived[hop.broker] = arrived.get(hop.broker, 0) + 1
            visits[hop] = visits.get(hop, 0) + 1
            if visits[hop] > 2:
                return  # everything behind is reached by two ways already, and has no circle
            for there, line in self.next_hops(hop):
                if circle is not None:
                    return
                before = [place for place, (passed, _) in enumerate(way) if passed == there]
                if before or len(way) >= MOST_HOPS:
                    circle = [*way[before[0] if before else 0 :]]
                    return
                way.append((there, line))
                walk(there)
                way.pop()

        walk(Hop(origin, name, None))
        return circle, arrived

    def names(self) -> list[str]:
        """Return topics to follow: drawn from each filter, and from what filters share on links in a ring.

        A message circles if it matches a line of every link of a ring. So what any number of lines share is
        drawn, too, under the names that prefixes give it.
        """
        lines = [line for link in self.links for line in link.bridge.topics]
        filters = dict.fromkeys(
            one for line in lines for one in (line.local, line.remote) if not why_invalid(one)
        )
        drawn = [name for one in filters for name in examples(one)]
        return list(dict.fromkeys([*drawn, *map(example, self._shared_filters())]))

    def _shared_filters(self) -> list[str]:
        """Return what lines of links in rings share, also under other names; note if that is incomplete."""
        lines = [line for link in self._ring_links() for line in link.bridge.topics if not line.why_invalid]
        given = list(
            dict.fromkeys(one for line in lines for one in (line.local, line.remote) if has_wildcard(one))
        )
        renaming = {
            (line.local, line.local_prefix, line.remote, line.remote_prefix): None
            for line in lines
            if line.local_prefix != line.remote_prefix
        }
        known = dict.fromkeys(given, 0)  # how often each was renamed: prefixes could pile up for ever
        queue = list(known)
        for one in queue:  # grows while it is read
            found = [(meet(one, other), known[one]) for other in given]
            for local, local_prefix, remote, remote_prefix in renaming if known[one] < MOST_RENAMES else ():
                for here, before, after in (
                    (local, local_prefix, remote_prefix), (remote, remote_prefix, local_prefix)
                ):  # fmt: skip
                    carried = meet(one, here)
                    if carried is not None and carried.startswith(before):
                        found.append((after + carried[len(before) :], known[one] + 1))
            for both, renames in found:
                if both and both not in known and not why_invalid(both):
                    if len(known) >= MOST_FILTERS:
                        self.incomplete = True
                        return list(known)
                    known[both] = renames
                    queue.append(both)
        return list(known)

    def _ring_links(self) -> list[Link]:
        """Return the links that may lie in a ring: those left when brokers with one link are gone."""
        links = list(self.links)
        while True:
            count = Counter(end for link in links for end in {link.dialler.name, link.listener.name})
            left = [link for link in links if min(count[link.dialler.name], count[link.listener.name]) > 1]
            if len(left) == len(links):
                return links
            links = left

    def wanted(self) -> Iterable[tuple[str, str]]:
        """Yield broker and filter for what bridges bring to each broker."""
        for link in self.links:
            for line in link.bridge.topics:
                if line.direction != "in" and not why_invalid(line.remote):
                    yield link.listener.name, line.remote
                if line.direction != "out" and not why_invalid(line.local):
                    yield link.dialler.name, line.local
