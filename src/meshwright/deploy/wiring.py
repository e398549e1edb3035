"""Wiring: which broker dials which, and the topics of each bridge.

Every link of a tree becomes one bridge. In each direction it carries only what is wanted behind it. All
brokers have a total order, and of the two ends of a link the later one dials. A broker that joins comes last
in the order: it dials all its neighbours. No other broker changes, unless the newcomer holds filters that
other links have to carry too.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, TypeAlias
from urllib.parse import quote

from msgspec import Meta

from meshwright.deploy.named_trees import NamedTrees, filters_by_link
from meshwright.errors import InputError, first_five
from meshwright.files.schema import END, HAS_CONTROL
from meshwright.formatting import counted

Bridges: TypeAlias = Mapping[tuple[str, str], Mapping[str, str]]
BridgesByEnd: TypeAlias = dict[str, dict[str, Mapping[str, str]]]

TopicLine: TypeAlias = tuple[str, str, str]
"""A line of a bridge: its listener, the topic, and the direction."""

Direction: TypeAlias = Annotated[str, Meta(pattern=rf"^(?:both|out|in){END}", description="both, out or in")]
BOTH, OUT, IN = "both", "out", "in"
"""Directions in which messages cross a bridge, as its dialler sees them."""

LOCAL = "local."
"""What the id of a bridge at its dialler begins with."""
IDENTITY = 24
"""Hexadecimal digits that a bridge's id ends with: 96 bits that nobody guesses."""
FILE_ENDINGS = ("json", "md", "txt", "yml")
"""Endings of the files in a federation's own folder."""
LONGEST_FOLDER = 120
"""Characters of a folder's name; longer names are cut and end in a digest."""


@dataclass(frozen=True)
class Wiring:
    """The total order of brokers, and the bridges between them."""

    order: tuple[str, ...]
    """Brokers in the order of starting: each dials only brokers before it."""
    bridges: Bridges
    """Each bridge as (dialler, listener), with its topics and their directions."""
    former_topics: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """Topics that a bridge carried earlier: in durable sessions it must unsubscribe from them."""

    def dialled_by(self, broker: str) -> Mapping[str, Mapping[str, str]]:
        """Return the topics of the bridges that a broker dials, by listener."""
        return self._by_end[0].get(broker, {})

    def dialled_to(self, broker: str) -> Mapping[str, Mapping[str, str]]:
        """Return the topics of the bridges that others dial to a broker, by dialler."""
        return self._by_end[1].get(broker, {})

    def lines_of(self, broker: str) -> set[TopicLine]:
        """Return the topic lines of all bridges that a broker dials."""
        return {
            (listener, topic, direction)
            for listener, topics in self.dialled_by(broker).items()
            for topic, direction in topics.items()
        }

    @cached_property
    def _by_end(self) -> tuple[BridgesByEnd, BridgesByEnd]:
        by_dialler: BridgesByEnd = {}
        by_listener: BridgesByEnd = {}
        for (dialler, listener), topics in self.bridges.items():
            by_dialler.setdefault(dialler, {})[listener] = topics
            by_listener.setdefault(listener, {})[dialler] = topics
        return by_dialler, by_listener

    @property
    def topic_lines(self) -> int:
        """The number of topic lines on all bridges."""
        return sum(len(topics) for topics in self.bridges.values())

    def figures(self) -> dict[str, int]:
        """Return its size for a JSON answer."""
        return {
            "brokers": len(self.order),
            "bridges": len(self.bridges),
            "topic_lines": self.topic_lines,
        }

    @property
    def size(self) -> str:
        """Its size in words."""
        return (
            f"{counted(len(self.order), 'broker')}, {counted(len(self.bridges), 'bridge')}, "
            f"{counted(self.topic_lines, 'topic line')}"
        )


def dialler_and_listener(one: str, other: str, rank: Mapping[str, int]) -> tuple[str, str]:
    """Decide which end of a link dials: the one that is later in the total order.

    >>> dialler_and_listener("a", "b", {"a": 0, "b": 1})
    ('b', 'a')
    """
    return (one, other) if rank[one] > rank[other] else (other, one)


def wire(trees: NamedTrees, order: Iterable[str] = ()) -> Wiring:
    """Turn trees into bridges; brokers that are not in `order`, that of a running federation, come last."""
    there = set(trees.brokers)
    known = dict.fromkeys(broker for broker in order if broker in there)
    total = (*known, *(broker for broker in trees.brokers if broker not in known))
    rank = {broker: place for place, broker in enumerate(total)}
    bridges: dict[tuple[str, str], dict[str, str]] = {}

    for topic, tree in trees.trees.items():
        for sender, receiver, filters in filters_by_link(topic, tree):
            dialler, listener = dialler_and_listener(sender, receiver, rank)
            lines = bridges.setdefault((dialler, listener), {})
            direction = OUT if dialler == sender else IN
            for line in filters:
                lines[line] = direction if lines.get(line, direction) == direction else BOTH
    ordered = sorted(bridges, key=lambda pair: (rank[pair[0]], rank[pair[1]]))
    return Wiring(total, {pair: dict(sorted(bridges[pair].items())) for pair in ordered})


def rewire(trees: NamedTrees, before: Wiring) -> Wiring:
    """Turn trees into bridges of an existing federation: its order stays, and former topics are noted."""
    new = wire(trees, before.order)
    return replace(new, former_topics=find_former_topics(before, new))


def find_former_topics(before: Wiring, now: Wiring) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the topics that each link carried until `before` and no longer carries; listeners must stay."""
    former = {}
    there = set(now.order)
    for pair in sorted({*before.former_topics, *before.bridges}):
        carried = {*before.former_topics.get(pair, ()), *before.bridges.get(pair, ())}
        lost = carried - now.bridges.get(pair, {}).keys()
        if lost and pair[1] in there:
            former[pair] = tuple(sorted(lost))
    return former


def folder_of(broker: str) -> str:
    """Return the name of a broker's folder: safe in paths and settings, and different for each broker.

    Names that end like the files around the folders are escaped, so that no broker takes the place of one.

    >>> folder_of("oslo"), folder_of("a/b c"), folder_of(".."), folder_of("plan.md")
    ('oslo', 'a%2Fb%20c', '%2E.', 'plan%2Emd')
    """
    name = quote(broker, safe="")
    name = f"%2E{name[1:]}" if name.startswith(".") else name
    stem, dot, ending = name.rpartition(".")
    if dot and ending.lower() in FILE_ENDINGS:
        name = f"{stem}%2E{ending}"
    if len(name) > LONGEST_FOLDER:
        name = f"{name[:LONGEST_FOLDER]}%{hashlib.sha256(broker.encode()).hexdigest()[:16]}"
    return name


def client_id(dialler: str, listener: str) -> str:
    """Return a bridge's client id at its listener; no folder name contains the separator `>`."""
    return f"meshwright.{folder_of(dialler)}>{folder_of(listener)}"


def local_client_id(dialler: str, listener: str) -> str:
    """Return a bridge's client id at its dialler."""
    return f"{LOCAL}{client_id(dialler, listener)}"


def bridge_identity(key: str | None, client: str) -> str:
    """Return the id and user name of a bridge: with a key, one that clients of a broker cannot guess.

    A client that connects with the id of a bridge takes its place. The id at the dialler is derived from the
    one at the listener.
    """
    if key is None:
        return client
    if client.startswith(LOCAL):
        return f"{LOCAL}{bridge_identity(key, client.removeprefix(LOCAL))}"
    return f"{client}.{hmac.new(key.encode(), client.encode(), hashlib.sha256).hexdigest()[:IDENTITY]}"


def check_broker_names(brokers: Iterable[str]) -> None:
    """Refuse brokers with control characters in their names, and folders that differ only in case."""
    taken: dict[str, str] = {}
    clashes = []
    names = list(brokers)
    wrong = [broker for broker in names if HAS_CONTROL.search(broker)]
    if wrong:
        raise InputError(f"brokers {first_five(wrong)} hold control characters or line breaks: rename them")
    for broker in names:
        other = taken.setdefault(folder_of(broker).lower(), broker)
        if other != broker:
            clashes.append((other, broker))
    if clashes:
        raise InputError(f"brokers {first_five(clashes)} differ only in case: rename one of each pair")
