"""How a live overlay is repaired (`Policy`), and what one repair changed (`Repair`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from meshwright.errors import InputError
from meshwright.formatting import counted
from meshwright.names import Name

Link: TypeAlias = tuple[Name, Name]
Links: TypeAlias = tuple[Link, ...]

POLICIES = ("naive", "shadow", "tidy", "rebuild")
"""The policies by name."""

COVERS = ("primal-dual", "greedy")
"""How backups are chosen."""

EVERYBODY = 2**31 - 1


@dataclass(frozen=True)
class Policy:
    """The parameters of repairs. Invalid ones raise InputError.

    - `naive`: join the fragments by Low-ODA(ρ), among all nodes (shadows, section V-B).
    - `shadow`: the same, among the neighbours and backups of the node that changed (shadows, sections V-C
      to V-G).
    - `tidy`: shadow repair; then remove redundant links and relink a few nodes, so that degrees stay low
      over many changes. Not from a paper.
    - `rebuild`: design the overlay from scratch by Low-ODA(ρ) after every change, for comparison.
    """

    name: str = "shadow"
    """`naive`, `shadow`, `tidy` or `rebuild`."""
    backups: str = "primal-dual"
    """The algorithm that chooses backups: `primal-dual` or `greedy`."""
    coverage: int = 3
    """λ: how often the backups of a node cover each of its topics."""
    rho: float = 3.0
    """ρ, Low-ODA's k: 1 favours few links, more a low maximum degree."""
    window: int | None = 64
    """How many subscribers of a topic are looked at for a backup; None: all, as in the paper."""
    rebuild_backups: bool = False
    """Whether a node that loses a backup chooses all of them again, as in the paper, instead of patching."""
    local_degree: bool = True
    """Whether the maximum degree in the rule is that of the candidates, not of the whole overlay."""
    newcomers: bool = True
    """Whether a newcomer becomes a backup where a topic has too few others; in the paper it does not."""
    steps: int = 30
    """tidy: how many nodes to try to relink after each change."""
    lose: int = 5
    """tidy: how many links a try removes from a node, at most."""
    slack: int = 7
    """tidy: no node gets more links than the mean plus this, where there is another way."""
    moves: int = 24
    """tidy: how many links are removed or moved after each change, at most."""

    def __post_init__(self) -> None:
        if self.name not in POLICIES:
            raise InputError(f"no policy {self.name!r}: choose one of {', '.join(POLICIES)}")
        if self.backups not in COVERS:
            raise InputError(f"no backups by {self.backups!r}: choose one of {', '.join(COVERS)}")
        if not 1 <= self.coverage <= 64:
            raise InputError(f"a coverage of {self.coverage}: give 1 to 64 (3 is usual)")
        if not self.rho >= 1 or math.isnan(self.rho):
            raise InputError(f"ρ is {self.rho}: give a number of at least 1 (3 is usual)")
        if self.window is not None and self.window < 1:
            raise InputError(f"a window of {self.window}: give 1 or more, or None for all subscribers")
        for what in ("steps", "lose", "slack", "moves"):
            value = getattr(self, what)
            if value < 0:
                raise InputError(f"{value} {what}: give zero or more")

    @classmethod
    def letter(cls, name: str = "shadow", **parameters: Any) -> Policy:
        """Return a policy that follows the paper to the letter (shadows, sections V and VI).

        Backups are chosen among all nodes, a node that loses a backup chooses all of them again, the maximum
        degree in the rule is that of the whole overlay, and a newcomer becomes nobody's backup.

        >>> Policy.letter(coverage=2).window is None
        True
        """
        if name == "tidy":
            raise InputError("tidy is not in the paper: follow its letter with naive, shadow or rebuild")
        paper = {"window": None, "rebuild_backups": True, "local_degree": False, "newcomers": False}
        return cls(name, **(paper | parameters))

    @property
    def keeps_backups(self) -> bool:
        """Whether nodes have backups under this policy."""
        return self.name in ("shadow", "tidy")


SHOWN_LINKS = 20
"""How many links a repair shows in a notebook."""


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
    edges_before: int = 0
    """How many links there were before the change."""
    shadow_size: int | None = None
    """How many nodes the repair could link: its shadow set; None for policies without one."""
    greedy_seconds: float = 0.0
    """How long the greedy step alone took, which is what the paper measures."""

    @property
    def ratio(self) -> float:
        """The repair ratio: links added and removed, as a share of the links before."""
        return (len(self.added) + len(self.removed)) / max(1, self.edges_before)

    def __str__(self) -> str:
        who = ", ".join(map(str, self.nodes[:5])) + (" …" if len(self.nodes) > 5 else "")
        return f"{self.event} {who}: {counted(len(self.added), 'link')} added, {len(self.removed):,} removed"

    def __repr__(self) -> str:
        return f"Repair({self})"

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_table

        rows = [("added", u, v) for u, v in self.added] + [("removed", u, v) for u, v in self.removed]
        shown = rows[:SHOWN_LINKS]
        more = f" (the first {SHOWN_LINKS})" if len(rows) > SHOWN_LINKS else ""
        return html_table(shown, head=("change", "u", "v"), caption=f"{self}{more}")


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
