"""Certify: prove how few links a stored plan needs at least, or continue its proof, and store it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.progress import Progress, titled

if TYPE_CHECKING:
    from meshwright.actions.sources import FileColumns
    from meshwright.designs.plan import Plan


@dataclass(frozen=True, eq=False)
class Certified:
    """A plan with its proof, and what was proven before."""

    path: str
    plan: Plan
    before: int | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the plan, and the bound that it had before."""
        return {**self.plan.to_dict(), "lower_bound_before": self.before, "plan": self.path}

    @property
    def lines(self) -> list[str]:
        """Lines for people: what is proven, and how far that is from before."""
        bound = self.plan.figures["lower_bound"]
        risen = "" if self.before is None else f", {bound - self.before:,} more than before"
        return [
            *self.plan.proof_lines(),
            f"written to {self.path}: at least {bound:,} links are needed{risen}",
        ]


def certify_plan(
    plan: str,
    source: str | Path,
    *,
    seconds: float | None = None,
    columns: FileColumns | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Certified:
    """Prove how few links a stored plan needs at least, from its stored prices on, and store the proof in it.

    Links and trees stay as they are. `seconds` stops the proof in time; the bound never gets worse.
    """
    from meshwright.actions.load_save import load_stored
    from meshwright.actions.sources import load_interest
    from meshwright.designs.proofs import certify
    from meshwright.files.urls import names_in
    from meshwright.store.plan_writer import write_certificate

    interest, notes = load_interest(source, columns, progress=progress)
    stored = load_stored(plan, interest)
    progress = titled(progress, "Certificate")
    proven = certify(stored, seconds=seconds, threads=threads, progress=progress)
    if "report.html" in names_in(plan):
        notes = (*notes, "report.html showed the certificate before and is removed: make it again")
    write_certificate(proven, plan)
    before = None if stored.prices is None else stored.prices.bound
    return Certified(plan, proven, before, notes)
