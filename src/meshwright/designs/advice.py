"""Advice: try the designs that fit, measure them, and choose by what the user asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from meshwright import measure
from meshwright.arrays import is_whole
from meshwright.designs.design import design
from meshwright.designs.front import front
from meshwright.designs.plan import Plan
from meshwright.designs.proofs import Budget, certify, limits_degree, lowest_of
from meshwright.designs.registry import find
from meshwright.errors import InputError
from meshwright.formatting import counted
from meshwright.greedy.rules import check_flag
from meshwright.interest import Interest
from meshwright.jit.announce import working_seconds
from meshwright.progress import Progress, titled

NEARLY_FEWEST = 1.03
"""Up to this factor more links are accepted for a lower maximum degree."""
STARS = ("cd", "cd1", "cd2", "cdmax")
"""Designs with a topic diameter of at most 2."""
FIGURES = (
    "edges",
    "average_degree",
    "max_degree",
    "support",
    "lower_bound",
    "gap",
    "bound_at_degree",
    "gap_at_degree",
    "degree_bound",
)
"""The figures of a row of `Advice.table`."""
SMALL = 12
"""Number of nodes up to which the exact design is tried."""


@dataclass(frozen=True)
class Wishes:
    """Requirements on an overlay; None where any value will do.

    >>> import meshwright as mw
    >>> mw.advise({"a": {"x"}, "b": {"x"}}, mw.Wishes(max_degree=4), steps=0).plan.figures["max_degree"]
    1
    """

    max_degree: int | None = None
    """Maximum number of links of a node."""
    max_edges: int | None = None
    """Maximum number of links in total."""
    resilient: bool = False
    """Whether every topic must stay connected when any single node fails."""
    diameter: int | None = None
    """Maximum distance between two subscribers of a topic, through its subscribers."""

    def __post_init__(self) -> None:
        for name in ("max_degree", "max_edges", "diameter"):
            value = getattr(self, name)
            if value is not None and (not is_whole(value) or value < 1):
                raise InputError(f"{name} is {value!r}: give a whole number of at least 1, or leave it out")
        check_flag("resilient", self.resilient)


@dataclass(frozen=True, eq=False)
class Tried:
    """A plan that was tried, with its measures."""

    plan: Plan

    @cached_property
    def diameters(self) -> measure.Diameters:
        """The topic diameters, inside each topic."""
        return measure.diameters(self.plan.overlay)

    @cached_property
    def redundant(self) -> int:
        """The number of links that could each be removed alone."""
        return len(measure.redundant_edges(self.plan.overlay))

    @cached_property
    def weak(self) -> int:
        """The number of topics that one failure splits."""
        return len(measure.weak_topics(self.plan.overlay))

    @property
    def complete(self) -> bool:
        """Whether every topic is connected."""
        return self.plan.figures["support"] == 1

    def unmet(self, wishes: Wishes) -> list[str]:
        """Return the requirements that the plan does not meet."""
        figures, unmet = self.plan.figures, []
        if wishes.max_degree is not None and figures["max_degree"] > wishes.max_degree:
            unmet.append(f"highest degree {figures['max_degree']}, above {wishes.max_degree}")
        if wishes.max_edges is not None and figures["edges"] > wishes.max_edges:
            unmet.append(f"{counted(int(figures['edges']), 'link')}, above {wishes.max_edges:,}")
        if wishes.resilient and self.weak:
            unmet.append(f"one failure splits {counted(self.weak, 'topic')}")
        if wishes.diameter is not None and self.diameters.maximum > wishes.diameter:
            unmet.append(f"diameter {self.diameters.maximum}, above {wishes.diameter}")
        elif wishes.diameter is not None and not (self.diameters.exact.all() or self._stars):
            unmet.append(f"diameter at least {self.diameters.maximum}, not known exactly")
        return unmet

    def to_dict(self, wishes: Wishes) -> dict[str, Any]:
        """Return the fields of a JSON answer, with the requirements that the plan does not meet."""
        return {
            **self.plan.to_dict(),
            "diameter": self.diameters.maximum if self.complete else None,
            "diameter_is_exact": self.complete and bool(self.diameters.exact.all()),
            "redundant_edges": self.redundant,
            "unmet": self.unmet(wishes),
        }

    def with_plan(self, change: Callable[[Plan], Plan]) -> Tried:
        """Return the measures of the same overlay for a plan that states more."""
        made = Tried(change(self.plan))
        vars(made).update({name: value for name, value in vars(self).items() if name != "plan"})
        return made

    @property
    def _stars(self) -> bool:
        """Whether the design guarantees topic diameters of 2, so that no measure is needed."""
        return self.plan.algorithm in STARS


@dataclass(frozen=True, eq=False)
class Advice:
    """The plans that were tried, the one to take, if any, and the reasons.

    >>> import meshwright as mw
    >>> advice = mw.advise({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, steps=0)
    >>> advice.plan
    Plan(gm: 2 links over 3 nodes)
    """

    wishes: Wishes
    tried: tuple[Tried, ...]
    chosen: Tried | None
    reasons: tuple[str, ...]

    @property
    def plan(self) -> Plan | None:
        """The plan to take, if any."""
        return None if self.chosen is None else self.chosen.plan

    def with_plans(self, change: Callable[[Plan], Plan]) -> Advice:
        """Return the same advice about plans that state more."""
        tried = tuple(own.with_plan(change) for own in self.tried)
        chosen = None if self.chosen is None else tried[self.tried.index(self.chosen)]
        return replace(self, tried=tried, chosen=chosen)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of a JSON answer; `chosen` is a place among the plans."""
        return {
            "chosen": None if self.chosen is None else self.tried.index(self.chosen),
            "reasons": list(self.reasons),
            "plans": [own.to_dict(self.wishes) for own in self.tried],
        }

    def __repr__(self) -> str:
        taken = "take none" if self.plan is None else f"take {self.plan!r}"
        return f"Advice({taken}; {len(self.tried)} tried)"

    def table(self) -> pa.Table:
        """Return the figures of all plans that were tried, and whether each meets the requirements."""
        rows = [
            {
                "algorithm": own.plan.algorithm,
                **{name: own.plan.figures.get(name) for name in FIGURES},
                "unmet": "; ".join(own.unmet(self.wishes)),
                "chosen": own is self.chosen,
            }
            for own in self.tried
        ]
        return pa.Table.from_pylist(rows)

    def plot(self) -> Any:
        """Draw links against the highest degree, and return the matplotlib figure."""
        import meshwright as mw

        return mw.report.trade_off(others=[own.plan for own in self.tried], chosen=self.plan)

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_table

        found = self.table()
        reasons = html_table([[reason] for reason in self.reasons], caption=repr(self))
        return reasons + html_table(zip(*found.to_pydict().values(), strict=True), head=found.column_names)


def advise(
    interest: Any,
    wishes: Wishes | None = None,
    *,
    seconds: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Advice:
    """Try the designs that fit the requirements, and choose one.

    Among the plans that connect every topic and meet all requirements, those with nearly the fewest links
    remain, and the one with the lowest maximum degree wins. If no plan qualifies and links or degree are
    limited, the plan with the most support within the limits wins. Requirements on resilience or diameter are
    never relaxed.

    Topics are planned as they are. `mw.advise` describes the parameters; it also groups MQTT filters.

    Examples
    --------
    >>> import meshwright as mw
    >>> interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
    >>> advise(interest, steps=0).chosen.plan.overlay.edges
    [('a', 'b'), ('a', 'c')]
    """
    interest = Interest.of(interest)
    wishes = Wishes() if wishes is None else wishes
    if not isinstance(wishes, Wishes):
        raise InputError(
            f"wishes are {type(wishes).__name__}: give mw.Wishes, such as mw.Wishes(max_degree=4)"
        )
    budget = Budget(seconds, steps)
    searching: dict[str, Any] = budget.limit
    proofs = _Proofs(None if budget.steps is not None else budget.seconds, threads, progress)
    tried: list[Tried] = []

    def try_out(algorithm: str, given: dict[str, Any], *, after: int = 0) -> None:
        """Try a design; the time for proofs is also for the degrees of `after` later plans."""
        known = [own.plan for own in tried]
        running: dict[str, Any] = {"seed": seed, "threads": threads}
        if algorithm == "best":  # it shares its own budget with its proofs
            running |= {"certify": True, "prices": known[0].prices, "lowest": lowest_of(known)}
        running["progress"] = titled(progress, find(algorithm).title)
        plan = design(interest, algorithm, **running, **given)
        tried.append(Tried(plan if algorithm == "best" else proofs.add(plan, known, after)))

    fitting = _fitting(interest, wishes, searching)
    # The proof for the degree limit comes last, and needs time, too.
    last = int(wishes.max_degree is not None)
    for place, (algorithm, given) in enumerate(fitting, 1):
        later = [name != "best" and limits_degree(name, own) for name, own in fitting[place:]]
        try_out(algorithm, given, after=sum(later) + last)
    lowest = lowest_of(own.plan for own in tried)
    possible = lowest is None or wishes.max_degree is None or lowest.bound <= wishes.max_degree
    if wishes.max_degree is not None and not wishes.resilient and possible:
        prices = tried[0].plan.prices
        found = front(
            interest, max_degree=wishes.max_degree, seed=seed, threads=threads, certify=True, prices=prices,
            lowest=lowest, progress=titled(progress, "Under the degree limit"), **searching,
        )  # fmt: skip
        tried += [Tried(min(found, key=lambda plan: len(plan.overlay)))] if found else []
    if not _good(tried, wishes) and not wishes.resilient and wishes.diameter is None:
        for algorithm, given in _partial(wishes):  # for one limit, so one proof is enough for all
            try_out(algorithm, given)
    return _judged(wishes, tried)


class _Proofs:
    """The proofs of designs without a budget, which share the seconds of one search; None is no limit."""

    def __init__(self, seconds: float | None, threads: int, progress: Progress | None) -> None:
        self.left, self.threads, self.progress = seconds, threads, titled(progress, "Certificate")

    def add(self, plan: Plan, known: list[Plan], after: int) -> Plan:
        """Return a plan with proofs, where the degrees of `after` more plans are to be proven."""
        # The first plan finds the prices that all others and the searches start from, and the first proof of
        # degrees finds the lowest degree for all of them.
        parts = 2 if lowest_of(known) is None else 1
        share = 1 / (1 + bool(after)) if not known else parts / (after + parts)
        began = working_seconds()
        seconds = None if self.left is None else share * self.left
        proven = certify(plan, known=known, seconds=seconds, threads=self.threads, progress=self.progress)
        if self.left is not None:
            self.left = max(0.0, self.left - (working_seconds() - began))
        return proven


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
    if wishes.diameter is not None:
        stars: list[tuple[str, dict[str, Any]]] = [("cd2", {}), ("cdmax", {})]
        return stars if wishes.diameter <= 2 else stars + fitting
    if interest.num_nodes <= SMALL:
        seconds = searching.get("seconds")
        fitting.append(("exact", {} if seconds is None else {"time_limit": seconds}))
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
            _none_within(wishes, tried) or _not_proven("connects every topic within the limits", tried),
            "of all that keep within the limits, it connects the most",
        )
        return Advice(wishes, tuple(tried), chosen, reasons)
    nearest = min(tried, key=lambda own: (len(own.unmet(wishes)), len(own.plan.overlay)))
    reasons = (
        _none_within(wishes, tried) or _not_proven("meets all wishes", tried),
        *nearest.unmet(wishes),
    )
    return Advice(wishes, tuple(tried), None, reasons)


def _not_proven(what: str, tried: list[Tried]) -> str:
    """Say that no design that was tried does something, and what may help."""
    searched = any(own.plan.algorithm == "best" for own in tried)
    hint = ": search longer, with more seconds or steps" if searched else ""
    return f"no design that was tried {what}; it is not proven impossible{hint}"


def _none_within(wishes: Wishes, tried: list[Tried]) -> str | None:
    """Say that no overlay at all meets the limits, if that is proven."""
    plans = [own.plan for own in tried]
    most, lowest = wishes.max_degree, lowest_of(plans)
    if most is not None and lowest is not None and lowest.bound > most:
        return f"no overlay that connects every topic has a maximum degree below {lowest.bound:,} (certified)"
    if wishes.max_edges is None:
        return None
    proofs = [plan.degree_proof.links for plan in plans if plan.degree_proof is not None]
    claims = [
        ("", [plan.prices.bound for plan in plans if plan.prices is not None], "certified"),
        ("", [plan.solver_bound or 0 for plan in plans], "by the solver"),
    ]
    if most is not None:
        # What is needed at a degree is needed at lower ones, too.
        at_degree = [proof.bound for proof in proofs if (proof.degree or 0) >= most]
        claims.insert(1, (f" with at most {counted(most, 'link')} per broker", at_degree, "certified"))
    for limit, known, how in claims:
        needed = max(known, default=0)
        if needed > wishes.max_edges:
            links = counted(needed, "link")
            return f"no overlay that connects every topic{limit} has fewer than {links} ({how})"
    return None


def _why(chosen: Tried, near: list[Tried], good: list[Tried], tried: list[Tried]) -> list[str]:
    """Give the reasons for a choice, from the figures."""
    reasons = []
    if len(good) < len(tried):
        reasons.append(f"of {len(tried)} that were tried {len(good)} connect every topic as wished")
    links = len(chosen.plan.overlay)
    fewest = min(len(own.plan.overlay) for own in good)
    more = (
        "the best here" if links == fewest else f"{counted(links - fewest, 'link')} more than the best here"
    )
    reasons.append(f"{more}, by links" if len(good) > 1 else "the only one")
    if len(near) > 1:
        reasons.append("the lowest maximum degree among those within 3 % of the best here")
    return reasons
