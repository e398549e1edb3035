"""What a change did to the overlay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from meshwright.names import Name

    Link: TypeAlias = tuple[Name, Name]
    Links: TypeAlias = tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """The links that a change added and removed, and the degrees after it."""

    event: str
    """`join`, `leave`, `crash`, `subscribe`, `unsubscribe` or `batch`."""
    nodes: tuple[Name, ...]
    """The nodes that changed."""
    added: Links
    """The links added, by the names of their ends."""
    removed: Links
    """The links removed, those of nodes that left included."""
    topics: tuple[Name, ...]
    """The topics that the change touched."""
    fragments: int
    """How many fragments there were to join, over all topics that the change split."""
    max_degree: int
    """The largest number of links of a node."""
    average_degree: float
    """The mean number of links of a node."""
    seconds: float
    """How long the change and its repair took."""
    tidied: int = 0
    """How many of the links removed were removed or moved only to keep degrees low."""

    def __str__(self) -> str:
        who = ", ".join(map(str, self.nodes[:5])) + (" …" if len(self.nodes) > 5 else "")
        return f"{self.event} {who}: {len(self.added)} links added, {len(self.removed)} removed"


def net_links(changes: Iterable[tuple[Link, bool]]) -> tuple[Links, Links]:
    """Return the links added and removed in all, given each one added (True) or removed (False), in order.

    >>> net_links([(("a", "b"), True), (("a", "c"), False), (("a", "b"), False)])
    ((), (('a', 'c'),))
    """
    first: dict[Link, bool] = {}
    last: dict[Link, bool] = {}
    for link, made in changes:
        first.setdefault(link, made)
        last[link] = made
    added = tuple([link for link, made in first.items() if made and last[link]])
    return added, tuple([link for link, made in first.items() if not made and not last[link]])
