"""Chaos: let brokers of a plan fail, and see what breaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.sources import LoadedPlan, load_plan

if TYPE_CHECKING:
    from meshwright.actions.sources import FileColumns
    from meshwright.churn.chaos import Scenario
    from meshwright.progress import Progress


@dataclass(frozen=True, eq=False)
class Failures:
    """What failures of a plan's brokers break, and what their repair takes."""

    path: str
    plan: LoadedPlan
    scenarios: Sequence[Scenario]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found while reading."""
        return self.plan.notes

    def to_dict(self) -> dict[str, Any]:
        """Return all scenarios."""
        return {"plan": self.path, "scenarios": [asdict(scenario) for scenario in self.scenarios]}


def fail_brokers(
    plan: str | Path,
    source: str | Path,
    columns: FileColumns | None = None,
    *,
    most: int = 3,
    samples: int = 100,
    policies: Sequence[str] = ("naive", "shadow", "tidy"),
    seed: int = 0,
    progress: Progress | None = None,
) -> Failures:
    """Let brokers of a stored plan fail, alone and together, and repair that; see `churn.chaos`."""
    from meshwright.churn.chaos import chaos
    from meshwright.churn.repair import Policy

    for name in policies:
        Policy(name)
    loaded = load_plan(plan, source, columns, progress=progress)
    links = len(loaded.overlay)
    found = chaos(
        loaded.overlay,
        most=most,
        samples=samples,
        policies=policies,
        seed=seed,
        progress=progress and (lambda _, share, phase: progress(links, share, phase)),
    )
    return Failures(str(plan), loaded, found)
