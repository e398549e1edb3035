"""Wiring: which broker dials which, and what flows over each bridge.

Every link is one bridge, dialled by exactly one end: the later one in a total order of all brokers. Who
joins comes last in that order, so a newcomer dials all its neighbours and nobody else changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote

from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from typing import TypeAlias

    Grouped: TypeAlias = dict[str, dict[str, Mapping[str, str]]]

    from meshwright.deploy.config.routed import Routed

BOTH, OUT, IN = "both", "out", "in"
"""Ways that messages flow over a bridge, as its dialler sees it."""

LONGEST_FOLDER = 120


@dataclass(frozen=True)
class Wiring:
    """The total order of brokers, and each bridge (dialler, listener) with its topics and directions."""

    order: tuple[str, ...]
    bridges: Mapping[tuple[str, str], Mapping[str, str]]
    taken_off: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """Topics that a link carried once: where sessions last, the listener is to be told that it is over."""

    def dialled_by(self, broker: str) -> Mapping[str, Mapping[str, str]]:
        """Return the bridges that a broker dials, by the other end."""
        return self._by_end[0].get(broker, {})

    def heard_by(self, broker: str) -> Mapping[str, Mapping[str, str]]:
        """Return the bridges that others dial to a broker, by the other end."""
        return self._by_end[1].get(broker, {})

    @cached_property
    def _by_end(self) -> tuple[Grouped, Grouped]:
        dialled: Grouped = {}
        heard: Grouped = {}
        for (dialler, listener), lines in self.bridges.items():
            dialled.setdefault(dialler, {})[listener] = lines
            heard.setdefault(listener, {})[dialler] = lines
        return dialled, heard

    @property
    def lines(self) -> int:
        """How many topic lines there are on all bridges."""
        return sum(len(lines) for lines in self.bridges.values())


def wire(routed: Routed, order: Iterable[str] = ()) -> Wiring:
    """Turn trees into bridges; `order` is that of a federation that runs already, newcomers come after."""
    there = set(routed.brokers)
    known = dict.fromkeys(broker for broker in order if broker in there)
    total = (*known, *(broker for broker in routed.brokers if broker not in known))
    rank = {broker: i for i, broker in enumerate(total)}
    bridges: dict[tuple[str, str], dict[str, str]] = {}

    def add(sender: str, receiver: str, topic: str, *, one_way: bool) -> None:
        dialler, listener = (sender, receiver) if rank[sender] > rank[receiver] else (receiver, sender)
        direction = BOTH if not one_way else OUT if dialler == sender else IN
        bridges.setdefault((dialler, listener), {})[topic] = direction

    for topic, way in routed.ways.items():
        for a, b in way.links:
            add(a, b, topic, one_way=False)
        for broker, via in way.publishers.items():
            add(broker, via, topic, one_way=True)
    ordered = sorted(bridges, key=lambda pair: (rank[pair[0]], rank[pair[1]]))
    return Wiring(total, {pair: dict(sorted(bridges[pair].items())) for pair in ordered})


def rewire(routed: Routed, before: Wiring) -> Wiring:
    """Turn trees into bridges for a federation that is there: its order stays, and what it loses is known."""
    new = wire(routed, before.order)
    return replace(new, taken_off=taken_off(before, new))


def taken_off(before: Wiring, now: Wiring) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return what links have carried until `before` and do not carry now, of listeners that are there."""
    found = {}
    there = set(now.order)
    for pair in sorted({*before.taken_off, *before.bridges}):
        had = {*before.taken_off.get(pair, ()), *before.bridges.get(pair, ())}
        lost = had - now.bridges.get(pair, {}).keys()
        if lost and pair[1] in there:
            found[pair] = tuple(sorted(lost))
    return found


def folder_of(broker: str) -> str:
    """Return a name for a broker's folder and ids: safe in paths and settings, different for each broker.

    >>> folder_of("oslo"), folder_of("a/b c"), folder_of("..")
    ('oslo', 'a%2Fb%20c', '%2E.')
    """
    name = quote(broker, safe="")
    name = f"%2E{name[1:]}" if name.startswith(".") else name
    if len(name) > LONGEST_FOLDER:
        import hashlib

        name = f"{name[:LONGEST_FOLDER]}%{hashlib.sha256(broker.encode()).hexdigest()[:16]}"
    return name


def client_id(dialler: str, listener: str) -> str:
    """Return the id that a bridge has at the listener; the separator occurs in no broker's folder name."""
    return f"meshwright.{folder_of(dialler)}>{folder_of(listener)}"


def local_id(dialler: str, listener: str) -> str:
    """Return the id that a bridge has at its dialler."""
    return f"local.{client_id(dialler, listener)}"


def check_folders(brokers: Iterable[str]) -> None:
    """Refuse brokers whose folders differ in case only: some systems take them for the same."""
    taken: dict[str, str] = {}
    both = []
    for broker in brokers:
        other = taken.setdefault(folder_of(broker).lower(), broker)
        if other != broker:
            both.append((other, broker))
    if both:
        raise InputError(f"brokers {first_five(both)} differ in case only: rename one of each")
