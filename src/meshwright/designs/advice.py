"""Which design to take: those that fit are tried, measured and compared with what is wished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from meshwright import measure
from meshwright.designs.registry import design
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.designs.plan import Plan
    from meshwright.interest import Interest

NEARLY_FEWEST = 1.03
"""So much more than the fewest links is taken for a lower maximum degree."""
STARS = ("cd", "cd1", "cd2", "cdmax")
"""Designs with a topic diameter of 2 at most."""
SMALL = 12
"""Up to so many nodes the optimum itself is looked for."""


@dataclass(frozen=True)
class Wishes:
    """What an overlay must keep to; None where it does not matter."""

    max_degree: int | None = None
    """Links of a node, at most."""
    max_edges: int | None = None
    """Links in all, at most."""
    resilient: bool = False
    """Whether every topic must stay connected when any one node fails."""
    diameter: int | None = None
    """The longest way between two subscribers of a topic through its subscribers, at most."""

    def __post_init__(self) -> None:
        for name in ("max_degree", "max_edges", "diameter"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}: give at least 1, or leave it out")


@dataclass(frozen=True, eq=False)
class Tried:
    """A plan that was tried, with what is measured of it."""

    plan: Plan

    @cached_property
    def diameters(self) -> measure.Diameters:
        """The topic diameters, inside each topic."""
        return measure.diameters(self.plan.overlay)

    @cached_property
    def redundant(self) -> int:
        """How many links could each be taken away alone."""
        return len(measure.redundant_edges(self.plan.overlay))

    @cached_property
    def weak(self) -> int:
        """How many topics one failure splits."""
        return len(measure.weak_topics(self.plan.overlay))

    @property
    def complete(self) -> bool:
        """Whether every topic is connected."""
        return self.plan.figures["support"] == 1

    def unmet(self, wishes: Wishes) -> list[str]:
        """Say which wishes it does not meet."""
        figures, unmet = self.plan.figures, []
        if wishes.max_degree is not None and figures["max_degree"] > wishes.max_degree:
            unmet.append(f"highest degree {figures['max_degree']}, above {wishes.max_degree}")
        if wishes.max_edges is not None and figures["edges"] > wishes.max_edges:
            unmet.append(f"{figures['edges']:,} links, above {wishes.max_edges:,}")
        if wishes.resilient and self.weak:
            unmet.append(f"one failure splits {self.weak:,} topics")
        if wishes.diameter is not None and self.diameters.maximum > wishes.diameter:
            unmet.append(f"diameter {self.diameters.maximum}, above {wishes.diameter}")
        elif wishes.diameter is not None and not (self.diameters.exact.all() or self._stars):
            unmet.append(f"diameter at least {self.diameters.maximum}, not known exactly")
        return unmet

    @property
    def _stars(self) -> bool:
        """Whether the design promises topic diameters of 2, so that they need not be measured."""
        return self.plan.algorithm in STARS


@dataclass(frozen=True, eq=False)
class Advice:
    """What was tried, which one to take, if any does, and why."""

    wishes: Wishes
    tried: tuple[Tried, ...]
    chosen: Tried | None
    reasons: tuple[str, ...]


def advise(
    interest: Interest,
    wishes: Wishes | None = None,
    *,
    seconds: float = 20.0,
    steps: int | None = None,
    seed: int = 0,
    threads: int = 1,
    make: Callable[..., Plan] = design,
) -> Advice:
    """Try the designs that fit the wishes, and say which one to take.

    Of those that connect every topic and meet all wishes it is the one of the lowest maximum degree among
    those with nearly the fewest links. If none does, and links or degree are limited, it is the one of most
    support within the limits. Nothing is advised against a wish for resilience or diameter.

    Parameters
    ----------
    interest
        Who subscribes to what.
    wishes
        What the overlay must keep to.
    seconds, steps, seed
        For `best`, each time that it is tried.
    threads
        On how many cores to work.
    make
        What makes a plan, called as `design` is.

    Examples
    --------
    >>> import meshwright as mw
    >>> interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
    >>> advise(interest, steps=0).chosen.plan.overlay.edges
    [('a', 'b'), ('a', 'c')]
    """
    wishes = wishes or Wishes()
    searching = {"seconds": seconds} if steps is None else {"steps": steps}
    tried: list[Tried] = []

    def try_out(algorithm: str, **given: Any) -> None:
        prices = tried[0].plan.prices if tried else None
        plan = make(interest, algorithm, seed=seed, threads=threads, certify=True, prices=prices, **given)
        tried.append(Tried(plan))

    for algorithm, given in _fitting(interest, wishes, searching):
        try_out(algorithm, **given)
    if not _good(tried, wishes) and not wishes.resilient and wishes.diameter is None:
        for algorithm, given in _partial(wishes):
            try_out(algorithm, **given)
    return _judged(wishes, tried)


def _fitting(
    interest: Interest, wishes: Wishes, searching: dict[str, Any]
) -> list[tuple[str, dict[str, Any]]]:
    """Name the complete designs that may meet the wishes."""
    if wishes.resilient:
        return [("resilient", {"k": 2}), ("gm", {"rounds": 2})]
    fitting: list[tuple[str, dict[str, Any]]] = [
        ("gm", {}),
        ("low", {}),
        ("minmax", {}),
        ("best", {"objective": "edges", **searching}),
        ("best", {"objective": "balanced", **searching}),
    ]
    if wishes.max_degree is not None:
        fitting.append(("best", {"objective": "degree", **searching}))
    if wishes.diameter is not None:
        stars: list[tuple[str, dict[str, Any]]] = [("cd2", {}), ("cdmax", {})]
        return stars if wishes.diameter <= 2 else stars + fitting
    if interest.num_nodes <= SMALL:
        fitting.append(("exact", {}))
    return fitting


def _partial(wishes: Wishes) -> list[tuple[str, dict[str, Any]]]:
    """Name the designs that make the most of limits too tight to connect every topic."""
    edges, degree = wishes.max_edges, wishes.max_degree
    if edges is not None and degree is not None:
        return [(rule, {"max_edges": edges, "max_degree": degree}) for rule in ("gm", "minmax", "low")]
    if edges is not None:
        return [("gpa", {"max_edges": edges})]
    return [] if degree is None else [("gpm", {"max_degree": degree}), ("gm", {"max_degree": degree})]


def _good(tried: list[Tried], wishes: Wishes) -> list[Tried]:
    """Return those that connect every topic and meet all wishes."""
    return [own for own in tried if own.complete and not own.unmet(wishes)]


def _judged(wishes: Wishes, tried: list[Tried]) -> Advice:
    good = _good(tried, wishes)
    if good:
        fewest = min(len(own.plan.overlay) for own in good)
        near = [own for own in good if len(own.plan.overlay) <= NEARLY_FEWEST * fewest]
        chosen = min(near, key=lambda own: (own.plan.figures["max_degree"], len(own.plan.overlay)))
        return Advice(wishes, tuple(tried), chosen, tuple(_why(chosen, near, good, tried)))
    within = [own for own in tried if not own.unmet(wishes)]
    if within:
        chosen = max(within, key=lambda own: (own.plan.figures["support"], -len(own.plan.overlay)))
        reasons: tuple[str, ...] = (
            "nothing that connects every topic keeps within the limits",
            "within them it connects the most",
        )
        return Advice(wishes, tuple(tried), chosen, reasons)
    nearest = min(tried, key=lambda own: (len(own.unmet(wishes)), len(own.plan.overlay)))
    reasons = ("no design that was tried meets all wishes", *nearest.unmet(wishes))
    return Advice(wishes, tuple(tried), None, reasons)


def _why(chosen: Tried, near: list[Tried], good: list[Tried], tried: list[Tried]) -> list[str]:
    """Give the reasons for a choice, from the figures."""
    reasons = []
    if len(good) < len(tried):
        reasons.append(f"of {len(tried)} that were tried {len(good)} connect every topic as wished")
    links = len(chosen.plan.overlay)
    fewest = min(len(own.plan.overlay) for own in good)
    more = "the fewest links" if links == fewest else f"{links - fewest:,} more than the fewest links"
    reasons.append(f"{more} of these" if len(good) > 1 else "the only one")
    if len(near) > 1:
        reasons.append("the lowest highest degree among those within 3 % of the fewest")
    return reasons
