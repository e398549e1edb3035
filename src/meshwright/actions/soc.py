"""SOC: whether a plan keeps a degree limit and a routing limit, or whether some overlay does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from meshwright.actions.plan import write_over
from meshwright.actions.sources import LoadedPlan, PlannedSource, Source, load_plan, load_source
from meshwright.errors import InputError, first_five
from meshwright.files.atomic import check_target
from meshwright.progress import Progress, announce_phase, titled

if TYPE_CHECKING:
    from meshwright.actions.sources import FileColumns
    from meshwright.designs.existence import Existence
    from meshwright.measure import SocAnswer

MEASURES = {
    "filtering": ("filtering cost", "uninterested relays over all topics"),
    "diameter": ("diameter", "links on the longest path, through any brokers"),
}
"""The routing costs: their names, and what they count."""


@dataclass(frozen=True)
class SocQuestion:
    """The limits that a plan, or some overlay, is to keep."""

    degree: int | None = None
    """The most links per broker."""
    average_degree: float | None = None
    """The most links per broker on average, instead."""
    cost: int | None = None
    """The highest routing cost."""
    measure: str | None = None
    """Which routing cost: `filtering`, the default, or `diameter`."""
    links: int | None = None
    """Or only this: the number of links that are to connect every topic."""

    def __post_init__(self) -> None:
        if self.measure not in (None, *MEASURES):
            raise InputError(f"no measure {self.measure!r}: choose filtering or diameter")
        limits = {name: value for name, value in vars(self).items() if name != "links" and value is not None}
        if self.links is not None:
            if limits:
                options = ", ".join(f"--{name.replace('_', '-')}" for name in limits)
                raise InputError(f"--links asks about links only: leave {options} out")
        elif self.cost is None or (self.degree is None) == (self.average_degree is None):
            raise InputError(
                "the limits are incomplete: give --cost, and --degree or --average-degree; or --links"
            )

    @property
    def routing_cost(self) -> Any:
        """The routing cost to measure."""
        return self.measure or "filtering"


@dataclass(frozen=True, eq=False)
class PlanAnswer:
    """Whether a plan keeps the limits."""

    plan: str
    loaded: LoadedPlan
    found: SocAnswer

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found while reading."""
        return self.loaded.notes

    @property
    def passed(self) -> bool:
        """Whether the answer is a certain yes."""
        return self.found.verdict == "yes"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer and its figures, by topic, too."""
        found = self.found
        names = self.loaded.overlay.interest.topic_names.to_pylist()
        of_topic = zip(names, found.lower_of_topic.tolist(), found.of_topic.tolist(), strict=True)
        unreachable = found.unreachable.tolist()
        return {
            "plan": self.plan,
            "answer": found.verdict,
            "measure": found.measure,
            "degree": found.degree,
            "cost": found.cost,
            "max_degree": found.degrees.maximum,
            "average_degree": found.degrees.average,
            "at_least": None if unreachable else found.lower,
            "at_most": None if unreachable else found.upper,
            "mean_of_topic": found.mean,
            "unreachable_topics": [names[topic] for topic in unreachable],
            "topics": [
                {"topic": name, "at_least": low, "at_most": high} for name, low, high in of_topic if low >= 0
            ],
        }

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        found, names = self.found, self.loaded.overlay.interest.topic_names
        lines = [
            self._reason(),
            f"degree: {found.degrees.average:.2f} on average, {found.degrees.maximum} at most; "
            f"the bound is {found.degree}",
        ]
        if len(found.unreachable):
            apart = first_five(names[topic].as_py() for topic in found.unreachable.tolist())
            lines.append(f"{found.measure}: infinite, as subscribers of {apart} cannot reach each other")
            return [*lines, *self.loaded.lines]
        spread = f"{found.upper:,}" if found.lower == found.upper else f"{found.lower:,} to {found.upper:,}"
        lines.append(
            f"{found.measure}: {spread} {MEASURES[found.measure][1]}, {found.mean:.2f} on average of a "
            f"topic; the bound is {found.cost:,}"
        )
        worst = (-found.of_topic).argsort(kind="stable")[:5].tolist()
        costly = [f"{names[t].as_py()!r} {found.of_topic[t]}" for t in worst if found.of_topic[t]]
        lines += [f"costliest topics: {', '.join(costly)}"] if costly else []
        return [*lines, *self.loaded.lines]

    def _reason(self) -> str:
        found = self.found
        if found.verdict == "yes":
            return "yes: both bounds hold"
        if found.verdict == "unknown":
            return "unknown: the degree holds, and the limit lies between the bounds on the cost"
        exceeded = []
        if found.degrees.maximum > found.degree:
            exceeded.append(f"the highest degree, {found.degrees.maximum:,}, is above {found.degree:,}")
        if len(found.unreachable):
            exceeded.append("some topics are not connected")
        elif found.lower > found.cost:
            least = "" if found.lower == found.upper else "at least "
            name = MEASURES[found.measure][0]
            exceeded.append(f"the {name}, {least}{found.lower:,}, is above {found.cost:,}")
        return f"no: {' and '.join(exceeded)}"


def soc_of_plan(
    plan: str,
    source: str,
    asked: SocQuestion,
    columns: FileColumns | None = None,
    *,
    progress: Progress | None = None,
) -> PlanAnswer:
    """Answer whether a stored plan keeps the limits; its figures follow from its links alone."""
    from meshwright.measure import soc

    if asked.degree is None or asked.cost is None:
        raise InputError("a plan is asked about --degree and --cost: give both")
    loaded = load_plan(plan, source, columns, progress=progress)
    announce_phase(progress, "measuring")
    found = soc(loaded.overlay, degree=asked.degree, cost=asked.cost, measure=asked.routing_cost)
    return PlanAnswer(plan, loaded, found)


@dataclass(frozen=True, eq=False)
class ExistenceAnswer:
    """Whether some overlay keeps the limits."""

    asked: SocQuestion
    source: PlannedSource
    found: Existence
    out: str | None = None
    """Where the witness was written."""
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the answer is a certain yes."""
        return self.found.answer == "yes"

    def to_dict(self) -> dict[str, Any]:
        """Return the limits, the answer, and the witness or the bounds that were found."""
        asked, found = self.asked, self.found
        return {
            "links": asked.links,
            "degree": asked.degree,
            "average_degree": asked.average_degree,
            "cost": asked.cost,
            "measure": asked.routing_cost if asked.links is None else None,
            "answer": found.answer,
            "reason": found.reason,
            "witness": None if found.witness is None else found.witness.to_dict(),
            "at_least_links": found.at_least,
            "fewest_links_found": found.best,
            **self.source.to_dict(),
            "plan": self.out,
        }

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        written = [] if self.out is None else [f"written to {self.out}"]
        return [self.found.reason, *self.source.lines, *written]


def soc_of_any(
    source: Source,
    asked: SocQuestion,
    *,
    seconds: float | None = None,
    seed: int = 0,
    out: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> ExistenceAnswer:
    """Answer whether some overlay keeps the limits, and write the one that was found, for a yes."""
    from meshwright.designs import existence

    if out is not None:
        check_target(out, "plan")
    loaded = load_source(source, progress=progress)
    limits: dict[str, Any] = {
        "seconds": existence.SECONDS if seconds is None else seconds,
        "seed": seed,
        "progress": titled(progress, "Search"),
    }
    if asked.links is not None:
        found = existence.tco_exists(loaded.interest, asked.links, **limits)
    else:
        assert asked.cost is not None
        found = existence.soc_exists(
            loaded.interest, degree=asked.degree, average_degree=asked.average_degree, cost=asked.cost,
            measure=asked.routing_cost, **limits,
        )  # fmt: skip
    notes, written = loaded.notes, None
    if found.witness is not None:
        found = replace(found, witness=loaded.planned(found.witness))
        if out is not None and found.witness is not None:
            notes, written = (*notes, *write_over(found.witness, loaded, out, force=force)), out
    return ExistenceAnswer(asked, loaded, found, written, notes)
