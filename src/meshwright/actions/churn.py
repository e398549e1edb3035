"""Churn: let brokers come and go, and repair a plan each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.sources import LoadedPlan, format_size, load_plan
from meshwright.errors import InputError
from meshwright.files.atomic import check_target
from meshwright.formatting import counted
from meshwright.progress import Progress, announce_phase

if TYPE_CHECKING:
    from meshwright.actions.sources import FileColumns
    from meshwright.churn.events import Event, FilterEvents
    from meshwright.churn.repair import Policy
    from meshwright.churn.replay import Replay

DEFAULT_ROUNDS = 1000


@dataclass(frozen=True)
class PolicyOptions:
    """The policies of repair to run, and their parameters; see `churn.Policy`."""

    names: tuple[str, ...] = ("shadow",)
    backups: str = "primal-dual"
    coverage: int = 3
    rho: float = 3.0
    letter: bool = False
    """Whether they follow the paper to the letter."""
    compared: bool = True
    """Whether they are compared; otherwise there is only one."""

    def policies(self) -> list[Policy]:
        """Return the policies; invalid parameters raise InputError."""
        from meshwright.churn.repair import Policy

        make: Any = Policy.letter if self.letter else Policy
        return [make(name, backups=self.backups, coverage=self.coverage, rho=self.rho) for name in self.names]


@dataclass(frozen=True)
class ChurnEvents:
    """What happens to the brokers: random churn, or a trace."""

    rounds: int | None = None
    """Rounds of random churn."""
    burst: int = 1
    """The number of brokers that join or crash at once."""
    trace: Path | None = None
    """Replay these events instead."""
    scratch_every: int | None = None
    """Compare with Low-ODA from scratch every N rounds, 0: after the last only; by default ten times."""

    def __post_init__(self) -> None:
        if self.trace is not None and (self.rounds is not None or self.burst > 1):
            raise InputError("--trace defines the events: leave out --rounds and --burst")

    def rounds_of(self, plan: LoadedPlan, seed: int, progress: Progress | None) -> list[Sequence[Event]]:
        """Return the rounds of events; those of a trace must change the plan."""
        from meshwright.churn.events import FilterEvents, random_churn
        from meshwright.store.runs import read_trace

        if self.trace is None:
            number = self.rounds or DEFAULT_ROUNDS
            return list(random_churn(plan.overlay.interest, number, seed=seed, burst=self.burst))
        announce_phase(progress, f"reading {self.trace}")
        happened: list[list[Event]] = list(read_trace(self.trace))
        if plan.filters is not None:
            happened = _on_groups(FilterEvents.from_planned(plan.filters), happened)
        if not any(happened):
            raise InputError(f"{self.trace} has no event that changes this plan: give a trace with some")
        return list(happened)


@dataclass(frozen=True, eq=False)
class Churned:
    """The same churn under one or more policies."""

    replays: Mapping[str, Replay]
    """By policy: the live overlay and its repairs."""
    plan: LoadedPlan
    rounds: int
    out: str | None = None
    compared: bool = True
    """Whether the answer lists the policies, even if it is one."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found while reading."""
        return self.plan.notes

    @property
    def title(self) -> str:
        """The size of the plan, and the number of rounds."""
        return f"{format_size(self.plan.overlay.interest)}; {counted(self.rounds, 'round')} of churn"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the policies that are compared, or of the only one."""
        filters = self.plan.filters
        grouped = {} if filters is None else {"filters": filters.held.num_topics}
        figures = [{**each.figures, **grouped, "out": self.out} for each in self.replays.values()]
        return {"policies": figures} if self.compared else figures[0]


def replay_churn(
    plan: str | Path,
    source: str | Path,
    columns: FileColumns | None = None,
    *,
    options: PolicyOptions | None = None,
    events: ChurnEvents | None = None,
    out: str | Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Churned:
    """Let brokers join and leave, and repair a stored plan each time, under each policy.

    All policies see the same events. A plan of MQTT filters changes as it was planned, by groups of filters
    that overlap; a trace names filters, and one that joins several groups is refused.
    """
    from meshwright.churn.live import LiveOverlay
    from meshwright.churn.replay import FromScratch, replay
    from meshwright.report.replays import churn_chart
    from meshwright.store.runs import write_churn

    options, events = options or PolicyOptions(), events or ChurnEvents()
    policies = options.policies()
    if out is not None:
        check_target(out, "churn run")
    loaded = load_plan(plan, source, columns, progress=progress)
    happened = events.rounds_of(loaded, seed, progress)
    every = events.scratch_every
    # All policies see the same brokers, so each design from scratch is made once.
    scratch = FromScratch(max(1, len(happened) // 10) if every is None else every or None)
    rounds = [each for each in happened if each]
    replays = {}
    for policy in policies:
        live = LiveOverlay(loaded.overlay, policy, seed=seed)
        report = progress and _count_links(progress, live, len(rounds))
        replays[policy.name] = replay(live, rounds, scratch=scratch, progress=report)
    written = None if out is None else str(out)
    made = Churned(replays, loaded, len(happened), written, options.compared)
    if out is not None:
        write_churn(replays, out, seed=seed, draw=lambda file: churn_chart(replays, file, title=made.title))
    return made


def _count_links(progress: Progress, live: Any, total: int) -> Progress:
    """Return a callback that reports the links of a live overlay, and its policy."""

    def report(done: int, share: float, _: str) -> None:
        progress(live.num_edges, share, f"{live.policy.name}: {done:,} of {total:,} rounds")

    return report


def _on_groups(filters: FilterEvents, happened: list[list[Event]]) -> list[list[Event]]:
    """Return what the events of a trace, which names filters, mean for groups."""
    made = []
    for number, events in enumerate(happened, start=1):
        try:
            made.append(filters.on_groups(events))
        except InputError as error:
            raise InputError(f"round {number}: {error}") from error
    return made
