"""What a change did to the overlay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from meshwright.interest import Name

    Link: TypeAlias = tuple[Name, Name]


@dataclass(frozen=True, slots=True)
class Repair:
    """The links that a change added and removed, and how the overlay stands after it."""

    event: str
    """`join`, `leave`, `crash`, `subscribe`, `unsubscribe` or `batch`."""
    nodes: tuple[Name, ...]
    """Who changed."""
    added: tuple[Link, ...]
    removed: tuple[Link, ...]
    """Links by the names of their ends, those of nodes that left included."""
    topics: tuple[Name, ...]
    """The topics that the change touched."""
    fragments: int
    """How many fragments there were to join, over all topics that the change split."""
    max_degree: int
    average_degree: float
    seconds: float
    tidied: int = 0
    """Of the links removed, those that no repair asked for: taken away or moved to keep degrees low."""

    def __str__(self) -> str:
        who = ", ".join(map(str, self.nodes[:5])) + (" …" if len(self.nodes) > 5 else "")
        return f"{self.event} {who}: {len(self.added)} links added, {len(self.removed)} removed"


def net_links(added: Sequence[Link], removed: Sequence[Link]) -> tuple[list[Link], list[Link]]:
    """Leave out, in order, what was both added and removed.

    >>> net_links([("a", "b"), ("a", "c")], [("a", "b"), ("b", "c")])
    ([('a', 'c')], [('b', 'c')])
    """
    both = set(added) & set(removed)
    return [link for link in added if link not in both], [link for link in removed if link not in both]
