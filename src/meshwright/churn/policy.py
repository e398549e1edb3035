"""How a live overlay is repaired."""

from __future__ import annotations

import math
from dataclasses import dataclass

from meshwright.errors import InputError

POLICIES = ("naive", "shadow", "tidy", "rebuild")
"""The policies by name."""

COVERS = ("primal-dual", "greedy")
"""How backups are chosen."""

EVERYBODY = 2**31 - 1


@dataclass(frozen=True)
class Policy:
    """The parameters of repair, which check themselves.

    `naive` and `shadow` are the paper's (shadows, sections V-B to V-G): both link greedily by Low-ODA(ρ) what
    a change broke, the one among all nodes, the other among the neighbours and backups of the node that
    changed. `rebuild` designs the overlay anew by Low-ODA(ρ) after every change: the contrast. `tidy` is
    ours: shadow repair, then redundant links are taken away and a few nodes are linked anew, so that degrees
    do not creep up.
    """

    name: str = "shadow"
    backups: str = "primal-dual"
    """By which algorithm backups are chosen: `primal-dual` or `greedy`."""
    coverage: int = 3
    """λ: how often the backups of a node cover each of its topics."""
    rho: float = 3.0
    """ρ, Low-ODA's k: 1 favours few links, more a low maximum degree."""
    window: int | None = 64
    """How many subscribers of a topic are looked at for a backup; None: all, as in the paper."""
    rebuild_backups: bool = False
    """Whether whoever loses a backup chooses all of them anew, as in the paper, instead of patching."""
    local_degree: bool = True
    """Whether the maximum degree that the rule spares is that of the shadows, not of the whole overlay."""
    steps: int = 30
    """tidy: how many nodes are linked anew, by way of trial, after each change."""
    lose: int = 5
    """tidy: how many links a trial takes from a node, at most."""
    slack: int = 7
    """tidy: nobody gets more links than so many above the mean, where there is another way."""
    moves: int = 24
    """tidy: how many links are taken away or moved after each change, at most."""

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

    @property
    def keeps_backups(self) -> bool:
        """Whether nodes have backups under this policy."""
        return self.name in ("shadow", "tidy")
