"""Migrate: let brokers move users by messages alone, while publications flow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.content.assign import format_users, read_users
from meshwright.files.atomic import check_target
from meshwright.progress import Progress, titled

if TYPE_CHECKING:
    from meshwright.content.migration import Migration, Terms


@dataclass(frozen=True)
class Flow:
    """How users and brokers behave, and what they publish meanwhile; see `content.migration.Terms`."""

    publications: int = 10_000
    seconds: float = 5.0
    decline: float = 0.0
    ttl: float = 0.5
    delay: float = 0.01
    """The largest delay of a message; only for asyncio."""
    crashes: int = 0
    """The number of brokers that crash, each in a replicate."""

    def terms(self) -> Terms:
        """Return the parameters of the run."""
        from meshwright.content.migration import Crash, Terms

        return Terms(
            publications=self.publications,
            seconds=self.seconds,
            decline=self.decline,
            ttl=self.ttl,
            delay=(min(0.0005, self.delay), self.delay),
            # In turn, the home broker and the foreign broker of a replicate crash.
            crashes=tuple(Crash(10 * (n + 1), ("home", "foreign")[n % 2]) for n in range(self.crashes)),
        )


@dataclass(frozen=True, eq=False)
class Migrated:
    """A run, how it began, and the folder that it was written to."""

    run: Migration
    start: str
    transport: str
    seed: int
    crashes_asked: int
    title: str

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the run, and whether it was sound."""
        began = {"start": self.start, "transport": self.transport, "seed": self.seed}
        checked = {"sound": self.run.sound, "crashes_asked": self.crashes_asked}
        return {**began, **checked, **self.run.figures}


def migrate_users(
    workload: str | Path,
    flow: Flow | None = None,
    *,
    start: str = "random",
    transport: str = "asyncio",
    out: str | Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Migrated:
    """Let brokers improve the assignment of one algorithm, `start`, until no move lowers the cost."""
    from meshwright.content import assign
    from meshwright.content.migration import migrate
    from meshwright.report.content import migration_chart
    from meshwright.report.sheet import check_matplotlib
    from meshwright.store.runs import write_migration

    if out is not None:
        check_target(out, "migration")
        check_matplotlib()
    flow = flow or Flow()
    terms = flow.terms()
    given = read_users(workload, progress)
    initial = assign(given, start, seed=seed, progress=titled(progress, start)).cost.broker_of
    report = titled(progress, "migrate")
    run = migrate(given, initial, terms, transport=transport, seed=seed, progress=report)
    title = f"{format_users(given)}; from {start}, over {transport}"
    if out is not None:
        write_migration(
            run,
            out,
            described={"start": start, "transport": transport, "seed": seed},
            draw=lambda file: migration_chart(run, file, title=title),
        )
    return Migrated(run, start, transport, seed, flow.crashes, title)
